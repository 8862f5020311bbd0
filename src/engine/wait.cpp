#include "engine/wait.h"

#ifdef __linux__
#include <sys/prctl.h>
#endif

namespace shardid {

namespace {

// The least time by which a sleep is longer than requested.
constexpr int64 too_short_to_sleep_us = 20;

void spin_for(int64 us) {
    const instr_time start = this_moment();
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

// XLogFlush finds out by itself that there is nothing to do, but that takes it longer.
void flush(XLogRecPtr up_to) {
    if (up_to <= known_durability.flushed)
        return;
    XLogFlush(up_to);
    known_durability.flushed = up_to;
}

// The session's own copy of the setting, which may be older than the server's. It counts only until
// the checkpointer has read it: just after a start, and in a single-user server, which has none.
bool are_standbys_named() {
    return SyncRepStandbyNames != nullptr && SyncRepStandbyNames[0] != '\0';
}

// As SyncRepWaitForLSN asks, first without the lock and then with it.
bool are_standbys_wanted() {
    const uint8 status = standby_status(*WalSndCtl);
    if (status == known_durability.status_codes.none)
        return false;
    return status == known_durability.status_codes.some || are_standbys_named();
}

// What SyncRepWaitForLSN waits for when it is no commit.
int wait_mode() {
    return synchronous_commit == SYNCHRONOUS_COMMIT_REMOTE_WRITE ? SYNC_REP_WAIT_WRITE
                                                                 : SYNC_REP_WAIT_FLUSH;
}

// Up to where, at least, the standbys have what is waited for in each mode.
XLogRecPtr known_replicated[NUM_SYNC_REP_WAIT_MODE];

bool is_standby_missing(XLogRecPtr up_to, int mode) {
    LWLockAcquire(SyncRepLock, LW_SHARED);
    known_replicated[mode] = WalSndCtl->lsn[mode];
    const bool is_wanted = are_standbys_wanted();
    LWLockRelease(SyncRepLock);
    return is_wanted && known_replicated[mode] < up_to;
}

void log_nothing() {
    char nothing = 0;
    XLogBeginInsert();
    XLogSetRecordFlags(XLOG_MARK_UNIMPORTANT);
    XLogRegisterData(&nothing, sizeof(nothing));
    XLogInsert(RM_XLOG_ID, XLOG_NOOP);
}

// Core's queue accepts an LSN from one waiter only (SyncRepQueueIsOrderedByLSN), and the LSN of a
// page is the same for all sessions that draw from it. So this is the end of a record of the
// transaction's own: of its last one, or where that does not cover what is waited for, of a new one
// that does nothing. XLogInsert sets XactLastRecEnd, and asserts that a record has data.
XLogRecPtr own_lsn(XLogRecPtr up_to) {
    if (XactLastRecEnd < up_to)
        log_nothing();
    flush(XactLastRecEnd);
    Assert(XactLastRecEnd >= up_to);
    return XactLastRecEnd;
}

void note_warning(void *is_warned) {
    *static_cast<bool *>(is_warned) = true;
    // Core's own detail is about a commit.
    errdetail("What was generated may not have reached the standby, and is not returned.");
}

// Returns whether the wait was canceled. SyncRepWaitForLSN is made for a commit, which can no
// longer fail: canceled, it clears QueryCancelPending (neither InterruptPending nor
// ProcDiePending), raises a WARNING and returns. note_warning sees that warning. Where
// client_min_messages and log_min_messages suppress it, a pending interrupt together with a standby
// that still lacks the LSN shows the cancellation.
bool wait_is_canceled(XLogRecPtr lsn, int mode) {
    bool is_warned = false;
    ErrorContextCallback callback{error_context_stack, note_warning, &is_warned};
    error_context_stack = &callback;
    HOLD_INTERRUPTS();
    SyncRepWaitForLSN(lsn, false);
    RESUME_INTERRUPTS();
    error_context_stack = callback.previous;
    // Set without an interrupt when the postmaster has died.
    if (is_warned || ProcDiePending)
        return true;
    return !message_level_is_interesting(WARNING) && InterruptPending &&
           is_standby_missing(lsn, mode);
}

// A transaction that only draws ids mostly writes no WAL, and its commit then waits for no standby.
// When the wait ends because the setting no longer names any, it is looked at again: by now it may.
pg_noinline void wait_for_standbys(XLogRecPtr up_to) {
    const int mode = wait_mode();
    if (up_to <= known_replicated[mode])
        return;
    while (is_standby_missing(up_to, mode)) {
        const bool is_canceled = wait_is_canceled(own_lsn(up_to), mode);
        CHECK_FOR_INTERRUPTS();
        if (is_canceled)
            ereport(
                ERROR,
                (errcode(ERRCODE_QUERY_CANCELED),
                 errmsg("canceling statement while it waits for a synchronous standby"),
                 errdetail(
                     "What was generated may not have reached the standby, and is not returned.")));
    }
}

}  // namespace

void wait_for_next(Waiter &waiter, TimestampTz epoch, uint64 used_up_time, TimestampTz clock,
                   int64 step_us) {
    Assert(no_page_is_locked());
    if (waiter.has_waited && waiter.wait.used_up_time == used_up_time)
        waiter.wait = continue_wait(waiter.wait, clock);
    else {
        waiter.has_waited = true;
        waiter.wait = begin_wait(used_up_time, clock, step_us);
        waiter.since = this_moment();
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

Durability known_durability;

void make_present_durable() {
    log_nothing();
    make_durable(XactLastRecEnd);
}

void wait_until_durable(XLogRecPtr up_to) {
    flush(up_to);
    if (are_standbys_wanted() && SyncRepRequested() && up_to != InvalidXLogRecPtr)
        wait_for_standbys(up_to);
}

}  // namespace shardid
