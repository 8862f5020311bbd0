// Why a leased generator generates no id at this moment.
#pragma once

#include "engine/draw.h"
#include "engine/generator.h"
#include "lease/lease_tables.h"
#include "lease/start_worker.h"

namespace shardid {

[[noreturn]] void refuse_sealed(const Generator &generator);
[[noreturn]] void refuse_layout_of_lease(const Generator &generator, const Layout &layout);

// Raises 57P03 if the registry has not answered, 55000 if it has refused, 53400 if there is no
// slot.
[[noreturn]] void refuse_without_window(const Generator &generator, const Attempt &attempt,
                                        Started last);

// What keeps a worker from its seat.
const char *why_no_seat();

// leased_generator has this row and another one for the generator.
[[noreturn]] void refuse_two(const LeasedRow &row);

// It has none, but one from a dump whose sequence does not exist: it may be this one, renamed.
[[noreturn]] void refuse_lost(Oid generator_oid, const LeasedRow &lost);

}  // namespace shardid
