#include "wait.h"

namespace shardid {

namespace {

void sleep_for(int64 us) {
    pgstat_report_wait_start(PG_WAIT_EXTENSION);
    pg_usleep(static_cast<long>(us));
    pgstat_report_wait_end();
    CHECK_FOR_INTERRUPTS();
}

int64 us_since(instr_time start) {
    instr_time now;
    INSTR_TIME_SET_CURRENT(now);
    INSTR_TIME_SUBTRACT(now, start);
    return static_cast<int64>(INSTR_TIME_GET_MICROSEC(now));
}

}  // namespace

void wait_for_next(Wait &wait, TimestampTz epoch, uint64 used_up_time, TimestampTz clock) {
    if (wait.began && wait.vigil.used_up_time == used_up_time)
        wait.vigil = look_again(wait.vigil, clock);
    else {
        wait.began = true;
        wait.vigil = begin_vigil(used_up_time, clock);
        INSTR_TIME_SET_CURRENT(wait.since);
    }
    sleep_for(sleep_us(wait.vigil, epoch, clock));
    wait.waited_us = us_since(wait.since);
}

uint64 earned_time(const Wait &wait, uint64 last_time, TimestampTz clock) {
    const bool earned = wait.began && last_time == wait.vigil.used_up_time &&
                        may_step(wait.vigil, clock, wait.waited_us);
    return earned ? last_time + 1 : 0;
}

}  // namespace shardid
