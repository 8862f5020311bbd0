#include "start_worker.h"

#include "engine/sequence.h"
#include "settings.h"
#include "engine/wait.h"

extern "C" {
#include "common/hashfn.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/lock.h"
}

namespace shardid {

namespace {

constexpr int64 look_again_ms = 50;

// A worker that has not begun by then is called off: it waits for DROP DATABASE, for example.
constexpr int64 begin_within_ms = 3000;

// A worker's seat, as take_seats says.
using Seat = LOCKTAG;

// Advisory locks' fourth field is 1 or 2 for what SQL can lock. A session cannot hand over a lock:
// so there is one for it, and one for its worker.
enum class LockUse : uint16 { reserved = 3, taken };

Seat seat(Oid database, uint32 first, uint32 second) {
    Seat seat;
    SET_LOCKTAG_ADVISORY(seat, database, first, second, static_cast<uint16>(LockUse::reserved));
    return seat;
}

LOCKTAG as_taken(Seat seat) {
    seat.locktag_field4 = static_cast<uint16>(LockUse::taken);
    return seat;
}

Seat seat_of_server(int number) {
    return seat(InvalidOid, static_cast<uint32>(number), 0);
}

Seat seat_of(const LeaseGroup &group) {
    return seat(MyDatabaseId, group.role, group.server);
}

// A quarter of max_worker_processes: registries that hang leave the others to parallel queries,
// replication and the like. And they leave one of the quarter to those that answer.
int seats_of_server() {
    return Max(max_worker_processes / 4, 1);
}

int seats_for(const WorkerTask &task) {
    return task.is_hopeful ? seats_of_server() : seats_of_server() - 1;
}

// Without taking it for a moment, which would keep the worker from doing so.
bool is_taken(const Seat &seat) {
    const LOCKTAG taken = as_taken(seat);
    return LockWaiterCount(&taken) > 0;
}

void give_up(const Seat &seat) {
    LockRelease(&seat, ExclusiveLock, false);
}

// For a session that starts a worker, until that has the seat: then give_up. False if a worker has
// it, or another session has reserved it. The end of the transaction gives it up as well.
bool reserve(const Seat &seat) {
    if (LockAcquire(&seat, ExclusiveLock, false, true) == LOCKACQUIRE_NOT_AVAIL)
        return false;
    if (!is_taken(seat))
        return true;
    give_up(seat);
    return false;
}

// For the session, as an error in the worker's transaction must not take it away.
bool take(const Seat &seat) {
    const LOCKTAG taken = as_taken(seat);
    return LockAcquire(&taken, ExclusiveLock, true, true) != LOCKACQUIRE_NOT_AVAIL;
}

BackgroundWorker worker_for(const WorkerTask &task) {
    BackgroundWorker worker{};
    snprintf(worker.bgw_name, BGW_MAXLEN, "shardid lease of generator %u", task.generator);
    snprintf(worker.bgw_type, BGW_MAXLEN, "shardid lease");
    worker.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
    worker.bgw_start_time = BgWorkerStart_RecoveryFinished;
    worker.bgw_restart_time = BGW_NEVER_RESTART;
    snprintf(worker.bgw_library_name, sizeof(worker.bgw_library_name), "shardid_lease");
    snprintf(worker.bgw_function_name, BGW_MAXLEN, "shardid_lease_worker");
    memcpy(worker.bgw_extra, &task, sizeof(task));
    worker.bgw_notify_pid = MyProcPid;
    return worker;
}

// Until it has ended or, if there is one, has taken the seat. Returns false after this time.
bool wait_for(BackgroundWorkerHandle *handle, const Seat *seat, int64 wait_ms) {
    instr_time start;
    INSTR_TIME_SET_CURRENT(start);
    pid_t pid;
    while (GetBackgroundWorkerPid(handle, &pid) != BGWH_STOPPED &&
           (seat == nullptr || !is_taken(*seat))) {
        const int64 left = wait_ms - ms_since(start);
        if (left <= 0)
            return false;
        nap(Min(left, look_again_ms));
    }
    return true;
}

// Of a call: a session that no longer waits for the answer leaves no worker that does.
void end_worker(int /*code*/, Datum handle) {
    if (handle != 0)
        TerminateBackgroundWorker(
            reinterpret_cast<BackgroundWorkerHandle *>(DatumGetPointer(handle)));
}

Started start_on_seat(WorkerTask &task, BackgroundWorkerHandle **handle) {
    task.seat = 0;
    while (task.seat < seats_for(task) && !reserve(seat_of_server(task.seat)))
        ++task.seat;
    if (task.seat == seats_for(task))
        return Started::no_seat;
    const Seat seat = seat_of_server(task.seat);
    BackgroundWorker worker = worker_for(task);
    const bool is_registered = RegisterDynamicBackgroundWorker(&worker, handle);
    // Not to be canceled: else a session could leave one that has not begun after the other.
    HOLD_INTERRUPTS();
    if (is_registered && !wait_for(*handle, &seat, begin_within_ms))
        TerminateBackgroundWorker(*handle);
    RESUME_INTERRUPTS();
    give_up(seat);
    return is_registered ? Started::yes : Started::no_slot;
}

[[noreturn]] void refuse_without_answer(Oid generator, const char *server, Started last) {
    if (last == Started::no_slot)
        refuse_without_slot();
    ereport(
        ERROR,
        (errcode(ERRCODE_CANNOT_CONNECT_NOW),
         errmsg("no answer about the lease of generator \"%s\" within %d ms", shown_name(generator),
                lease_timeout_ms),
         last == Started::no_seat
             ? errdetail("%s; that of foreign server \"%s\" was not asked.", why_no_seat(), server)
             : errdetail("The request waits for the registry of foreign server \"%s\", or for "
                         "a lock that a transaction holds.",
                         server),
         errhint("Call it again, or increase shardid_lease.timeout; "
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

bool take_seats(const WorkerTask &task) {
    return take(seat_of(task.group)) && take(seat_of_server(task.seat));
}

bool begin_asking(const LeaseGroup &group) {
    const Seat seat = seat_of(group);
    if (!reserve(seat))
        return false;
    const LOCKTAG taken = as_taken(seat);
    const bool is_first = LockAcquire(&taken, ExclusiveLock, false, true) != LOCKACQUIRE_NOT_AVAIL;
    give_up(seat);
    return is_first;
}

void end_asking(const LeaseGroup &group) {
    const LOCKTAG taken = as_taken(seat_of(group));
    LockRelease(&taken, ExclusiveLock, false);
}

const char *why_no_seat() {
    return psprintf("The server's %d workers for leases all wait for registries",
                    seats_of_server());
}

WorkerTask task_for(TaskKind kind, Oid generator, const LeaseGroup &group) {
    WorkerTask task{};
    task.kind = kind;
    task.database = MyDatabaseId;
    task.generator = generator;
    task.group = group;
    task.is_hopeful = true;
    return task;
}

Started run_worker(WorkerTask task, int64 wait_ms) {
    const Seat seat = seat_of(task.group);
    if (!reserve(seat))
        return Started::another;
    BackgroundWorkerHandle *handle;
    const Started started = start_on_seat(task, &handle);
    give_up(seat);
    if (started != Started::yes)
        return started;
    const Datum of_call = task.kind == TaskKind::renew ? 0 : PointerGetDatum(handle);
    PG_ENSURE_ERROR_CLEANUP(end_worker, of_call);
    wait_for(handle, nullptr, wait_ms);
    PG_END_ENSURE_ERROR_CLEANUP(end_worker, of_call);
    end_worker(0, of_call);
    return started;
}

int32 call_worker(TaskKind kind, Oid generator, const char *server, WorkerCall &call) {
    instr_time start;
    INSTR_TIME_SET_CURRENT(start);
    dsm_segment *segment = dsm_create(sizeof(WorkerCall), 0);
    auto *shared = static_cast<WorkerCall *>(dsm_segment_address(segment));
    *shared = call;
    WorkerTask task = task_for(kind, generator, group_of(server, owner_of_sequence(generator)));
    task.caller = GetUserId();
    task.call = dsm_segment_handle(segment);
    Started last = Started::another;
    for (;;) {
        const int64 left = Max(lease_timeout_ms, 1) - ms_since(start);
        if (left <= 0)
            refuse_without_answer(generator, server, last);
        last = run_worker(task, left);
        if (shared->is_done)
            break;
        nap(Min(left, look_again_ms));
    }
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

void nap(int64 ms) {
    static const uint32 event = wait_event_named("ShardidLease");
    WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, static_cast<long>(ms),
              event);
    ResetLatch(MyLatch);
    CHECK_FOR_INTERRUPTS();
}

}  // namespace shardid
