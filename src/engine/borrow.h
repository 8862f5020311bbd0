// Borrowing time: a session that has shardid.max_borrow advances ahead of the clock instead of
// waiting for it. Only ids are borrowed.
#pragma once

#include "core/advance.hpp"
#include "core/count.hpp"

#include "engine/generator.h"
#include "engine/sequence_page.h"
#include "engine/wait.h"

namespace shardid {

// The tick after `last`, where that takes the generator no further ahead than the session may go;
// else the verdict is wait. A page that is not ours is not borrowed from: it may not advance before
// the clock does (see last_tick in draw.cpp).
Advance borrow(const OpenPage &page, const Generator &generator, const Layout &layout, uint64 last,
               uint64 now);

// Whether this is the first time that the session may borrow so much from the generator. Then the
// log says so, before the session does. REQUIRED: no page is locked.
bool begins_to_borrow(Generator &generator, const Layout &layout, const FirstLook &look);

inline Advance borrow(const OpenPage & /*page*/, const Generator & /*generator*/,
                      const OwnLayout & /*layout*/, uint64 /*last*/, uint64 /*now*/) {
    return {Verdict::wait, 0};
}

inline bool begins_to_borrow(Generator & /*generator*/, const OwnLayout & /*layout*/,
                             const FirstLook & /*look*/) {
    return false;
}

}  // namespace shardid
