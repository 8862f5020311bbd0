#include "lease/keeper.h"

#include "core/window.hpp"

#include "engine/attempt.h"
#include "engine/refusals.h"
#include "engine/settings.h"
#include "lease/lease_tables.h"
#include "lease/start_worker.h"

extern "C" {
#include "catalog/pg_authid_d.h"
}

namespace shardid {

namespace {

// After a failure the registry is not asked again for this long: sessions that wait have ids again
// within a second of its return.
constexpr int64 pause_after_failure_ms = 500;

// How long a session that waits for a window sleeps before it looks again; and how long after a
// worker that has granted nothing.
constexpr int64 look_again_ms = 5;
constexpr int64 ask_again_ms = 100;

// How long after a session had the lease renewed, or saw that another session has, it looks again.
constexpr uint64 renew_again_ms = 1000;

// Reads the window again, as it is committed now, whatever snapshot the transaction has. The
// session keeps what it has if no window was granted to this server since it was started, for the
// generator's present storage: within one incarnation windows only grow.
void read_window(Lease &lease) {
    WindowRow row;
    if (!has_lease_tables() || !read_window_row(lease.origin, &row))
        return;
    lease.failed_at = row.failed_at;
    if (strcmp(row.family.text, lease.family.text) != 0)
        return;
    if (row.window == lease.window && row.moved_at == lease.moved_at)
        return;
    lease.window = row.window;
    lease.moved_at = row.moved_at;
    lease.length_ms = static_cast<uint64>(row.length_ms);
    lease.look_at = ask_from(row.window, lease.length_ms, static_cast<uint64>(MyProcPid));
}

void load(Lease &lease, const Sequence &sequence) {
    lease = Lease{};
    lease.window = any_time;
    lease.look_at = UINT64_MAX;

    LeasedRow row;
    if (!has_lease_tables() || !read_leased_row(sequence.relid, &row) || joins_first(row)) {
        lease.state = LeaseState::none;
        return;
    }
    lease.origin = row.origin;
    lease.shard = row.shard;
    lease.layout = row.layout;
    lease.group = group_of(row);
    lease.state = row.state == Membership::leased && row.has_layout && row.shard != any_shard
                      ? LeaseState::leased
                      : LeaseState::sealed;
    if (!is_limited(lease))
        return;
    lease.family = family_of(sequence.relid, sequence.locator);
    lease.window = no_time;
    read_window(lease);
}

bool serves(const Lease &lease, const Attempt &attempt) {
    const uint64 wanted = tick_time(lease.layout.widths, attempt.tick);
    return wanted < lease.window.until &&
           (attempt.moved_at == InvalidXLogRecPtr || attempt.moved_at == lease.moved_at);
}

// Whether a renewal failed a moment ago: then no other one is started yet.
bool has_failed_lately(const Lease &lease) {
    const TimestampTz now = GetCurrentTimestamp();
    return lease.failed_at != 0 && lease.failed_at <= now &&
           !TimestampDifferenceExceeds(lease.failed_at, now, pause_after_failure_ms);
}

WorkerTask renewal_of(const Lease &lease, Oid relid, XLogRecPtr moved_at, uint64 tick) {
    WorkerTask task = task_for(TaskKind::renew, relid, lease.group);
    task.family = lease.family;
    task.moved_at = moved_at;
    task.tick = tick;
    return task;
}

// A registry's address, and the holders of shards, are not for every role that may generate ids.
bool may_see_why(Oid relid) {
    return has_privs_of_role(GetUserId(), owner_of_sequence(relid)) ||
           has_privs_of_role(GetUserId(), ROLE_PG_MONITOR);
}

struct Reason {
    int sqlstate;
    const char *text;
};

// A registry that has refused has to be told something; one that has not answered may do so later.
Reason reason_of(const Lease &lease, Oid relid, Started last) {
    WindowRow row;
    if (last == Started::no_slot)
        return {ERRCODE_CONFIGURATION_LIMIT_EXCEEDED,
                "There is no free slot for a background worker"};
    if (last == Started::no_seat)
        return {ERRCODE_CANNOT_CONNECT_NOW, why_no_seat()};
    if (!read_window_row(lease.origin, &row) || row.failed_at == 0 || row.error == nullptr)
        return {ERRCODE_CANNOT_CONNECT_NOW,
                psprintf("The registry did not answer within %d ms", lease_timeout_ms)};
    return {row.is_refused ? ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE : ERRCODE_CANNOT_CONNECT_NOW,
            may_see_why(relid) ? row.error : "The owner of the generator sees why"};
}

const char *server_of(const Lease &lease) {
    LeasedRow row{};
    read_leased_row(lease.origin, &row);
    return row.server == nullptr ? "" : row.server;
}

// Raises 57P03 if the registry has not answered, 55000 if it has refused, 53400 if there is no
// slot.
[[noreturn]] void refuse_without_window(const Lease &lease, Oid relid, const Attempt &attempt,
                                        Started last) {
    const char *until =
        lease.window == no_time
            ? "It has no window of time"
            : psprintf("Its window of time ends at %s",
                       as_text(clock_at(lease.layout.epoch_us, lease.window.until)));
    const Reason reason = reason_of(lease, relid, last);
    ereport(
        ERROR,
        (errcode(reason.sqlstate),
         errmsg("generator \"%s\" has no lease of shard %d at this time", shown_name(relid),
                lease.shard),
         errdetail("%s, and the clock is at %s. %s.", until, as_text(attempt.clock), reason.text),
         last == Started::no_slot
             ? errhint("Increase max_worker_processes.")
             : errhint("See shardid_lease.shard_leases here and shardid_lease.id_space_shards "
                       "on the registry of foreign server \"%s\".",
                       server_of(lease))));
}

void wait_until_served(Lease &lease, Oid relid, const Attempt &attempt) {
    instr_time start;
    INSTR_TIME_SET_CURRENT(start);
    Started last = Started::another;
    for (;;) {
        MemoryContextReset(CurrentMemoryContext);
        read_window(lease);
        if (serves(lease, attempt))
            return;
        const int64 left = lease_timeout_ms - ms_since(start);
        Started started = Started::another;
        if (!has_failed_lately(lease))
            started = run_worker(renewal_of(lease, relid, attempt.moved_at, attempt.tick), left);
        // Where the registry was asked, a slot that is missing for a moment is not the reason.
        if (started == Started::yes || has_failed_lately(lease))
            last = Started::yes;
        else if (last == Started::another || started == Started::no_seat)
            last = started;
        read_window(lease);
        if (serves(lease, attempt))
            return;
        if (left <= 0)
            refuse_without_window(lease, relid, attempt, last);
        nap(Min(left, started == Started::another ? look_again_ms : ask_again_ms));
    }
}

// Each look leaves some hundred bytes, and a wait can be long: so it has memory of its own.
void wait_for_window(Lease &lease, Oid relid, const Attempt &attempt) {
    MemoryContext looks =
        AllocSetContextCreate(CurrentMemoryContext, "shardid lease", ALLOCSET_SMALL_SIZES);
    MemoryContext before = MemoryContextSwitchTo(looks);
    wait_until_served(lease, relid, attempt);
    MemoryContextSwitchTo(before);
    MemoryContextDelete(looks);
}

void renew_ahead(Lease &lease, Oid relid, uint64 last) {
    const uint64 time = tick_time(lease.layout.widths, last);
    read_window(lease);
    if (time < lease.look_at)
        return;
    lease.look_at = time + renew_again_ms;
    if (!has_failed_lately(lease))
        run_worker(renewal_of(lease, relid, InvalidXLogRecPtr, last), 0);
}

}  // namespace

void keep_leases() {
    lease_keeper = {load, forget_lease_table, wait_for_window, renew_ahead};
}

}  // namespace shardid
