// The background worker that renews leases, for all generators of the database that share a
// registry and a role, in one round trip; or joins, takes over or releases one for a session that
// waits (start_worker.h). It does this once, and ends.
#include "core/count.hpp"
#include "core/wait.hpp"
#include "core/window.hpp"
#include "core/worked_widths.hpp"

#include "lease/request.h"

#include "engine/sequence.h"
#include "engine/settings.h"
#include "functions/arguments.h"

extern "C" {
#include "mb/pg_wchar.h"
#include "storage/ipc.h"
#include "tcop/tcopprot.h"
}

namespace shardid {

namespace {

WorkerTask task;
WorkerCall *call;  // null: nobody waits

// For the message, if it does so in vain.
const char *waits_for = "another request about the lease";

constexpr int longest_error = 1000;
constexpr int log_again_ms = 60 * 1000;

// The session that waits is told the reason before the worker ends.
int most_of(int timeout_ms) {
    return Max(timeout_ms - timeout_ms / 5, 1);
}

// What the database, or the role, may have set differently. No standby is waited for: a promoted
// standby is another incarnation, so it does not matter which rows it has.
void set_defaults() {
    const struct {
        const char *name;
        const char *value;
    } settings[] = {
        {"search_path", "pg_catalog, pg_temp"},
        {"default_transaction_read_only", "off"},
        {"default_transaction_isolation", "read committed"},
        {"synchronous_commit", "local"},
        {"statement_timeout", "0"},
        {"lock_timeout", psprintf("%d", call == nullptr ? 2000 : most_of(task.timeout_ms))},
        {"idle_in_transaction_session_timeout", "0"},
        {longest_transaction_setting, "0"},
        {"role", "none"}};
    for (const auto &setting : settings)
        SetConfigOption(setting.name, setting.value, PGC_SUSET, PGC_S_OVERRIDE);
}

// For the session that waits: the outcome, in addition to the worker's end.
void tell(int level, int sqlstate, const char *message, const char *detail, const char *hint) {
    if (call == nullptr)
        return;
    call->level = level;
    call->sqlstate = sqlstate;
    strlcpy(call->message, message, sizeof(call->message));
    strlcpy(call->detail, detail == nullptr ? "" : detail, sizeof(call->detail));
    strlcpy(call->hint, hint == nullptr ? "" : hint, sizeof(call->hint));
}

// --- What is noted of an answer, in a transaction.

// To the log once per minute, as long as it lasts.
void note_failure(const LeasedRow &row, const char *error) {
    WindowRow window{};
    read_window_row(row.origin, &window);
    const TimestampTz now = GetCurrentTimestamp();
    window.failed_at = now;
    window.error = pnstrdup(error, static_cast<Size>(pg_mbcliplen(
                                       error, static_cast<int>(strlen(error)), longest_error)));
    const bool is_due = window.logged_at == 0 || window.logged_at > now ||
                        TimestampDifferenceExceeds(window.logged_at, now, log_again_ms);
    if (is_due)
        window.logged_at = now;
    put_window_row(row.origin, window);
    if (is_due)
        ereport(LOG, (errmsg("could not renew the lease of generator \"%s\"", row.name),
                      errdetail("%s.", window.error), errhint("See shardid_lease.shard_leases.")));
}

void note_window(const Request &request, const Granted &granted) {
    WindowRow window = request.window;
    window.family = request.standing.family;
    window.moved_at = request.moved_at;
    window.window = {static_cast<uint64>(granted.from), static_cast<uint64>(granted.until)};
    window.length_ms = granted.lease_ms;
    window.serial = granted.serial;
    window.receipt = granted.receipt;
    window.renewed_at = GetCurrentTimestamp();
    window.failed_at = 0;
    window.error = nullptr;
    put_window_row(request.row.origin, window);
}

// Null if the answer grants what was asked for. The registry may belong to another party, and an
// answer can be one to an earlier request.
const char *fault_of(const Request &request, const Granted &granted) {
    if (!granted.ok)
        return psprintf("the registry says: %s", granted.error == nullptr ? "no" : granted.error);
    if (!granted.is_readable || granted.registry == nullptr)
        return "the registry gave an answer that cannot be read";
    if (granted.incarnation == nullptr ||
        strcmp(granted.incarnation, incarnation_text(request.standing.family, request.moved_at)) !=
            0 ||
        (request.row.shard != any_shard && request.row.shard != granted.shard))
        return "the registry gave the answer to another request";
    if (request.row.has_layout && request.row.layout != granted.layout)
        return "the registry says: the id space has another layout than the one that was leased "
               "from";
    const bool is_same_registry =
        request.row.registry != nullptr && strcmp(request.row.registry, granted.registry) == 0;
    // A shard has serials of its own, and a generator that joins can be given another shard.
    if (!request.joins && is_same_registry && granted.serial <= request.window.serial)
        return "the registry gave the answer to an earlier request";
    return nullptr;
}

// Returns what is wrong with it, or null.
const char *note_answer(const Request &request, const Granted &granted) {
    const char *fault = fault_of(request, granted);
    LeasedRow row;
    if (!read_leased_row(request.row.origin, &row) || row.state != request.row.state ||
        row.generator != request.row.generator)
        return "the generator's lease is another one now";
    if (fault != nullptr) {
        note_failure(row, fault);
        return fault;
    }
    note_window(request, granted);
    if (row.state == Membership::leased && row.registry != nullptr &&
        strcmp(row.registry, granted.registry) == 0)
        return nullptr;
    row.state = Membership::leased;
    row.shard = static_cast<int32>(granted.shard);
    row.registry = granted.registry;
    row.layout = granted.layout;
    row.has_layout = true;
    put_leased_row(row);
    return nullptr;
}

bool is_of(const Granted &granted, const Request &request) {
    return granted.origin != nullptr &&
           strcmp(granted.origin, DatumGetCString(DirectFunctionCall1(
                                      uuid_out, UUIDPGetDatum(&request.row.origin)))) == 0;
}

// --- Asking, outside of transactions.

// Has all of them granted. Returns what is wrong with the answer to the last of them, or null;
// *is_answered: the registry has given one.
const char *grant(const char *server, Oid role, List *requests, bool *is_answered) {
    *is_answered = false;
    if (requests == NIL)
        return nullptr;
    begin_transaction();
    const char *json = json_of(requests);
    commit_transaction();
    const Reply reply = ask_registry(server, role, grant_statement(), json);
    const char *fault = nullptr;
    begin_transaction();
    ListCell *cell;
    foreach (cell, requests) {
        const auto &request = *static_cast<Request *>(lfirst(cell));
        fault = reply.error != nullptr ? reply.error : "the registry gave no answer";
        bool is_noted = false;
        for (int n = 0; n < reply.rows && !is_noted; ++n) {
            const Granted granted = granted_of(reply, n);
            is_noted = is_of(granted, request);
            if (!is_noted)
                continue;
            *is_answered = true;
            fault = note_answer(request, granted);
        }
        if (!is_noted)
            note_failure(request.row, fault);
    }
    commit_transaction();
    return fault;
}

// The answer to one request.
Granted ask_for_one(Request *request, Oid role, const char *statement, Reply *reply) {
    begin_transaction();
    const char *json = request->returns ? json_of(*request) : json_of(list_make1(request));
    commit_transaction();
    *reply = ask_registry(request->row.server, role, statement, json);
    return reply->rows == 1 ? granted_of(*reply, 0) : Granted{};
}

// Where the answer to a renewal was lost, the registry knows a later grant than the member: then
// that one is asked for again, and no ids are generated in its window.
Granted return_shard(Request *request, Oid role, Reply *reply) {
    request->returns = true;
    const Granted refused = ask_for_one(request, role, return_statement(), reply);
    if (refused.ok || !refused.is_final)
        return refused;
    request->returns = false;
    const Granted renewed = ask_for_one(request, role, grant_statement(), reply);
    if (!renewed.ok)
        return refused;
    request->window.receipt = renewed.receipt;
    request->returns = true;
    return ask_for_one(request, role, return_statement(), reply);
}

// Tells the registry that the generator has released its shard. What the registry has not said is
// tried again by the next worker. Returns whether it has answered.
bool give_back(LeasedRow row, Oid role) {
    Request request{};
    request.row = row;
    begin_transaction();
    const bool is_described = describe(&request, nullptr);
    commit_transaction();
    if (!is_described)
        return false;
    Reply reply{};
    const Granted granted = return_shard(&request, role, &reply);
    const char *refusal =
        granted.error == nullptr ? nullptr : psprintf("the registry says: %s", granted.error);
    const char *error = reply.error != nullptr ? reply.error
                        : granted.ok           ? nullptr
                        : refusal != nullptr   ? refusal
                                               : "the registry gave no answer";
    begin_transaction();
    if (error == nullptr || granted.is_final) {
        row.state = Membership::released;
        put_leased_row(row);
    }
    if (error != nullptr) {
        note_failure(row, error);
    } else {
        WindowRow window = request.window;
        window.serial = Max(window.serial, granted.serial);
        window.receipt = granted.receipt;
        window.failed_at = 0;
        window.error = nullptr;
        put_window_row(row.origin, window);
    }
    commit_transaction();
    if (error == nullptr)
        tell(0, 0, "", nullptr, nullptr);
    else if (granted.is_final)
        tell(NOTICE, 0, psprintf("generator \"%s\" had no shard to release", row.name),
             psprintf("It generates no more ids, and %s.", error), nullptr);
    else
        tell(WARNING, ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
             psprintf("generator \"%s\" has released its lease, but the registry does not know it",
                      row.name),
             psprintf("Shard %d of id space \"%s\" stays granted to this server: %s.", row.shard,
                      row.space, error),
             "The next renewal tries it again, and so does release_shard().");
    return granted.ok || granted.error != nullptr;
}

// --- The leases of a server and a role.

bool is_in_group(const LeasedRow &row, const char *server, Oid role) {
    const bool is_same = row.server == nullptr || server == nullptr
                             ? row.server == server
                             : strcmp(row.server, server) == 0;
    return is_same && owner_of_sequence(row.generator) == role;
}

// A row from a dump follows its sequence from now on, even if the sequence is renamed; a row whose
// sequence was dropped is deleted.
void tidy(const LeasedRow &row) {
    if (row.is_by_name && OidIsValid(row.generator))
        put_leased_row(row);
    else if (!row.is_by_name && !OidIsValid(row.generator))
        delete_leased_row(row);
}

List *rows_of_group(const char *server, Oid role) {
    List *rows = NIL;
    begin_transaction();
    ListCell *cell;
    foreach (cell, leased_rows()) {
        auto *row = static_cast<LeasedRow *>(lfirst(cell));
        tidy(*row);
        if (OidIsValid(row->generator) && is_in_group(*row, server, role))
            rows = lappend(rows, row);
    }
    commit_transaction();
    return rows;
}

// Those that are leased, the task's own last.
List *requests_of(List *rows) {
    List *requests = NIL;
    begin_transaction();
    ListCell *cell;
    foreach (cell, rows) {
        const auto &row = *static_cast<LeasedRow *>(lfirst(cell));
        const bool is_own = row.generator == task.generator;
        auto *request = static_cast<Request *>(palloc0(sizeof(Request)));
        request->row = row;
        request->takes_over = is_own && task.kind == TaskKind::take_over;
        if (row.state != Membership::leased || !describe(request, is_own ? &task : nullptr))
            continue;
        requests = is_own ? lappend(requests, request) : lcons(request, requests);
    }
    commit_transaction();
    return requests;
}

LeasedRow row_of_task(Membership least, Membership most, const char *hint) {
    LeasedRow row;
    if (!read_leased_row(task.generator, &row) || row.state < least || row.state > most)
        ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                        errmsg("generator \"%s\" holds no lease", shown_name(task.generator)),
                        errhint("%s", hint)));
    return row;
}

