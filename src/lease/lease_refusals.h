// Why a leased generator generates no id at this moment.
#pragma once

#include "engine/draw.h"
#include "engine/generator.h"

namespace shardid {

[[noreturn]] void refuse_sealed(const Generator &generator);
[[noreturn]] void refuse_layout_of_lease(const Generator &generator, const Layout &layout);

// has_slot: a background worker could be started.
[[noreturn]] void refuse_without_window(const Generator &generator, const Attempt &attempt,
                                        bool has_slot);

}  // namespace shardid
