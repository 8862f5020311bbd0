// Drawing one tick from a generator: the loop around its page, its clock and its waits.
#pragma once

#include "scheme.h"

#include "generator.h"

namespace shardid {

// The next tick: greater than every tick drawn from this generator before, not later than the clock
// unless the clock was set back, durable when returned. Waits, outside every lock and open to
// cancellation, where the layout's rate demands it.
// REQUIRED: scheme is valid and max_tick of its layout is at most generator.max_value.
// Raises 22008 when the clock is before the epoch, 2200H when the time field is exhausted, 55000
// when the generator is further ahead of the clock than shardid.max_lead. Instantiated for what
// draw.cpp lists.
template <typename L>
uint64 draw_tick(Generator &generator, const SchemeOf<L> &scheme);

}  // namespace shardid
