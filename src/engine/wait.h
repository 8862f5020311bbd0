// Waiting for the next millisecond, or another step of time, outside every lock.
#pragma once

#include "core/advance.hpp"

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

// One wait of one caller. How much time really passed is measured by a clock that cannot be set.
struct Wait {
    bool began;
    Vigil vigil;
    instr_time since;
    int64 waited_us;
    FirstLook look;
};

inline constexpr Wait no_wait{
    .began = false, .vigil = {}, .since = {}, .waited_us = 0, .look = no_look};

// Sleeps until it makes sense to try again, a step of time at most, having found `used_up_time`
// used up when the clock was at `clock`. Can be cancelled.
void wait_for_next(Wait &wait, TimestampTz epoch, uint64 used_up_time, TimestampTz clock,
                   int64 step_us);

// The time that the caller has earned by waiting for the end of `last_time`; 0 if none.
uint64 earned_time(const Wait &wait, uint64 last_time, TimestampTz clock);

}  // namespace shardid
