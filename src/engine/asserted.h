// What only Assert()s ask: a build without assertions has none of it.
#pragma once

#include "compat.h"

#ifdef USE_ASSERT_CHECKING

namespace shardid {

// Core holds interrupts off as long as it holds a page's lock.
inline bool no_page_is_locked() {
    return InterruptHoldoffCount == 0 && CritSectionCount == 0;
}

inline bool is_first_page_of(Buffer buffer, const Locator &locator) {
    Locator found;
    ForkNumber fork;
    BlockNumber block;
    BufferGetTag(buffer, &found, &fork, &block);
    return memcmp(&found, &locator, sizeof(Locator)) == 0 && fork == MAIN_FORKNUM && block == 0;
}

inline bool is_locked_by_me(Relation relation, LOCKMODE lock) {
    return CheckRelationLockedByMe(relation, lock, true);
}

}  // namespace shardid

#endif
