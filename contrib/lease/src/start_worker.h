// Having the registry asked by a background worker (worker.cpp): what is granted has to be
// committed, even if the session's transaction is rolled back.
#pragma once

#include "engine/server.h"

extern "C" {
#include "postmaster/bgworker.h"
#include "storage/dsm.h"
}

namespace shardid {

// shardid_lease.timeout, in milliseconds: how long a call waits for a lease to be renewed; and
// shardid_lease.registry_timeout: how long a request waits for the registry. See module.cpp.
extern int lease_timeout_ms;
extern int registry_timeout_ms;

// Those that share a registry and a role.
struct LeaseGroup {
    Oid role;
    uint32 server;  // a hash of its name
};

// What this server keeps for as long as it runs, and no copy of it has, nor the same one started
// again: described_server, start of the postmaster, described_database; and the generator's OID and
// relfilenode. Its incarnations differ by where others have moved its page.
Digest family_of(Oid relid, const RelFileLocator &locator);

// What the worker is told, in the 128 bytes that bgw_extra has.
struct WorkerTask {
    uint32 abi_version;  // first
    Oid database;
    Oid generator;
    LeaseGroup group;
    int seat;         // of the server's
    bool is_hopeful;  // the registry has answered the last time: so it may have the last seat
    dsm_handle call;  // a WorkerCall; 0: the lease is to be renewed
    Digest family;    // for that the session's own, for storage that nobody else sees, if it has
    XLogRecPtr moved_at;  // and where others have moved the page to; 0: nowhere
    uint64 tick;          // and the first one wanted
};

static_assert(sizeof(WorkerTask) <= BGW_EXTRALEN);

// What a session is to raise; level 0: nothing.
struct Message {
    int level;
    int sqlstate;
    char text[1024];
    char detail[2048];
    char hint[1024];
};

inline constexpr int most_generators = 100;

// What a session and the worker that works for it tell each other, in shared memory: the arguments
// of the script's procedure work(), and what came of it.
struct WorkerCall {
    bool is_done;
    Oid caller;
    char kind[16];  // of work
    char space[NAMEDATALEN];
    char server[NAMEDATALEN];
    int32 shard;  // -1: any
    int others;   // for a takeover of several
    Oid generators[most_generators];
    int32 granted;
    Message message;
};

// A session that goes on with the library that it has loaded can start a worker that loads a newer
// one. The first number is to be raised where the sizes do not show that the structs have changed.
inline constexpr uint32 worker_abi_version =
    1 << 24 | sizeof(WorkerTask) << 16 | sizeof(WorkerCall);

// To renew the lease, or for a call.
WorkerTask task_for(Oid generator, const LeaseGroup &group);

// no_seat: the server's are taken, or kept for others. no_slot: none of max_worker_processes is
// free. not_begun: it has ended, or was called off, before it had its seats.
enum class Started { yes, another, no_seat, no_slot, not_begun };

// Starts the worker, unless the group has one, and waits until it has its seats: some milliseconds,
// at most begin_within_ms for each, which cannot be canceled. Then waits at most this long for its
// end; that can be canceled, which ends a worker with a call.
Started run_worker(WorkerTask task, int64 wait_ms);

// Of nothing but the kind of work: renew, join, take_over or release.
WorkerCall call_for(const char *kind);

// Has a worker do this, for at most shardid_lease.timeout; raises what came of it, and returns what
// was granted. REQUIRED: only the arguments are set, and `server` is that of the call or the lease.
int32 call_worker(const WorkerCall &call, Oid generator, const char *server);

// For a worker, which has its seats until it ends: one for its group of generators, and one of a
// few for the whole server. They are advisory locks, which SQL cannot take: nothing is left of them
// when their holder has ended. Waits until the session that has started the worker leaves them.
void take_seats(const WorkerTask &task);

// For a session that asks the registry by itself, as a worker of the group would: until end_asking,
// or the end of the transaction. Returns false if another one does.
bool begin_asking(const LeaseGroup &group);
void end_asking(const LeaseGroup &group);

// The fourth field of our advisory locks: it is 1 or 2 for what SQL can lock.
enum LockKind : uint16 { seat_lock = 3, shard_lock = 4 };

// What keeps a worker from its seat.
const char *why_no_seat();

// For SQL functions: raises 53400 if there was no free slot of max_worker_processes, 55000 if the
// worker did not begin.
void refuse_without_worker(Started started);

LeaseGroup group_of(const char *server, Oid role);

// Sleeps at most this long, less if the session's latch is set. Can be canceled.
void nap(int64 ms);

}  // namespace shardid
