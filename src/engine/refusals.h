// What came of an attempt to draw from a generator; its errors, and the warnings and log messages
// next to an id. REQUIRED of all of these: the sequence is locked, and no page is.
#pragma once

#include "core/advance.hpp"

#include "engine/wait.h"

namespace shardid {

// One look at a generator's page, and what came of it: what draws, readers, refusals and bounds
// tell each other.
enum class Outcome { drawn, wait, before_epoch, ended, too_far_ahead, other_binding, jump, ask };

struct Attempt {
    Outcome outcome = Outcome::before_epoch;
    uint64 binding;  // of the page
    bool is_mention_due = false;
    uint64 position = 0;  // where it takes the generator: its first tick, or without one its last
    uint64 lead_ms = 0;   // how far that is ahead of the clock
    TimestampTz clock;
    FirstLook look = no_look;                   // at the page, if it is not ours
    XLogRecPtr moved_at = InvalidXLogRecPtr;    // of a page not ours, for which a window is asked
    XLogRecPtr covered_by = InvalidXLogRecPtr;  // how far WAL has to be durable for its ticks
};

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
