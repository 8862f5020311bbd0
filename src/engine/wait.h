// Waiting while no page is locked: for the next millisecond, or another step of time; and until WAL
// is durable, before what it covers is returned to anyone. (The sequence's RowExclusiveLock is held
// to the end of the transaction, as after nextval.)
#pragma once

#include "core/wait.hpp"

#include "compat.h"

namespace shardid {

// The first look of a wait at a page that was not ours: its starts (notes.hpp), the time, and
// that of the page's last tick.
struct FirstLook {
    int starts = -1;  // none: there was no such look
    uint64 time = 0;
    uint64 page_time = 0;
};

// By a clock that cannot be set.
inline instr_time this_moment() {
    instr_time now;
    INSTR_TIME_SET_CURRENT(now);
    return now;
}

inline int64 us_since(instr_time start) {
    instr_time now = this_moment();
    INSTR_TIME_SUBTRACT(now, start);
    return static_cast<int64>(INSTR_TIME_GET_MICROSEC(now));
}

inline int64 ms_since(instr_time start) {
    return us_since(start) / 1000;
}

// One caller that may have to wait.
struct Waiter {
    bool has_waited = false;
    Wait wait{};
    instr_time since{};
    int64 waited_us = 0;
    FirstLook look;
};

// Sleeps until it makes sense to try again, at most a step of time, having found `used_up_time`
// used up when the clock was at `clock`. Can be canceled. REQUIRED: no page is locked.
void wait_for_next(Waiter &waiter, TimestampTz epoch, uint64 used_up_time, TimestampTz clock,
                   int64 step_us);

// The time that the caller has earned by waiting for the end of `last_time`; 0 if none.
uint64 earned_time(const Waiter &waiter, uint64 last_time, TimestampTz clock);

// For make_durable: what is known of this server and session. Set when the library is loaded.
struct Durability {
    XLogRecPtr flushed;               // WAL, at least up to there
    StandbyStatusCodes status_codes;  // see standby_status
};

extern Durability known_durability;

// For make_durable, unless it is known that WAL is flushed and that no standby is waited for.
void wait_until_durable(XLogRecPtr up_to);

// Flushes WAL at least up to there, and waits for synchronous standbys as a commit would (settings
// synchronous_standby_names, as the server has it, and synchronous_commit). REQUIRED: no page is
// open. Raises 57014 when the wait for a standby is canceled.
inline void make_durable(XLogRecPtr up_to) {
    Assert(no_page_is_locked());
    if (unlikely(up_to > known_durability.flushed ||
                 standby_status(*WalSndCtl) != known_durability.status_codes.none))
        wait_until_durable(up_to);
    Assert(up_to <= GetFlushRecPtr(nullptr));
}

// The same for all WAL that was written before the call.
void make_present_durable();

}  // namespace shardid
