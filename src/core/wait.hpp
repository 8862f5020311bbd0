// The rule for a caller that finds a time used up: how long it sleeps, and when it may step past
// that time although the clock has not. Pure: the caller reads its clocks itself and passes what it
// read.
#pragma once

#include <cstdint>

#include "core/layout.hpp"

namespace shardid {

// What a waiting caller remembers: the time it found used up, how long a time lasts, the clock from
// which it waits for that long, and the clock at its latest look.
struct Wait {
    std::uint64_t used_up_time;
    std::int64_t step_us;
    std::int64_t start_clock_us;
    std::int64_t latest_clock_us;
};

constexpr Wait begin_wait(std::uint64_t used_up_time, std::int64_t clock_us,
                          std::int64_t step_us = us_per_ms) {
    return {used_up_time, step_us, clock_us, clock_us};
}

// The wait after a further look. If the clock was set back, the wait starts again from there: it
// may take hours until the clock passes its old start.
constexpr Wait continue_wait(const Wait &wait, std::int64_t clock_us) {
    return {wait.used_up_time, wait.step_us,
            clock_us < wait.start_clock_us ? clock_us : wait.start_clock_us, clock_us};
}

// Whether the caller may now step past the time it found used up, even if the clock has not. A step
// must really have passed (waited_us, by a clock that cannot be set); and if the wall clock runs at
// all, a step of it too, so that a slow clock is not overtaken. A clock that has not moved forward
// since the latest look stands still or was set back: no use waiting for it.
constexpr bool may_step(const Wait &wait, std::int64_t clock_us, std::int64_t waited_us) {
    return waited_us >= wait.step_us &&
           (clock_us <= wait.latest_clock_us || clock_us - wait.start_clock_us >= wait.step_us);
}

// How long to sleep before the next look, in (0, step_us]: to the next boundary of a step when the
// clock is in the time that is used up (or past it), else a step less what the clock has moved
// during this wait. REQUIRED: epoch_us <= clock_us.
constexpr std::int64_t sleep_us(const Wait &wait, std::int64_t epoch_us, std::int64_t clock_us) {
    const std::int64_t step = wait.step_us;
    const std::uint64_t now = time_at(epoch_us, clock_us, step);
    if (now >= wait.used_up_time)
        return clock_at(epoch_us, now, step) + step - clock_us;
    const std::int64_t moved = clock_us - wait.start_clock_us;
    return moved > 0 && moved < step ? step - moved : step;
}

}  // namespace shardid
