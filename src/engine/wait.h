// Waiting for the next millisecond, or another step of time, while no page is locked. (The
// sequence's RowExclusiveLock is held to the end of the transaction, as after nextval.)
#pragma once

#include "core/wait.hpp"

#include "compat.h"

namespace shardid {

// The first look of a wait at a page that was not ours: its takings (page_notes.hpp), the time, and
// that of the page's last tick.
struct FirstLook {
    int takings;
    uint64 time;
    uint64 page_time;
};

inline constexpr FirstLook no_look{.takings = -1, .time = 0, .page_time = 0};

// By a clock that cannot be set.
inline int64 us_since(instr_time start) {
    instr_time now;
    INSTR_TIME_SET_CURRENT(now);
    INSTR_TIME_SUBTRACT(now, start);
    return static_cast<int64>(INSTR_TIME_GET_MICROSEC(now));
}

inline int64 ms_since(instr_time start) {
    return us_since(start) / 1000;
}

// One caller that may have to wait. The time that has really passed is measured by a clock that
// cannot be set.
struct Waiter {
    bool has_waited;
    Wait wait;
    instr_time since;
    int64 waited_us;
    FirstLook look;
};

inline constexpr Waiter no_wait{
    .has_waited = false, .wait = {}, .since = {}, .waited_us = 0, .look = no_look};

// Sleeps until it makes sense to try again, at most a step of time, having found `used_up_time`
// used up when the clock was at `clock`. Can be canceled. REQUIRED: no page is locked.
void wait_for_next(Waiter &waiter, TimestampTz epoch, uint64 used_up_time, TimestampTz clock,
                   int64 step_us);

// The time that the caller has earned by waiting for the end of `last_time`; 0 if none.
uint64 earned_time(const Waiter &waiter, uint64 last_time, TimestampTz clock);

}  // namespace shardid
