#include "wait.h"

namespace shardid {

namespace {

// The system's sleeps take some 50 us longer than asked for.
constexpr int64 too_short_to_sleep_us = 1;

int64 us_since(instr_time start) {
    instr_time now;
    INSTR_TIME_SET_CURRENT(now);
    INSTR_TIME_SUBTRACT(now, start);
    return static_cast<int64>(INSTR_TIME_GET_MICROSEC(now));
}

void spin_for(int64 us) {
    instr_time start;
    INSTR_TIME_SET_CURRENT(start);
    while (us_since(start) < us) {
    }
}

void sleep_for(int64 us) {
    static const uint32 event = wait_event_named("ShardidNextMillisecond");
    pgstat_report_wait_start(event);
    pg_usleep(static_cast<long>(us));
    pgstat_report_wait_end();
}

}  // namespace

void wait_for_next(Wait &wait, TimestampTz epoch, uint64 used_up_time, TimestampTz clock,
                   int64 step_us) {
    if (wait.began && wait.vigil.used_up_time == used_up_time)
        wait.vigil = look_again(wait.vigil, clock);
    else {
        wait.began = true;
        wait.vigil = begin_vigil(used_up_time, clock, step_us);
        INSTR_TIME_SET_CURRENT(wait.since);
    }
    const int64 us = sleep_us(wait.vigil, epoch, clock);
    if (us <= too_short_to_sleep_us)
        spin_for(us);
    else
        sleep_for(us);
    CHECK_FOR_INTERRUPTS();
    wait.waited_us = us_since(wait.since);
}

uint64 earned_time(const Wait &wait, uint64 last_time, TimestampTz clock) {
    const bool earned = wait.began && last_time == wait.vigil.used_up_time &&
                        may_step(wait.vigil, clock, wait.waited_us);
    return earned ? last_time + 1 : 0;
}

}  // namespace shardid
