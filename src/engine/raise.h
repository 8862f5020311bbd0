// Raising a generator to a tick that is known from elsewhere.
#pragma once

#include "engine/generator.h"

namespace shardid {

// Advances the generator to `tick`, unless it is there or further already, and binds its storage to
// the layout. Returns its last tick, which is not the end and which all later ticks exceed; durable
// when returned. REQUIRED: the layout is valid, check_max_value, tick <= max_tick. Raises 55000
// when the storage is bound to another layout, or is not bound and too far ahead in this one; 2200H
// when no tick is left.
uint64 raise(Generator &generator, const Layout &layout, uint64 tick);

}  // namespace shardid
