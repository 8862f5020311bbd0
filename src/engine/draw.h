// Drawing ticks from a generator: the loop around its page, its clock and its waits; and raising it
// to a given tick.
#pragma once

#include "engine/generator.h"
#include "engine/sequence_page.h"
#include "engine/wait.h"

namespace shardid {

// The tick that `advance` is to start from. `rolled_back` was drawn from storage that is gone.
//
// A page that is not ours does not show which ids of the present millisecond were drawn: setval or
// a rollback has overwritten that. So the whole millisecond in which the caller first saw the page
// like this counts as used up. While the caller waits for its end, other sessions may draw from the
// page (the count of starts shows it), and the page may be moved again: then the wait starts anew.
// Moves alone make no session wait again. A page that was ahead of the clock at the first look may
// be moved back to the present before the next look: then it is the page's own time that counts as
// used up.
template <typename L>
pg_attribute_always_inline uint64 last_tick(const OpenPage &page, uint32 stamp, uint64 rolled_back,
                                            const L &layout, const Waiter &waiter, uint64 now,
                                            FirstLook *look) {
    const uint64 last = Max(last_tick_of(page), rolled_back);
    if (likely(is_ours(page, stamp)))
        return last;
    look->starts = notes_of(page).starts;
    const bool none_drawn = waiter.look.starts == look->starts && waiter.waited_us < starts_last_us;
    look->time = none_drawn ? waiter.look.time : now;
    look->page_time = none_drawn ? waiter.look.page_time : tick_time(layout.widths, last);
    const uint64 used_up = look->page_time > now ? look->time : Max(look->time, look->page_time);
    return Max(last, make_tick(layout.widths, used_up, max_sequence(layout.widths)));
}

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
// While it waits for a window, the generator may get other bounds: so the shard of the ids has to
// be allowed after the draw, too.
Ticks draw_ticks(Generator &generator, const Layout &layout, uint64 max_count);

// An id of this shard; or if the caller has given none, of the bounds in whose window its tick is.
// Raises 55000 if the shard that was given is no longer within the bounds. REQUIRED: allowed_shard;
// of draw_known_id also is_known(generator.known, layout).
uint64 draw_id(Generator &generator, const Layout &layout, uint64 shard, bool is_given);
uint64 draw_known_id(Generator &generator, const Layout &layout, uint64 shard, bool is_given);

// For UUIDs and ObjectIds, in the layouts of uuid.hpp and objectid.hpp. REQUIRED: the
// generator is that of the extension's own sequence.
uint64 draw_uuid_tick(Generator &generator);
uint64 draw_objectid_tick(Generator &generator);

// Advances the generator to `tick`, unless it is there or further already, and binds its storage to
// the layout. Returns its last tick, which is not the end and which all later ticks exceed; durable
// when returned. REQUIRED: the layout is valid, check_max_value, tick <= max_tick. Raises 55000
// when the storage is bound to another layout, or is not bound and too far ahead in this one; 2200H
// when no tick is left.
uint64 raise_to(Generator &generator, const Layout &layout, uint64 tick);

}  // namespace shardid
