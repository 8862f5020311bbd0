// Having the registry asked by a background worker (worker.cpp): what is granted has to be
// committed, even if the session's transaction is rolled back.
#pragma once

#include "lease_tables.h"

extern "C" {
#include "postmaster/bgworker.h"
#include "storage/dsm.h"
}

namespace shardid {

// Those that share a registry and a role.
struct LeaseGroup {
    Oid role;
    uint32 server;  // a hash of its name
};

enum class TaskKind : uint8 { renew, join, take_over, release };

// What the worker is told, in the 128 bytes that bgw_extra has.
struct WorkerTask {
    TaskKind kind;
    Oid database;
    Oid generator;
    LeaseGroup group;
    int seat;         // of the server's
    bool is_hopeful;  // the registry has answered the last time: so it may have the last seat
    Oid caller;       // not for renew: has to own the generator
    dsm_handle call;  // not for renew: a WorkerCall
    Digest family;    // of renew: the session's own, for storage that nobody else sees, if it has
    XLogRecPtr moved_at;  // and where others have moved the page to; 0: nowhere
    uint64 tick;          // and the first one wanted
};

static_assert(sizeof(WorkerTask) <= BGW_EXTRALEN);

// What a session and the worker that works for it tell each other, in shared memory.
struct WorkerCall {
    char space[NAMEDATALEN];   // of join, as the next two
    char server[NAMEDATALEN];  // "": the registry is this database
    int32 shard;               // any_shard, or this one

    bool is_done;
    int32 granted;  // the shard
    int level;      // of the message; 0: there is none
    int sqlstate;
    char message[512];
    char detail[2048];
    char hint[512];
};

WorkerTask task_for(TaskKind kind, Oid generator, const LeaseGroup &group);

// no_seat: the server's are taken, or kept for others. no_slot: none of max_worker_processes is
// free.
enum class Started { yes, another, no_seat, no_slot };

// Starts the worker, unless the group has one, and waits until it has its seats, some milliseconds;
// then at most this long for its end. That can be canceled, which ends a worker with a call.
Started run_worker(WorkerTask task, int64 wait_ms);

// The same with a call, until a worker has done it, at most for shardid_lease.timeout; raises what
// the worker raised, and returns the shard that was granted.
int32 call_worker(TaskKind kind, Oid generator, const char *server, WorkerCall &call);

// For a worker, which has its seats until it ends: one for its group of generators, and one of a
// few for the whole server. They are advisory locks, which SQL cannot take: nothing is left of them
// when their holder has ended. False if another one has them.
bool take_seats(const WorkerTask &task);

// For a session that asks the registry by itself, as a worker of the group would: until end_asking,
// or the end of the transaction. Returns false if another one does.
bool begin_asking(const LeaseGroup &group);
void end_asking(const LeaseGroup &group);

// What keeps a worker from its seat.
const char *why_no_seat();

// For SQL functions: there is no free slot of max_worker_processes.
[[noreturn]] void refuse_without_slot();

LeaseGroup group_of(const char *server, Oid role);
LeaseGroup group_of(const LeasedRow &row);

// Sleeps at most this long, less if the session's latch is set. Can be canceled.
void nap(int64 ms);

}  // namespace shardid