// --- The tasks.

void renew_group(const LeasedRow &row, Oid role) {
    List *rows = rows_of_group(row.server, role);
    List *requests = requests_of(rows);
    bool is_answered;
    const char *fault = grant(row.server, role, requests, &is_answered);
    if (requests == NIL || static_cast<Request *>(llast(requests))->row.generator != task.generator)
        fault = "the sequence is locked by a transaction";
    if (task.kind == TaskKind::take_over && fault != nullptr)
        ereport(
            ERROR,
            (errcode(ERRCODE_OBJECT_IN_USE),
             errmsg("generator \"%s\" cannot take over its shard", row.name),
             errdetail("%s.", fault),
             errhint("If the holder is gone, run shardid_lease.evict_shard() on the registry.")));
    if (call != nullptr)
        call->granted = row.shard;
    ListCell *cell;
    foreach (cell, rows) {
        const auto &other = *static_cast<LeasedRow *>(lfirst(cell));
        if (is_answered && other.state == Membership::sealed)
            give_back(other, role);
    }
}

// Held: the generator is not drawn from, and no transaction that has drawn from it is left.
void seal(LeasedRow *row) {
    waits_for = "a transaction that uses the generator";
    LockRelationOid(task.generator, ShareRowExclusiveLock);
    check_owner(task.generator, task.caller, NoLock);
    *row = row_of_task(Membership::leased, Membership::sealed, "Nothing is left to be released.");
    WindowRow window{};
    read_window_row(row->origin, &window);
    window.window = no_time;
    put_window_row(row->origin, window);
    row->state = Membership::sealed;
    put_leased_row(*row);
}

