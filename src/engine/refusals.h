// The errors of an attempt to draw from a generator, and the warnings and log messages next to an
// id. REQUIRED of all of these: the sequence is locked, and no page is.
#pragma once

#include "core/layout.hpp"

#include "engine/attempt.h"

namespace shardid {

// Raises the error of an attempt that is neither drawn nor to be repeated after a wait.
// L is Layout or OwnLayout.
template <typename L>
[[noreturn]] void refuse(Oid relid, const L &layout, const Attempt &attempt);

// The storage is bound to `found`, and not to what the call draws. REQUIRED: neither is unbound.
[[noreturn]] void refuse_binding(Oid relid, uint64 wanted, uint64 found);

// To the server's log.
void mention_lead(Oid relid, uint64 lead_ms);
void mention_borrowing(Oid relid, uint64 most_ms);

// To the client: that ids are negative, or will be soon.
void warn_of_negative_ids(Oid relid, const Layout &layout, TimestampTz clock);

// For the DETAIL of a message.
const char *as_text(TimestampTz ts);
const char *described(uint64 binding);

}  // namespace shardid
