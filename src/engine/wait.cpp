#include "engine/wait.h"

#include "engine/asserted.h"

#ifdef __linux__
#include <sys/prctl.h>
#endif

namespace shardid {

namespace {

// The least time by which a sleep is longer than requested.
constexpr int64 too_short_to_sleep_us = 20;

void spin_for(int64 us) {
    instr_time start;
    INSTR_TIME_SET_CURRENT(start);
    while (us_since(start) < us) {
    }
}

// How late the kernel may end this process's sleeps to save on timers, 50 us by default; 0 sets
// that default. On other systems than Linux it is not known.
unsigned long timer_slack_ns() {
#ifdef __linux__
    const int ns = prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);
    return Max(ns, 0);
#else
    return 0;
#endif
}

void set_timer_slack([[maybe_unused]] unsigned long ns) {
#ifdef __linux__
    prctl(PR_SET_TIMERSLACK, ns, 0, 0, 0);
#endif
}

// A loader waits for each millisecond, so it would lose whatever it is late in each of them.
void sleep_for(int64 us) {
    static const uint32 event = wait_event_named("ShardidNextMillisecond");
    const unsigned long slack = timer_slack_ns();
    pgstat_report_wait_start(event);
    set_timer_slack(1);
    pg_usleep(static_cast<long>(us));
    set_timer_slack(slack);
    pgstat_report_wait_end();
}

}  // namespace

void wait_for_next(Waiter &waiter, TimestampTz epoch, uint64 used_up_time, TimestampTz clock,
                   int64 step_us) {
    Assert(no_page_is_locked());
    if (waiter.has_waited && waiter.wait.used_up_time == used_up_time)
        waiter.wait = look_again(waiter.wait, clock);
    else {
        waiter.has_waited = true;
        waiter.wait = begin_wait(used_up_time, clock, step_us);
        INSTR_TIME_SET_CURRENT(waiter.since);
    }
    const int64 us = sleep_us(waiter.wait, epoch, clock);
    if (us <= too_short_to_sleep_us)
        spin_for(us);
    else
        sleep_for(us);
    CHECK_FOR_INTERRUPTS();
    waiter.waited_us = us_since(waiter.since);
}

uint64 earned_time(const Waiter &waiter, uint64 last_time, TimestampTz clock) {
    const bool earned = waiter.has_waited && last_time == waiter.wait.used_up_time &&
                        may_step(waiter.wait, clock, waiter.waited_us);
    return earned ? last_time + 1 : 0;
}

}  // namespace shardid