// Forgets a request that was not granted, or whose caller no longer waits.
void forget_request(LeasedRow row) {
    if (joins_first(row)) {
        delete_leased_row(row);
        return;
    }
    row.state = Membership::released;
    put_leased_row(row);
}

void release(LeasedRow row, Oid role) {
    begin_transaction();
    if (row.state == Membership::joining) {
        forget_request(row);
        tell(NOTICE, 0, psprintf("generator \"%s\" had not been granted a shard", row.name),
             "If the registry has granted one, and its answer was lost, it keeps it for this "
             "server.",
             "See shardid_lease.id_space_shards on the registry.");
    } else if (row.state == Membership::leased) {
        seal(&row);
    }
    commit_transaction();
    if (row.state == Membership::sealed)
        give_back(row, role);
}

[[noreturn]] void refuse_second_lease(const LeasedRow &row) {
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("generator \"%s\" holds a lease already", row.name),
                    errdetail("It has shard %d of id space \"%s\".", row.shard, row.space),
                    errhint("Run shardid_lease.release_shard() first.")));
}

// The same id space, by the same way.
bool is_from(const LeasedRow &row, const char *server) {
    return strcmp(row.space, call->space) == 0 &&
           (server == nullptr ? row.server == nullptr
                              : row.server != nullptr && strcmp(row.server, server) == 0);
}

