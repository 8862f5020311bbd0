// Borrowing time: a session that has shardid.max_borrow advances ahead of the clock instead of
// waiting for it. Only ids are borrowed.
#pragma once

#include "core/advance.hpp"

#include "compat.h"

namespace shardid {

// The tick after `last`, where that takes the generator no further ahead than the session may go,
// and no further than it has said; else the verdict is wait. REQUIRED: the page is ours: another
// may not advance before the clock does (see last_tick in draw.cpp).
Advance borrow(const Layout &layout, uint64 last, uint64 now, uint64 said_ms);

// Whether this is the first time that the session may borrow so much from the generator. Then the
// log says so, before the session does, and *said_ms is what it has said. REQUIRED: no page is
// locked.
bool begins_to_borrow(Oid relid, uint64 *said_ms);

}  // namespace shardid
