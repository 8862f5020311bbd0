// The bounds of a leased sequence, which the engine asks for (LeaseKeeper in engine/lease.h): the
// session reads them from the tables, and has a worker renew the window.
#include "engine/lease.h"
#include "engine/refusals.h"
#include "start_worker.h"
#include "known_lease.h"

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
constexpr int64 window_poll_ms = 10;
constexpr int64 ask_again_ms = 100;

// How long after a session had the lease renewed it looks again.
constexpr uint64 renew_again_ms = 1000;

// What the session knows of a lease in addition to the bounds that it sets.
struct Lease {
    pg_uuid_t origin;
    pg_uuid_t lease;  // a window with another one is another lease's
    LeaseGroup group;
    Digest family;             // the incarnations whose windows can be used
    uint64 length_ms;          // of the lease
    TimestampTz failed_at;     // when the last renewal failed; 0: it gave the window
    TimestampTz silent_since;  // and since when there was no answer; 0: there was one
    TimestampTz known_at;      // when that was
    uint64 asked_at;           // when the session had the lease renewed, by its clock
};

Lease &lease_of(const Bounds &bounds) {
    return *static_cast<Lease *>(bounds.source);
}

// The session keeps the window that it has if no later one was granted to this lease, on this
// server since it was started, for the generator's present storage: within one incarnation windows
// only grow.
void take_window(Bounds &bounds, const KnownWindow &last) {
    Lease &lease = lease_of(bounds);
    const TimestampTz known_at = Max(last.failed_at, last.renewed_at);
    if (known_at > lease.known_at) {
        lease.known_at = known_at;
        lease.failed_at = last.failed_at;
        lease.silent_since = last.silent_since;
    }
    if (last.family == nullptr || last.lease != lease.lease)
        return;
    lease.length_ms = last.lease_ms;
    if (strcmp(last.family, lease.family.text) == 0 && last.window.until > bounds.window.until) {
        bounds.window = last.window;
        bounds.moved_at = last.moved_at;
        bounds.renew_from = ask_from(last.window, lease.length_ms, static_cast<uint64>(MyProcPid));
    }
}

KnownLease reread_lease(Bounds &bounds) {
    const KnownLease known = read_lease(InvalidOid, &lease_of(bounds).origin);
    take_window(bounds, known.last);
    return known;
}

// A generator that is asked for its first lease is as it was, until there is an answer. One that
// has held a lease generates nothing without one: its old shard may be another generator's.
bool joins_first(const KnownLease &known) {
    return has_state(known, "joining") && known.is_first;
}

void load(Bounds &bounds, const Sequence &sequence, bool is_reader) {
    const KnownLease known = read_lease(sequence.relid, nullptr, is_reader);
    if (!known.is_there || joins_first(known)) {
        bounds.state = BoundsState::none;
        return;
    }
    // The engine keeps a generator's bounds as long as the session; those of a reader, for a call.
    if (bounds.source == nullptr)
        bounds.source =
            MemoryContextAlloc(is_reader ? CurrentMemoryContext : TopMemoryContext, sizeof(Lease));
    Lease &lease = lease_of(bounds);
    lease = {};
    lease.origin = known.origin;
    lease.lease = known.lease;
    lease.group = group_of(known.server, owner_of_sequence(sequence.relid));
    bounds.shard = known.shard;
    bounds.layout = known.layout;
    bounds.state = has_state(known, "leased") ? BoundsState::set : BoundsState::released;
    if (!is_limited(bounds))
        return;
    lease.family = family_of(sequence.relid, sequence.locator);
    bounds.window = no_time;
    take_window(bounds, known.last);
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
bool is_another(const Lease &lease, const KnownLease &known, Oid relid) {
    if (!known.is_there)
        refuse_deleted(relid);
    return known.lease != lease.lease || !has_state(known, "leased");
}

WorkerTask renewal_of(const Lease &lease, Oid relid, XLogRecPtr moved_at, uint64 tick) {
    WorkerTask task = task_for(relid, lease.group);
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
void look_for_reason(Reason &reason, const KnownLease &known, Oid relid, Started last) {
    if (last == Started::no_slot)
        set_reason(reason, ERRCODE_CONFIGURATION_LIMIT_EXCEEDED,
                   "There is no free slot for a background worker");
    else if (last == Started::no_seat)
        set_reason(reason, ERRCODE_CANNOT_CONNECT_NOW, why_no_seat());
    else if (last == Started::not_begun)
        set_reason(
            reason, ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            "The background worker did not begin: see the server's log, and connect again if "
            "the library was replaced");
    else if (known.last.error == nullptr)
        set_reason(reason, ERRCODE_CANNOT_CONNECT_NOW,
                   psprintf("The registry did not answer within %d ms", lease_timeout_ms));
    else
        set_failure(reason, relid, known.last.is_refused, known.last.error);
}

// Raises 57P03 if the registry has not answered, 55000 if it has refused, 53400 if there is no
// slot.
[[noreturn]] void refuse_without_window(const Bounds &bounds, Oid relid, const Attempt &attempt,
                                        const KnownLease &known, const Reason &reason) {
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
                       known.is_there ? known.server : "")));
}

