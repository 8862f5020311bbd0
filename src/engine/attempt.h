// One look at a generator's page, and its outcome: what draws, readers, refusals and bounds
// tell each other.
#pragma once

#include "engine/wait.h"

namespace shardid {

// drawn: or raised, or for a reader, as if a draw had found nothing to refuse.
enum class Outcome { drawn, wait, before_epoch, ended, too_far_ahead, other_binding, jump, ask };

struct Attempt {
    Outcome outcome = Outcome::before_epoch;
    uint64 binding;  // of the page
    bool is_mention_due = false;
    uint64 position = 0;  // where it takes the generator: its first tick, or without one its last
    uint64 lead_ms = 0;   // how far that is ahead of the clock
    TimestampTz clock;
    FirstLook look{};                           // at the page, if it is not ours
    XLogRecPtr moved_at = InvalidXLogRecPtr;    // of a page not ours, for which a window is asked
    XLogRecPtr covered_by = InvalidXLogRecPtr;  // how far WAL has to be durable for its ticks
};

}  // namespace shardid
