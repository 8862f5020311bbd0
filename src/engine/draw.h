// Drawing ticks from a generator: the loop around its page, its clock and its waits.
#pragma once

#include "engine/generator.h"

namespace shardid {

// Whether this session has drawn ids of the layout from the generator as it is now. Then the layout
// is valid, and its ids fit the sequence. The kind says whether anything is known: the layout is as
// somebody has passed it, and any value may stand in it.
inline bool is_known(const Generator &generator, const Layout &layout) {
    return generator.known.kind == Kind::ids && generator.known.layout == layout;
}

// The next tick: greater than every tick drawn from this generator before, not later than the clock
// unless the clock was set back or a session has borrowed time, durable when returned. Waits,
// outside every lock and open to cancellation, where the layout's rate demands it; of ids, only
// where shardid.max_borrow lets it step no further ahead of the clock.
// REQUIRED: layout is valid, check_max_value.
// Raises 22008 when the clock is before the epoch, 2200H when the time field is exhausted, 55000
// when the generator is further ahead of the clock than shardid.max_lead or its storage is bound to
// another layout, 42501 when it would make a generator of a plain sequence without UPDATE. Warns
// once a session of ids that are negative, or will be within a year. Instantiated for what
// draw.cpp lists.
template <typename W>
uint64 draw_tick(Generator &generator, const LayoutOf<W> &layout);

// The same. REQUIRED: is_known.
uint64 draw_known_tick(Generator &generator, const Layout &layout);

// Ticks that follow each other and have the same time.
struct Ticks {
    uint64 first;
    uint64 count;
};

// The next ticks, as many as the millisecond still has, but no more than max_count: at least one.
// In all else like draw_tick. REQUIRED: max_count > 0.
Ticks draw_ticks(Generator &generator, const Layout &layout, uint64 max_count);

// Moves the generator on to `tick` unless it is further on, and binds its storage to the layout.
// Returns its last tick, which has one after it and above which all later ones are; durable when
// returned. REQUIRED: layout is valid, check_max_value, tick <= max_tick(layout). Raises 55000 when
// the storage is bound to another layout, or is not bound and too far ahead in this one; 2200H when
// no tick is left.
uint64 raise(Generator &generator, const Layout &layout, uint64 tick);

}  // namespace shardid
