#include "core/window.hpp"

#include "lease/start_worker.h"

#include "engine/sequence.h"
#include "engine/settings.h"
#include "lease/membership.h"

extern "C" {
#include "common/hashfn.h"
#include "storage/ipc.h"
#include "storage/latch.h"
}

namespace shardid {

namespace {

constexpr int64 look_again_ms = 50;

// Advisory locks' fourth field is 1 or 2 for what SQL can lock.
enum class LockUse : uint16 { worker = 3, starter };

// An advisory lock, as an error in the worker's transaction must not take it away.
LOCKTAG lock_for(LockUse use, const LeaseGroup &group) {
    LOCKTAG tag;
    SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, group.role, group.server, static_cast<uint16>(use));
    return tag;
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

bool lock_at_once(const LOCKTAG &tag) {
    return LockAcquire(&tag, ExclusiveLock, false, true) != LOCKACQUIRE_NOT_AVAIL;
}

void wait_for_end(BackgroundWorkerHandle *handle, instr_time start, int64 wait_ms) {
    pid_t pid;
    while (GetBackgroundWorkerPid(handle, &pid) != BGWH_STOPPED) {
        const int64 left = wait_ms - ms_since(start);
        if (left <= 0)
            return;
        nap(Min(left, look_again_ms));
    }
}

Started start(const WorkerTask &task, int64 wait_ms) {
    instr_time begun;
    INSTR_TIME_SET_CURRENT(begun);
    BackgroundWorker worker = worker_for(task);
    BackgroundWorkerHandle *handle;
    if (!RegisterDynamicBackgroundWorker(&worker, &handle))
        return Started::no_slot;
    wait_for_end(handle, begun, wait_ms);
    return Started::yes;
}

// At most one worker of a group has a session waiting for it: so one role uses few of the server's
// slots, however many calls it makes.
Started start_for_group(const WorkerTask &task, const LeaseGroup &group, int64 wait_ms) {
    const LOCKTAG tag = lock_for(LockUse::starter, group);
    if (!lock_at_once(tag))
        return Started::another;
    const Started started = start(task, wait_ms);
    LockRelease(&tag, ExclusiveLock, false);
    return started;
}

[[noreturn]] void refuse_without_answer(Oid generator) {
    ereport(
        ERROR,
        (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
         errmsg("no answer about the lease of generator \"%s\" within %d ms", shown_name(generator),
                lease_timeout_ms),
         errdetail("The request waits for the registry, or for a lock that a transaction holds."),
         errhint("Call it again, or increase shardid.lease_timeout; "
                 "shardid_lease.shard_leases shows the state of the lease.")));
}

void raise_message(const WorkerCall &call) {
    if (call.level == 0)
        return;
    ereport(call.level, (errcode(call.sqlstate), errmsg_internal("%s", call.message),
                         call.detail[0] == '\0' ? 0 : errdetail_internal("%s", call.detail),
                         call.hint[0] == '\0' ? 0 : errhint("%s", call.hint)));
}

}  // namespace

WorkerTask task_for(TaskKind kind, Oid generator) {
    WorkerTask task{};
    task.kind = kind;
    task.database = MyDatabaseId;
    task.generator = generator;
    return task;
}

Started run_worker(const WorkerTask &task, const LeaseGroup &group, int64 wait_ms) {
    return wait_ms == 0 ? start(task, 0) : start_for_group(task, group, wait_ms);
}

int32 call_worker(TaskKind kind, Oid generator, const LeaseGroup &group, WorkerCall &call) {
    instr_time start;
    INSTR_TIME_SET_CURRENT(start);
    dsm_segment *segment = dsm_create(sizeof(WorkerCall), 0);
    auto *shared = static_cast<WorkerCall *>(dsm_segment_address(segment));
    *shared = call;
    WorkerTask task = task_for(kind, generator);
    task.caller = GetUserId();
    task.call = dsm_segment_handle(segment);
    for (;;) {
        const int64 left = Max(lease_timeout_ms, 1) - ms_since(start);
        if (left <= 0)
            refuse_without_answer(generator);
        task.timeout_ms = static_cast<int32>(left);
        const Started started = run_worker(task, group, left);
        if (started == Started::no_slot)
            refuse_without_slot();
        if (started == Started::yes)
            break;
        nap(Min(left, look_again_ms));
    }
    if (!shared->is_done)
        refuse_without_answer(generator);
    call = *shared;
    dsm_detach(segment);
    raise_message(call);
    return call.granted;
}

void refuse_without_slot() {
    ereport(ERROR, (errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
                    errmsg("there is no free slot for a background worker"),
                    errhint("Increase max_worker_processes.")));
}

// Two servers whose names have one hash wait for each other. But no role can find a name that keeps
// another role's worker waiting.
LeaseGroup group_of(const char *server, Oid role) {
    return {role, hash_bytes(reinterpret_cast<const unsigned char *>(server),
                             static_cast<int>(strlen(server)))};
}

LeaseGroup group_of(const LeasedRow &row) {
    return group_of(row.server, owner_of_sequence(row.generator));
}

bool lock_group(const LeaseGroup &group, bool waits) {
    const LOCKTAG tag = lock_for(LockUse::worker, group);
    return LockAcquire(&tag, ExclusiveLock, true, !waits) != LOCKACQUIRE_NOT_AVAIL;
}

bool is_worker_running(const LeaseGroup &group) {
    const LOCKTAG tag = lock_for(LockUse::worker, group);
    if (!lock_at_once(tag))
        return true;
    LockRelease(&tag, ExclusiveLock, false);
    return false;
}

int64 ms_since(instr_time start) {
    instr_time now;
    INSTR_TIME_SET_CURRENT(now);
    INSTR_TIME_SUBTRACT(now, start);
    return static_cast<int64>(INSTR_TIME_GET_MILLISEC(now));
}

void nap(int64 ms) {
    static const uint32 event = wait_event_named("ShardidLease");
    WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, static_cast<long>(ms),
              event);
    ResetLatch(MyLatch);
    CHECK_FOR_INTERRUPTS();
}

}  // namespace shardid
