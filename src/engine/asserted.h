// What only Assert()s ask: a build without assertions has none of it.
#pragma once

#include "compat.h"

#ifdef USE_ASSERT_CHECKING

namespace shardid {

// Core holds interrupts off as long as it holds a page's lock.
inline bool no_page_is_locked() {
    return InterruptHoldoffCount == 0 && CritSectionCount == 0;
}

// Whether a sequence that is at `from` passes `over` before it comes to `to`, in either direction.
inline bool is_passed(int64 from, int64 over, int64 to) {
    return (from <= over && over <= to) || (from >= over && over >= to);
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