// Where no worker can be had, the session asks by itself, for its own generator, for at most this
// long. What it is granted it keeps for itself: nothing is stored, as that would be rolled back
// with its transaction. To everyone else it is a grant whose answer was lost: the next request of
// the family is granted the same window, or a longer one. Returns false if the registry was not
// asked.
bool ask_here(Bounds &bounds, Oid relid, const Attempt &attempt, int64 wait_ms, Reason &reason) {
    Lease &lease = lease_of(bounds);
    if (!begin_asking(lease.group))
        return false;
    const NullableDatum row = call_script(
        "ask_in_session", {{UUIDPGetDatum(&lease.origin), false},
                           {UUIDPGetDatum(&lease.lease), false},
                           {ObjectIdGetDatum(owner_of_sequence(relid)), false},
                           text_or_null(lease.family.text),
                           {LSNGetDatum(attempt.moved_at), false},
                           {Int64GetDatum(static_cast<int64>(attempt.position)), false},
                           {TimestampTzGetDatum(lease.silent_since), lease.silent_since == 0},
                           {Int32GetDatum(static_cast<int32>(wait_ms)), false}});
    end_asking(lease.group);
    const KnownWindow last = known_window(row);
    take_window(bounds, last);
    // A refusal remains the reason if there is no time for another answer.
    if (last.error != nullptr &&
        (last.is_refused || reason.sqlstate != ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE))
        set_failure(reason, relid, last.is_refused, last.error);
    return last.is_there;
}

void wait_until_served(Bounds &bounds, Oid relid, const Attempt &attempt) {
    Lease &lease = lease_of(bounds);
    const instr_time start = this_moment();
    Started last = Started::another;
    Reason reason{};
    for (;;) {
        MemoryContextReset(CurrentMemoryContext);
        KnownLease known = reread_lease(bounds);
        if (is_another(lease, known, relid)) {
            bounds.state = BoundsState::unknown;
            return;
        }
        if (serves(bounds, attempt))
            return;
        const int64 left = lease_timeout_ms - ms_since(start);
        Started started = Started::another;
        if (!has_failed_lately(lease)) {
            started = run_worker(renewal_of(lease, relid, attempt.moved_at, attempt.position),
                                 Min(left, ask_again_ms));
            if (left > 0 && started != Started::yes && started != Started::another)
                started = ask_here(bounds, relid, attempt, left, reason) ? Started::yes
                                                                         : Started::another;
        }
        // Where the registry was asked, a slot that is missing for a moment is not the reason.
        if (started == Started::yes || has_failed_lately(lease))
            last = Started::yes;
        else if (last == Started::another || started == Started::no_seat)
            last = started;
        known = reread_lease(bounds);
        if (serves(bounds, attempt))
            return;
        if (left <= 0) {
            if (reason.text[0] == '\0')
                look_for_reason(reason, known, relid, last);
            refuse_without_window(bounds, relid, attempt, known, reason);
        }
        nap(Min(left, started == Started::another ? window_poll_ms : ask_again_ms));
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

bool asks(const Bounds &bounds, uint64 now, uint64 last) {
    return asks_at(bounds.window, lease_of(bounds).length_ms, bounds.renew_from, now,
                   tick_time(bounds.layout.widths, last));
}

void renew_window(Bounds &bounds, Oid relid, uint64 last) {
    Lease &lease = lease_of(bounds);
    const uint64 now = time_at(bounds.layout.epoch_us, GetCurrentTimestamp());
    if (now - lease.asked_at < renew_again_ms || !asks(bounds, now, last))
        return;
    reread_lease(bounds);
    if (!asks(bounds, now, last))
        return;
    lease.asked_at = now;
    bounds.renew_from = Max(bounds.renew_from, now + renew_again_ms);
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
