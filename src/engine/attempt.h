// One look at a generator's page, and what came of it: what draws, readers, refusals and leases
// tell each other.
#pragma once

#include "engine/sequence_page.h"
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

// The tick that `advance` is to start from. `elsewhere` was drawn from storage that is gone.
//
// A page that is not ours does not show which ids of the present millisecond were drawn: setval or
// a rollback has overwritten that. So the whole millisecond in which the caller first saw the page
// like this counts as used up. While the caller waits for its end, other sessions may draw from the
// page (the count of takings shows it), and the page may be moved again: then the wait starts anew.
// Moves alone make no session wait again. A page that was ahead of the clock at the first look may
// be moved back to the present before the next look: then it is the page's own time that counts as
// used up.
template <typename L>
pg_attribute_always_inline uint64 last_tick(const OpenPage &page, uint32 stamp, uint64 elsewhere,
                                            const L &layout, const Waiter &waiter, uint64 now,
                                            FirstLook *look) {
    const uint64 last = Max(last_tick_of(page), elsewhere);
    if (likely(is_ours(page, stamp)))
        return last;
    look->takings = notes_of(page).takings;
    const bool none_drawn =
        waiter.look.takings == look->takings && waiter.waited_us < takings_last_us;
    look->time = none_drawn ? waiter.look.time : now;
    look->page_time = none_drawn ? waiter.look.page_time : tick_time(layout.widths, last);
    const uint64 used_up = look->page_time > now ? look->time : Max(look->time, look->page_time);
    return Max(last, make_tick(layout.widths, used_up, max_sequence(layout.widths)));
}

}  // namespace shardid
