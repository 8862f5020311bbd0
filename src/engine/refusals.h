// What drawing from a generator says when it refuses, and what it says beside an id.
#pragma once

#include "core/binding.hpp"
#include "engine/generator.h"

namespace shardid {

[[noreturn]] void refuse_before_epoch(Kind kind, TimestampTz epoch, TimestampTz clock);
[[noreturn]] void refuse_too_far_ahead(const Generator &generator, Kind kind, uint64 lead_ms);
[[noreturn]] void refuse_ended(const Layout &layout, TimestampTz clock);

// For what is not ids, whose last time it is.
[[noreturn]] void refuse_ended(TimestampTz last, TimestampTz clock);

// The storage is bound to `found`, and not to what the call draws. REQUIRED: neither is unbound.
[[noreturn]] void refuse_binding(const Generator &generator, uint64 wanted, uint64 found);

// A plain sequence would become a generator and move on to `tick`, which takes UPDATE.
[[noreturn]] void refuse_jump(const Generator &generator, uint64 tick);

// To the server's log.
void mention_lead(const Generator &generator, uint64 lead_ms);
void mention_borrowing(const Generator &generator, uint64 most_ms);

// To the client, as a warning.
void warn_of_negative_ids(const Generator &generator, const Layout &layout, TimestampTz clock);

}  // namespace shardid
