// What drawing from a generator says when it refuses, and what it says beside an id. REQUIRED of
// all: the sequence is locked, and no page is.
#pragma once

#include "core/count.hpp"

#include "engine/attempt.h"
#include "engine/generator.h"

namespace shardid {

// Raises the error of an attempt that is neither drawn nor to be repeated after a wait.
[[noreturn]] void refuse(const Generator &generator, const Layout &layout, const Attempt &attempt);
[[noreturn]] void refuse(const Generator &generator, const OwnLayout &layout,
                         const Attempt &attempt);

// The storage is bound to `found`, and not to what the call draws. REQUIRED: neither is unbound.
[[noreturn]] void refuse_binding(const Generator &generator, uint64 wanted, uint64 found);

// To the server's log.
void mention_lead(const Generator &generator, uint64 lead_ms);
void mention_borrowing(const Generator &generator, uint64 most_ms);

// To the client, once a session and generator: that ids are negative, or will be soon.
void warn_once(Generator &generator, const Layout &layout, TimestampTz clock);

// Of a generator with a lease: it was given back; the call is for another layout, or another shard;
// the registry gave no window that holds the tick, and whether there was a worker to ask it.
[[noreturn]] void refuse_sealed(const Generator &generator);
[[noreturn]] void refuse_layout_of_lease(const Generator &generator, const Layout &layout);
[[noreturn]] void refuse_shard_of_lease(const Generator &generator, int32 shard);
[[noreturn]] void refuse_without_window(const Generator &generator, const Attempt &attempt,
                                        bool has_slot);

}  // namespace shardid
