// The bounds of a leased sequence, which the engine asks for (LeaseKeeper in engine/lease.h): the
// session reads them from the tables, and has a worker renew the window.
#include "engine/lease.h"
#include "engine/refusals.h"
#include "settings.h"
#include "steps.h"

extern "C" {
#include "catalog/pg_authid_d.h"
#include "utils/pg_lsn.h"
}

namespace shardid {

namespace {

// After a failure the registry is not asked again for this long; and where there is no answer, for
// half as long as there was none, up to half a lease: those that get answers have the seats.
constexpr int64 pause_after_failure_ms = 500;

// How long a session that waits for a window sleeps before it looks again; and how long after a
// worker that has granted nothing.
constexpr int64 look_again_ms = 5;
constexpr int64 ask_again_ms = 100;

// How long after a session had the lease renewed, or saw that another session has, it looks again.
constexpr uint64 renew_again_ms = 1000;

// What the session knows of a lease in addition to the bounds that it sets.
struct Lease {
    pg_uuid_t origin;
    pg_uuid_t name;  // a window with another one is another lease's
    LeaseGroup group;
    Digest family;             // the incarnations whose windows can be used
    uint64 length_ms;          // of the lease
    TimestampTz failed_at;     // when the last renewal failed; 0: it gave the window
    TimestampTz silent_since;  // and since when there was no answer; 0: there was one
    TimestampTz asked_at;      // when the session has asked by itself
};

Lease &lease_of(const Bounds &bounds) {
    return *static_cast<Lease *>(bounds.source);
}

bool is_same(const pg_uuid_t &one, const pg_uuid_t &other) {
    return memcmp(one.data, other.data, UUID_LEN) == 0;
}

void have_window(Bounds &bounds, const Window &window, XLogRecPtr moved_at) {
    bounds.window = window;
    bounds.moved_at = moved_at;
    bounds.look_at = ask_from(window, lease_of(bounds).length_ms, static_cast<uint64>(MyProcPid));
}

// Reads the window again, as it is committed now, whatever snapshot the transaction has. The
// session keeps what it has if no later one was granted to this lease, on this server since it was
// started, for the generator's present storage: within one incarnation windows only grow.
void read_window(Bounds &bounds) {
    Lease &lease = lease_of(bounds);
    WindowRow row;
    if (!has_lease_tables() || !read_window_row(lease.origin, &row))
        return;
    if (Max(row.failed_at, row.renewed_at) > lease.asked_at) {
        lease.failed_at = row.failed_at;
        lease.silent_since = row.silent_since;
    }
    if (!is_same(row.lease, lease.name))
        return;
    lease.length_ms = static_cast<uint64>(row.length_ms);
    if (strcmp(row.family.text, lease.family.text) == 0 && row.window.until > bounds.window.until)
        have_window(bounds, row.window, row.moved_at);
}

// The engine keeps a generator's bounds as long as the session; those of a reader, for a call.
Lease &new_lease_of(Bounds &bounds, bool is_reader) {
    if (bounds.source == nullptr)
        bounds.source =
            MemoryContextAlloc(is_reader ? CurrentMemoryContext : TopMemoryContext, sizeof(Lease));
    Lease &lease = lease_of(bounds);
    lease = {};
    return lease;
}

void load(Bounds &bounds, const Sequence &sequence, bool is_reader) {
    LeasedRow row;
    if (!has_lease_tables() || !read_leased_row(sequence.relid, &row, is_reader) ||
        joins_first(row)) {
        bounds.state = BoundsState::none;
        return;
    }
    Lease &lease = new_lease_of(bounds, is_reader);
    lease.origin = row.origin;
    lease.name = row.lease;
    lease.group = group_of(row);
    bounds.shard = row.shard;
    bounds.layout = row.layout;
    bounds.state = row.state == Membership::leased && row.has_layout && row.shard != any_shard
                       ? BoundsState::set
                       : BoundsState::closed;
    if (!is_limited(bounds))
        return;
    lease.family = family_of(sequence.relid, sequence.locator);
    bounds.window = no_time;
    read_window(bounds);
}

bool serves(const Bounds &bounds, const Attempt &attempt) {
    const uint64 wanted = tick_time(bounds.layout.widths, attempt.position);
    return wanted < bounds.window.until &&
           (attempt.moved_at == InvalidXLogRecPtr || attempt.moved_at == bounds.moved_at);
}

// Whether a renewal failed a moment ago: then no other one is started yet.
bool has_failed_lately(const Lease &lease) {
    const TimestampTz now = GetCurrentTimestamp();
    const int64 silent_ms =
        lease.silent_since == 0 ? 0 : (lease.failed_at - lease.silent_since) / us_per_ms;
    const int64 pause_ms =
        Max(Min(silent_ms, static_cast<int64>(lease.length_ms)) / 2, pause_after_failure_ms);
    return lease.failed_at != 0 && lease.failed_at <= now &&
           !TimestampDifferenceExceeds(lease.failed_at, now, static_cast<int>(pause_ms));
}

// A draw that has begun with the lease's shard has none to go on with.
[[noreturn]] void refuse_deleted(Oid relid) {
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("generator \"%s\" holds no lease", shown_name(relid)),
                    errdetail("Its lease was deleted while this call waited for a window of time."),
                    errhint("Call it again if ids are to be generated without a lease.")));
}

