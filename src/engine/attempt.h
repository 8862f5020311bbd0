// One look at a generator's page, and what came of it: what draws, refusals and leases tell each
// other.
#pragma once

#include "engine/wait.h"

namespace shardid {

enum class Outcome { drawn, wait, before_epoch, ended, too_far_ahead, other_binding, jump, ask };

struct Attempt {
    Outcome outcome;
    uint64 binding;  // of the page
    bool is_mention_due;
    uint64 lead_ms;  // how far the tick is ahead of the clock
    uint64 tick;     // the first one drawn; or the last one, after which none could be drawn
    TimestampTz clock;
    FirstLook look;         // at the page, if it is not ours
    XLogRecPtr moved_at;    // where the page is that a window is to be asked for; 0: it is ours
    XLogRecPtr covered_by;  // how far WAL has to be durable before the ticks are returned
};

inline Attempt attempt_at(TimestampTz clock, uint64 binding) {
    return {Outcome::before_epoch, binding,          false, 0, 0, clock, no_look,
            InvalidXLogRecPtr,     InvalidXLogRecPtr};
}

}  // namespace shardid