LeasedRow new_row(const char *server) {
    LeasedRow row{};
    row.origin = *DatumGetUUIDP(DirectFunctionCall1(gen_random_uuid, Datum{0}));
    row.state = Membership::released;
    row.server = server;
    return row;
}

// The origin is stored before the registry is asked: a caller that asks again, because the answer
// was lost, has the same origin.
void join(const char *server, Oid role) {
    LeasedRow before;
    begin_transaction();
    bool is_known = read_leased_row(task.generator, &before);
    commit_transaction();
    if (is_known && before.state == Membership::leased) {
        if (!is_from(before, server) || (call->shard != any_shard && call->shard != before.shard))
            refuse_second_lease(before);
        call->granted = before.shard;
        return;
    }
    // An answer that it has another id space of this name does not keep the caller from leasing
    // there.
    const bool is_returned =
        !is_known || before.state != Membership::sealed || give_back(before, role);

    begin_transaction();
    is_known = read_leased_row(task.generator, &before);
    if (is_known && !is_returned && is_from(before, server))
        ereport(
            ERROR,
            (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
             errmsg("the release of generator \"%s\" has not reached its registry", before.name),
             errdetail("%s", call->detail),
             errhint("Call it again when the registry answers. If the registry no longer exists, "
                     "delete the generator's row from shardid_lease.leased_generator as a "
                     "superuser.")));
    if (!is_known)
        before = new_row(server);
    Request request{};
    request.row = before;
    request.row.generator = task.generator;
    request.row.name = shown_name(task.generator);
    request.row.space = call->space;
    request.row.server = server;
    request.row.shard = call->shard;
    request.row.state = Membership::joining;
    request.row.has_layout = false;
    request.joins = true;
    if (!describe(&request, nullptr))
        ereport(ERROR, (errcode(ERRCODE_OBJECT_IN_USE),
                        errmsg("sequence \"%s\" is locked by a transaction", request.row.name),
                        errhint("Call it again when that has ended.")));
    put_leased_row(request.row);
    commit_transaction();

    tell(0, 0, "", nullptr, nullptr);
    bool is_answered;
    const char *fault = grant(server, role, list_make1(&request), &is_answered);
    if (fault == nullptr) {
        begin_transaction();
        call->granted =
            row_of_task(Membership::leased, Membership::leased, "Call lease_shard() again.").shard;
        commit_transaction();
        return;
    }
    if (is_answered) {
        begin_transaction();
        if (is_known && before.state != Membership::joining)
            put_leased_row(before);
        else
            forget_request(request.row);
        commit_transaction();
    }
    ereport(
        ERROR,
        (errcode(is_answered ? ERRCODE_OBJECT_IN_USE
                             : ERRCODE_SQLCLIENT_UNABLE_TO_ESTABLISH_SQLCONNECTION),
         errmsg("id space \"%s\" grants no lease to generator \"%s\"", call->space,
                request.row.name),
         errdetail("%s.", fault),
         is_answered ? errhint("Do what the registry says; if the holder of the shard is gone, run "
                               "shardid_lease.evict_shard() there, or ask for another shard.")
                     : errhint("Call it again: it asks for the same shard.")));
}

