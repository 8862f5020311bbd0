
#include "core/count.hpp"
#include "core/page_notes.hpp"
#include "core/wait.hpp"
#include "core/window.hpp"
#include "core/worked_widths.hpp"

#include "engine/renewal.h"

#include "engine/refusals.h"
#include "engine/settings.h"

extern "C" {
#include "storage/ipc.h"
#include "storage/latch.h"
}

namespace shardid {

namespace {

// How long a session that waits for a window sleeps before it looks again.
constexpr int64 look_again_ms = 5;

// How long it sleeps after a worker that has brought nothing.
constexpr int64 ask_again_ms = 100;

// How long after it had the lease renewed, or saw that another session has, a session looks again.
constexpr uint64 renew_again_ms = 1000;

int64 ms_since(instr_time start) {
    instr_time now;
    INSTR_TIME_SET_CURRENT(now);
    INSTR_TIME_SUBTRACT(now, start);
    return static_cast<int64>(INSTR_TIME_GET_MILLISEC(now));
}

BackgroundWorker worker_for(const WorkerTask &task) {
    BackgroundWorker worker{};
    snprintf(worker.bgw_name, BGW_MAXLEN, "shardid lease of generator %u", task.generator);
    snprintf(worker.bgw_type, BGW_MAXLEN, "shardid lease");
    worker.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
    worker.bgw_start_time = BgWorkerStart_RecoveryFinished;
    worker.bgw_restart_time = BGW_NEVER_RESTART;
    snprintf(worker.bgw_library_name, sizeof(worker.bgw_library_name), "shardid");
    snprintf(worker.bgw_function_name, BGW_MAXLEN, "shardid_lease_worker");
    memcpy(worker.bgw_extra, &task, sizeof(task));
    worker.bgw_notify_pid = MyProcPid;
    return worker;
}

// One of the sessions that want it does, and waits for its end.
bool is_first(const LOCKTAG &tag) {
    return LockAcquire(&tag, ExclusiveLock, false, true) != LOCKACQUIRE_NOT_AVAIL;
}

bool is_worker_running(const Lease &lease) {
    const LOCKTAG tag = lock_of_worker(lease);
    if (!is_first(tag))
        return true;
    LockRelease(&tag, ExclusiveLock, false);
    return false;
}

bool serves(const Lease &lease, const Attempt &attempt) {
    const uint64 wanted = tick_time(lease.layout.widths, attempt.tick);
    return wanted < lease.window.until &&
           (attempt.moved_at == InvalidXLogRecPtr || attempt.moved_at == lease.moved_at);
}

WorkerEnd wait_for_end(BackgroundWorkerHandle *handle, instr_time start, int64 wait_ms) {
    pid_t pid;
    while (GetBackgroundWorkerPid(handle, &pid) != BGWH_STOPPED) {
        const int64 left = wait_ms - ms_since(start);
        if (left <= 0)
            return WorkerEnd::too_late;
        nap(Min(left, 10 * look_again_ms));
    }
    return WorkerEnd::done;
}

// In an error, or at the session's end: with no interrupt.
void end_worker(int /*code*/, Datum handle_datum) {
    auto *handle = reinterpret_cast<BackgroundWorkerHandle *>(DatumGetPointer(handle_datum));
    TerminateBackgroundWorker(handle);
    pid_t pid;
    while (GetBackgroundWorkerPid(handle, &pid) != BGWH_STOPPED) {
        WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
                  static_cast<long>(look_again_ms), PG_WAIT_EXTENSION);
        ResetLatch(MyLatch);
    }
}

// What the worker does relies on a lock of this transaction, which must not end before it.
WorkerEnd end_together(BackgroundWorkerHandle *handle, instr_time start, int64 wait_ms) {
    WorkerEnd end = WorkerEnd::too_late;
    PG_ENSURE_ERROR_CLEANUP(end_worker, PointerGetDatum(handle));
    { end = wait_for_end(handle, start, wait_ms); }
    PG_END_ENSURE_ERROR_CLEANUP(end_worker, PointerGetDatum(handle));
    return end;
}

enum class Asked { no, yes, no_slot };

Asked ask_once(const Generator &generator, const Attempt &attempt, int64 wait_ms) {
    const LOCKTAG tag = lock_of_starter(generator.lease);
    if (has_failed_lately(generator.lease) || !is_first(tag))
        return Asked::no;
    const WorkerEnd end =
        run_worker(renewal_of(generator, attempt.moved_at, attempt.tick), wait_ms);
    LockRelease(&tag, ExclusiveLock, false);
    return end == WorkerEnd::no_slot ? Asked::no_slot : Asked::yes;
}

}  // namespace

WorkerTask renewal_of(const Generator &generator, XLogRecPtr moved_at, uint64 tick) {
    return {WorkerTask::Kind::renew, MyDatabaseId, generator.relid,
            generator.lease.family,  moved_at,     tick};
}

WorkerEnd run_worker(const WorkerTask &task, int64 wait_ms) {
    instr_time start;
    INSTR_TIME_SET_CURRENT(start);
    BackgroundWorker worker = worker_for(task);
    BackgroundWorkerHandle *handle;
    if (!RegisterDynamicBackgroundWorker(&worker, &handle))
        return WorkerEnd::no_slot;
    return task.kind == WorkerTask::Kind::release ? end_together(handle, start, wait_ms)
                                                  : wait_for_end(handle, start, wait_ms);
}

void nap(int64 ms) {
    static const uint32 event = wait_event_named("ShardidLease");
    WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, static_cast<long>(ms),
              event);
    ResetLatch(MyLatch);
    CHECK_FOR_INTERRUPTS();
}

void wait_for_window(Generator &generator, const Attempt &attempt) {
    instr_time start;
    INSTR_TIME_SET_CURRENT(start);
    bool has_slot = true;
    for (;;) {
        read_window(generator);
        if (serves(generator.lease, attempt))
            return;
        const int64 left = lease_timeout_ms - ms_since(start);
        const Asked asked = ask_once(generator, attempt, Max(left, 0));
        if (asked != Asked::no || has_failed_lately(generator.lease))
            has_slot = asked != Asked::no_slot;
        read_window(generator);
        if (serves(generator.lease, attempt))
            return;
        if (left <= 0)
            refuse_without_window(generator, attempt, has_slot);
        nap(Min(left, asked == Asked::no ? look_again_ms : ask_again_ms));
    }
}

void renew_ahead(Generator &generator, uint64 last) {
    Lease &lease = generator.lease;
    const uint64 time = tick_time(lease.layout.widths, last);
    read_window(generator);
    if (time < lease.look_at)
        return;
    lease.look_at = time + renew_again_ms;
    if (!has_failed_lately(lease) && !is_worker_running(lease))
        run_worker(renewal_of(generator, InvalidXLogRecPtr, last), 0);
}

}  // namespace shardid
