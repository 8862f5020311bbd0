#include "start_worker.h"

#include <initializer_list>

#include "engine/sequence.h"
#include "engine/wait.h"

extern "C" {
#include "common/hashfn.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/lock.h"
}

namespace shardid {

namespace {

constexpr int64 end_poll_ms = 50;
constexpr int64 seat_poll_ms = 5;

// A worker that has not begun by then is called off: it waits for DROP DATABASE, for example.
constexpr int64 begin_within_ms = 3000;

// A worker's seat, as take_seats says.
using Seat = LOCKTAG;

Seat seat_tag(Oid database, uint32 first, uint32 second) {
    Seat seat;
    SET_LOCKTAG_ADVISORY(seat, database, first, second, seat_lock);
    return seat;
}

Seat seat_of_server(int number) {
    return seat_tag(InvalidOid, static_cast<uint32>(number), 0);
}

Seat seat_of(const LeaseGroup &group) {
    return seat_tag(MyDatabaseId, group.role, group.server);
}

// A quarter of max_worker_processes: registries that hang leave the others to parallel queries,
// replication and the like. And they leave one of the quarter to those that answer.
int seats_of_server() {
    return Max(max_worker_processes / 4, 1);
}

int seats_for(const WorkerTask &task) {
    return task.is_hopeful ? seats_of_server() : seats_of_server() - 1;
}

// Until give_up, or the end of the transaction. False if a worker or another session has it, or
// waits for it.
bool reserve(const Seat &seat) {
    return LockAcquire(&seat, ExclusiveLock, false, true) != LOCKACQUIRE_NOT_AVAIL;
}

void give_up(const Seat &seat) {
    LockRelease(&seat, ExclusiveLock, false);
}

// Whether a worker waits for the seat that this session has: then it has it at once after give_up.
bool is_awaited(const Seat &seat) {
    return LockWaiterCount(&seat) > 1;
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

// Until it waits for the seat, if there is one, or else has ended. Returns false after this time,
// and where it does not begin.
bool wait_for(BackgroundWorkerHandle *handle, const Seat *seat, int64 wait_ms) {
    const instr_time start = this_moment();
    pid_t pid;
    while (seat == nullptr || !is_awaited(*seat)) {
        if (GetBackgroundWorkerPid(handle, &pid) == BGWH_STOPPED)
            return seat == nullptr;
        const int64 left = wait_ms - ms_since(start);
        if (left <= 0)
            return false;
        nap(Min(left, seat == nullptr ? end_poll_ms : seat_poll_ms));
    }
    return true;
}

// Of a call: a session that no longer waits for the answer leaves no worker that does.
void end_worker(int /*code*/, Datum handle) {
    if (handle != 0)
        TerminateBackgroundWorker(
            reinterpret_cast<BackgroundWorkerHandle *>(DatumGetPointer(handle)));
}

// Hands over the seat of its group, which the session has, and one of the server's.
Started start_on_seat(WorkerTask &task, const Seat &of_group, BackgroundWorkerHandle **handle) {
    task.seat = 0;
    while (task.seat < seats_for(task) && !reserve(seat_of_server(task.seat)))
        ++task.seat;
    if (task.seat == seats_for(task))
        return Started::no_seat;
    const Seat of_server = seat_of_server(task.seat);
    BackgroundWorker worker = worker_for(task);
    const bool is_registered = RegisterDynamicBackgroundWorker(&worker, handle);
    // Not to be canceled: else a session could leave one that has not begun after the other.
    HOLD_INTERRUPTS();
    bool has_begun = is_registered;
    for (const Seat *seat : {&of_group, &of_server}) {
        if (has_begun && !wait_for(*handle, seat, begin_within_ms)) {
            TerminateBackgroundWorker(*handle);
            has_begun = false;
        }
        give_up(*seat);
    }
    RESUME_INTERRUPTS();
    return has_begun ? Started::yes : is_registered ? Started::not_begun : Started::no_slot;
}

[[noreturn]] void refuse_without_answer(Oid generator, const char *server, Started last) {
    refuse_without_worker(last);
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

}  // namespace

Digest family_of(Oid relid, const RelFileLocator &locator) {
    return digest_of(psprintf("%s|" INT64_FORMAT "|%s|%u|%u", described_server(),
                              static_cast<int64>(PgStartTime), described_database(), relid,
                              locator.relNumber));
}

// For the session, as an error in the worker's transaction must not take them away.
void take_seats(const WorkerTask &task) {
    for (const Seat &seat : {seat_of(task.group), seat_of_server(task.seat)})
        LockAcquire(&seat, ExclusiveLock, true, false);
}

bool begin_asking(const LeaseGroup &group) {
    return reserve(seat_of(group));
}

void end_asking(const LeaseGroup &group) {
    give_up(seat_of(group));
}

const char *why_no_seat() {
    return psprintf("The server's %d workers for leases all wait for registries",
                    seats_of_server());
}

WorkerCall call_for(const char *kind) {
    WorkerCall call{};
    call.shard = -1;
    strlcpy(call.kind, kind, sizeof(call.kind));
    return call;
}

WorkerTask task_for(Oid generator, const LeaseGroup &group) {
    WorkerTask task{};
    task.abi_version = worker_abi_version;
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
    const Started started = start_on_seat(task, seat, &handle);
    if (started == Started::no_seat)
        give_up(seat);
    if (started == Started::no_seat || started == Started::no_slot)
        return started;
    const Datum of_call = task.call == 0 ? 0 : PointerGetDatum(handle);
    PG_ENSURE_ERROR_CLEANUP(end_worker, of_call);
    wait_for(handle, nullptr, wait_ms);
    PG_END_ENSURE_ERROR_CLEANUP(end_worker, of_call);
    end_worker(0, of_call);
    return started;
}

int32 call_worker(const WorkerCall &call, Oid generator, const char *server) {
    const instr_time start = this_moment();
    WorkerTask task = task_for(generator, group_of(server, owner_of_sequence(generator)));
    dsm_segment *segment = dsm_create(sizeof(WorkerCall), 0);
    auto *shared = static_cast<WorkerCall *>(dsm_segment_address(segment));
    *shared = call;
    shared->caller = GetUserId();
    task.call = dsm_segment_handle(segment);
    Started last = Started::another;
    for (;;) {
        const int64 left = Max(lease_timeout_ms, 1) - ms_since(start);
        if (left <= 0)
            refuse_without_answer(generator, server, last);
        last = run_worker(task, left);
        if (shared->is_done)
            break;
        nap(Min(left, end_poll_ms));
    }
    pg_read_barrier();
    const int32 granted = shared->granted;
    const Message message = shared->message;
    dsm_detach(segment);
    if (message.level != 0)
        ereport(message.level,
                (errcode(message.sqlstate), errmsg_internal("%s", message.text),
                 message.detail[0] == '\0' ? 0 : errdetail_internal("%s", message.detail),
                 message.hint[0] == '\0' ? 0 : errhint("%s", message.hint)));
    return granted;
}

void refuse_without_worker(Started started) {
    if (started == Started::no_slot)
        ereport(ERROR, (errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
                        errmsg("there is no free slot for a background worker"),
                        errhint("Increase max_worker_processes.")));
    if (started == Started::not_begun)
        ereport(ERROR,
                (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                 errmsg("could not ask the registry"),
                 errdetail("The background worker did not begin."),
                 errhint("See the server's log, and connect again if the library was replaced.")));
}

// Two servers whose names have one hash wait for each other. But no role can find a name that keeps
// another role's worker waiting.
LeaseGroup group_of(const char *server, Oid role) {
    return {role, hash_bytes(reinterpret_cast<const unsigned char *>(server),
                             static_cast<int>(strlen(server)))};
}

void nap(int64 ms) {
    static const uint32 event = wait_event_named("ShardidLease");
    WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, static_cast<long>(ms),
              event);
    ResetLatch(MyLatch);
    CHECK_FOR_INTERRUPTS();
}

}  // namespace shardid