// The row on which a task other than join works, as it is committed now.
LeasedRow row_for_task() {
    if (task.kind == TaskKind::release)
        return row_of_task(Membership::joining, Membership::sealed, "Nothing is to be released.");
    return row_of_task(Membership::leased,
                       call == nullptr ? Membership::sealed : Membership::leased,
                       "Run shardid_lease.lease_shard().");
}

void run() {
    begin_transaction();
    require_lease_tables();
    if (call != nullptr)
        check_owner(task.generator, task.caller);
    LeasedRow row{};
    const Oid role = owner_of_sequence(task.generator);
    const bool is_join = task.kind == TaskKind::join;
    if (!is_join)
        row = row_for_task();
    const char *joined = is_join && call->server[0] != '\0' ? call->server : nullptr;
    const char *server = is_join ? joined : row.server;
    // A renewal that finds another worker at work ends.
    const bool is_locked = lock_group(group_of(server, role), call != nullptr);
    commit_transaction();
    if (!is_locked)
        return;
    start_deadline(call == nullptr ? registry_timeout_ms : most_of(task.timeout_ms));
    if (is_join) {
        join(server, role);
        return;
    }
    // The worker that had the lock may have changed the row.
    begin_transaction();
    row = row_for_task();
    commit_transaction();
    if (task.kind == TaskKind::release)
        release(row, role);
    else
        renew_group(row, role);
}

void tell_error(const ErrorData *error) {
    if (error->sqlerrcode == ERRCODE_LOCK_NOT_AVAILABLE)
        tell(ERROR, error->sqlerrcode,
             psprintf("could not wait for %s within %d ms", waits_for, task.timeout_ms), nullptr,
             "Call it again when that has ended; pg_locks shows what it waits for.");
    else
        tell(ERROR, error->sqlerrcode, error->message, error->detail, error->hint);
}

void run_for_caller() {
    dsm_segment *segment = dsm_attach(task.call);
    if (segment == nullptr)  // the session has given up
        return;
    dsm_pin_mapping(segment);
    call = static_cast<WorkerCall *>(dsm_segment_address(segment));
    set_defaults();
    PG_TRY();
    { run(); }
    PG_CATCH();
    { tell_error(error_of_failed_transaction()); }
    PG_END_TRY();
    call->is_done = true;
}

}  // namespace

extern "C" {

PGDLLEXPORT void shardid_lease_worker(Datum argument);

void shardid_lease_worker(Datum /*argument*/) {
    memcpy(&task, MyBgworkerEntry->bgw_extra, sizeof(task));
    pqsignal(SIGTERM, die);
    BackgroundWorkerUnblockSignals();
    BackgroundWorkerInitializeConnectionByOid(task.database, InvalidOid, BGWORKER_BYPASS_ALLOWCONN);
    pgstat_report_activity(STATE_RUNNING, "shardid lease");
    if (task.kind == TaskKind::renew) {
        set_defaults();
        run();
    } else {
        run_for_caller();
    }
    proc_exit(0);
}

}  // extern "C"

}  // namespace shardid