// Whether the generator has another lease by now, or has released this one: what is known of it
// counts no more. Raises 55000 if it is deleted, as with the extension.
bool is_another(const Lease &lease, Oid relid) {
    LeasedRow row;
    if (!read_leased_row(lease.origin, &row))
        refuse_deleted(relid);
    return !is_same(row.lease, lease.name) || row.state != Membership::leased;
}

WorkerTask renewal_of(const Lease &lease, Oid relid, XLogRecPtr moved_at, uint64 tick) {
    WorkerTask task = task_for(TaskKind::renew, relid, lease.group);
    task.is_hopeful = lease.silent_since == 0;
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

// A registry that has refused has to be told something; one that has not answered may do so later.
struct Reason {
    int sqlstate;
    char text[1024];  // "": there is none
};

void set_reason(Reason &reason, int sqlstate, const char *text) {
    reason.sqlstate = sqlstate;
    strlcpy(reason.text, text, sizeof(reason.text));
}

void set_failure(Reason &reason, Oid relid, bool is_refused, const char *error) {
    set_reason(reason,
               is_refused ? ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE : ERRCODE_CANNOT_CONNECT_NOW,
               may_see_why(relid) ? error : "The owner of the generator sees why");
}

// What keeps the session from having a window, if it has not asked by itself.
void look_for_reason(Reason &reason, const Lease &lease, Oid relid, Started last) {
    WindowRow row;
    if (last == Started::no_slot)
        set_reason(reason, ERRCODE_CONFIGURATION_LIMIT_EXCEEDED,
                   "There is no free slot for a background worker");
    else if (last == Started::no_seat)
        set_reason(reason, ERRCODE_CANNOT_CONNECT_NOW, why_no_seat());
    else if (!read_window_row(lease.origin, &row) || row.failed_at == 0 || row.error == nullptr)
        set_reason(reason, ERRCODE_CANNOT_CONNECT_NOW,
                   psprintf("The registry did not answer within %d ms", lease_timeout_ms));
    else
        set_failure(reason, relid, row.is_refused, row.error);
}

const char *server_of(const Lease &lease) {
    LeasedRow row{};
    read_leased_row(lease.origin, &row);
    return row.server == nullptr ? "" : row.server;
}

// Raises 57P03 if the registry has not answered, 55000 if it has refused, 53400 if there is no
// slot.
[[noreturn]] void refuse_without_window(const Bounds &bounds, Oid relid, const Attempt &attempt,
                                        const Reason &reason) {
    const char *until =
        bounds.window == no_time
            ? "It has no window of time"
            : psprintf("Its window of time ends at %s",
                       as_text(clock_at(bounds.layout.epoch_us, bounds.window.until)));
    ereport(
        ERROR,
        (errcode(reason.sqlstate),
         errmsg("generator \"%s\" has no lease of shard %d at this time", shown_name(relid),
                bounds.shard),
         errdetail("%s, and the clock is at %s. %s.", until, as_text(attempt.clock), reason.text),
         reason.sqlstate == ERRCODE_CONFIGURATION_LIMIT_EXCEEDED
             ? errhint("Increase max_worker_processes.")
             : errhint("See shardid_lease.shard_leases here and shardid_lease.id_space_shards "
                       "on the registry of foreign server \"%s\".",
                       server_of(lease_of(bounds)))));
}

bool is_true(Datum answer, const char *name) {
    const char *value = field(answer, name);
    return value != nullptr && strcmp(value, "true") == 0;
}

uint64 number(Datum answer, const char *name) {
    return static_cast<uint64>(pg_strtoint64(field(answer, name)));
}

void use_answer(Bounds &bounds, Datum answer) {
    const Window window{number(answer, "from_ms"), number(answer, "until_ms")};
    lease_of(bounds).length_ms = number(answer, "lease_ms");
    if (window.until > bounds.window.until)
        have_window(bounds, window,
                    DatumGetLSN(DirectFunctionCall1(pg_lsn_in,
                                                    CStringGetDatum(field(answer, "moved_at")))));
}

// Where no worker can be had, the session asks by itself, for its own generator, for at most this
// long. What it is granted it keeps for itself: nothing is stored, as that would be rolled back
// with its transaction. To everyone else it is a grant whose answer was lost: the next request of
// the incarnation is granted the same window, or a longer one. A page that others have moved is
// another incarnation, of which the other sessions have to know: for that it takes a worker.
// Returns false if the registry was not asked.
bool ask_here(Bounds &bounds, Oid relid, const Attempt &attempt, int64 wait_ms, Reason &reason) {
    Lease &lease = lease_of(bounds);
    if (attempt.moved_at != InvalidXLogRecPtr || !begin_asking(lease.group))
        return false;
    LeasedRow row{};
    row.origin = lease.origin;
    row.lease = lease.name;
    const WorkerTask task = renewal_of(lease, relid, InvalidXLogRecPtr, attempt.position);
    const Datum job = step("session_step", job_of(task, nullptr, &row), {});
    if (job != Datum{0}) {
        const Datum answer = step("session_step", job,
                                  ask_registry_here(field(job, "ask"), owner_of_sequence(relid),
                                                    field(job, "requests"), wait_ms));
        const char *fault = field(answer, "fault");
        lease.asked_at = GetCurrentTimestamp();
        lease.failed_at = fault == nullptr ? 0 : lease.asked_at;
        if (is_true(answer, "is_answered"))
            lease.silent_since = 0;
        else if (lease.silent_since == 0)
            lease.silent_since = lease.asked_at;
        if (fault != nullptr)
            set_failure(reason, relid, is_true(answer, "is_refused"), fault);
        else
            use_answer(bounds, answer);
    }
    end_asking(lease.group);
    return job != Datum{0};
}

void wait_until_served(Bounds &bounds, Oid relid, const Attempt &attempt) {
    Lease &lease = lease_of(bounds);
    instr_time start;
    INSTR_TIME_SET_CURRENT(start);
    Started last = Started::another;
    Reason reason{};
    for (;;) {
        MemoryContextReset(CurrentMemoryContext);
        if (is_another(lease, relid)) {
            bounds.state = BoundsState::unknown;
            return;
        }
        read_window(bounds);
        if (serves(bounds, attempt))
            return;
        const int64 left = lease_timeout_ms - ms_since(start);
        Started started = Started::another;
        if (!has_failed_lately(lease)) {
            started =
                run_worker(renewal_of(lease, relid, attempt.moved_at, attempt.position), left);
            if (left > 0 && (started == Started::no_slot || started == Started::no_seat) &&
                ask_here(bounds, relid, attempt, left, reason))
                started = Started::yes;
        }
        // Where the registry was asked, a slot that is missing for a moment is not the reason.
        if (started == Started::yes || has_failed_lately(lease))
            last = Started::yes;
        else if (last == Started::another || started == Started::no_seat)
            last = started;
        read_window(bounds);
        if (serves(bounds, attempt))
            return;
        if (left <= 0) {
            if (reason.text[0] == '\0')
                look_for_reason(reason, lease, relid, last);
            refuse_without_window(bounds, relid, attempt, reason);
        }
        nap(Min(left, started == Started::another ? look_again_ms : ask_again_ms));
    }
}

// Each look leaves some hundred bytes, and a wait can be long: so it has memory of its own.
void wait_for_window(Bounds &bounds, Oid relid, const Attempt &attempt) {
    MemoryContext looks =
        AllocSetContextCreate(CurrentMemoryContext, "shardid lease", ALLOCSET_SMALL_SIZES);
    MemoryContext before = MemoryContextSwitchTo(looks);
    wait_until_served(bounds, relid, attempt);
    MemoryContextSwitchTo(before);
    MemoryContextDelete(looks);
}

void renew_window(Bounds &bounds, Oid relid, uint64 last) {
    const Lease &lease = lease_of(bounds);
    const uint64 time = tick_time(bounds.layout.widths, last);
    read_window(bounds);
    if (time < bounds.look_at)
        return;
    bounds.look_at = time + renew_again_ms;
    if (!has_failed_lately(lease))
        run_worker(renewal_of(lease, relid, InvalidXLogRecPtr, last), 0);
}

const LeaseKeeper keeper = {load, forget_lease_table, wait_for_window, renew_window};

}  // namespace

extern "C" {

PGDLLEXPORT const LeaseKeeper *shardid_lease_keeper(void);

const LeaseKeeper *shardid_lease_keeper() {
    return &keeper;
}

}  // extern "C"

}  // namespace shardid
