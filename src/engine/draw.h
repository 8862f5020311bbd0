// Drawing ticks from a generator: the loop around its page, its clock and its waits.
#pragma once

#include "engine/generator.h"

namespace shardid {

// Ticks that follow each other and have the same time.
struct Ticks {
    uint64 first;
    uint64 count;
};

// Each of these returns the next tick: greater than every tick drawn from this generator before;
// not later than the clock, unless the clock was set back or a session has borrowed time; durable.
// They wait, while no page is locked and open to cancellation, where the layout's rate demands it;
// for ids, only where shardid.max_borrow lets the session advance no further ahead of the clock.
// REQUIRED: check_max_value; is_known(generator.known, layout), or begin_to_know for the layout.
// Raises 22008 when the clock is before the epoch, 2200H when the time field is exhausted, 55000
// when the generator is further ahead of the clock than shardid.max_lead or its storage is bound to
// another layout, 42501 when it would make a generator of a plain sequence without UPDATE. Warns
// once per session of ids that are negative, or will be within a year.
//
// The next ticks are as many as the millisecond still has, but no more than max_count: at least
// one. REQUIRED: max_count > 0.
//
// While it waits for a window, the generator may get another lease: so the shard of the ids has to
// be allowed after the draw, too.
Ticks draw_ticks(Generator &generator, const Layout &layout, uint64 max_count);

// An id of this shard; or if the caller has given none, of the lease in whose window its tick is.
// Raises 55000 if the shard that was given is no longer that of the lease. REQUIRED: allowed_shard;
// of draw_known_id also is_known(generator.known, layout).
template <bool is_given>
uint64 draw_id(Generator &generator, const Layout &layout, uint64 shard);
template <bool is_given>
uint64 draw_known_id(Generator &generator, const Layout &layout, uint64 shard);

// For UUIDs and ObjectIds, in the layouts of uuid_ticks.hpp and objectid.hpp. REQUIRED: the
// generator is that of the extension's own sequence.
uint64 draw_uuid_tick(Generator &generator);
uint64 draw_objectid_tick(Generator &generator);

}  // namespace shardid
