// The background worker that renews leases, for all generators of the database that share a
// registry and a role, in one round trip; or joins, takes over or releases one for a session that
// waits (start_worker.h). It does this once, and ends.
#include "engine/sequence.h"
#include "settings.h"
#include "exchange.h"
#include "grant.h"
#include "start_worker.h"

extern "C" {
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/procarray.h"
#include "tcop/tcopprot.h"
}

namespace shardid {

namespace {

Job job;

// What the database, or the role, may have set differently. No standby is waited for: a promoted
// standby is another incarnation, so it does not matter which rows it has.
void set_defaults() {
    const struct {
        const char *name;
        const char *value;
    } settings[] = {{"search_path", "pg_catalog, pg_temp"},
                    {"default_transaction_read_only", "off"},
                    {"default_transaction_isolation", "read committed"},
                    {"synchronous_commit", "local"},
                    {"statement_timeout", "0"},
                    {"lock_timeout", psprintf("%d", registry_timeout_ms)},
                    {"idle_in_transaction_session_timeout", "0"},
                    {longest_transaction_setting, "0"},
                    {"role", "none"}};
    for (const auto &setting : settings)
        SetConfigOption(setting.name, setting.value, PGC_SUSET, PGC_S_OVERRIDE);
}

bool is_in_group(const LeasedRow &row, const char *server, Oid role) {
    return strcmp(row.server, server) == 0 && owner_of_sequence(row.generator) == role;
}

// A row from a dump follows its sequence from now on, even if the sequence is renamed; a row whose
// sequence was dropped is deleted.
void tidy(const LeasedRow &row) {
    if (row.is_by_name == OidIsValid(row.generator))
        change_lease(row, "follow");
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

// To renew those that are leased, and return those that are sealed; the task's own last.
List *requests_of(const WorkerTask &task, List *rows) {
    List *requests = NIL;
    begin_transaction();
    ListCell *cell;
    foreach (cell, rows) {
        const auto &row = *static_cast<LeasedRow *>(lfirst(cell));
        const bool is_own = row.generator == task.generator;
        auto *request = static_cast<Request *>(palloc0(sizeof(Request)));
        request->row = row;
        request->takes_over = is_own && task.kind == TaskKind::take_over;
        request->returns = row.state == Membership::sealed;
        if ((row.state != Membership::leased && row.state != Membership::sealed) ||
            !describe(request, is_own ? &task : nullptr))
            continue;
        requests = is_own ? lappend(requests, request) : lcons(request, requests);
    }
    commit_transaction();
    return requests;
}

// Raises 55006 if the registry has refused, 57P03 if it has not answered; `message` says what.
[[noreturn]] void refuse_for(const Answer &answer, const char *message, const char *advice) {
    ereport(ERROR, (errcode(answer.is_refused ? ERRCODE_OBJECT_IN_USE : ERRCODE_CANNOT_CONNECT_NOW),
                    errmsg("%s", message), errdetail("%s.", answer.fault),
                    errhint("%s", answer.is_refused ? advice : "Call it again later.")));
}

// Renews all leases of a role from a registry, in one round trip: those of the row's group, the
// task's own by taking it over if that is the task; and then tells the registry of releases that it
// has not heard of. Raises 55006 if a shard cannot be taken over. REQUIRED: outside of
// transactions.
void renew_group(const LeasedRow &row, Oid role) {
    List *requests = requests_of(job.task, rows_of_group(row.server, role));
    Answer answer = ask_for(row.server, role, requests);
    if (requests == NIL ||
        static_cast<Request *>(llast(requests))->row.generator != job.task.generator) {
        answer = {};
        answer.fault = "The sequence is locked by a transaction";
    }
    if (job.task.kind == TaskKind::take_over && answer.fault != nullptr)
        refuse_for(
            answer, psprintf("generator \"%s\" cannot take over its shard", row.name),
            "Do what the registry says; if another holder of the shard no longer exists, run "
            "shardid_lease.evict_shard() there.");
    if (job.call != nullptr)
        job.call->granted = row.shard;
}

[[noreturn]] void refuse_second_lease(const LeasedRow &row) {
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("generator \"%s\" holds a lease already", row.name),
                    errdetail("It has shard %d of id space \"%s\".", row.shard, row.space),
                    errhint("Run shardid_lease.release_shard() first.")));
}

// The same id space, by the same way.
bool is_from(const LeasedRow &row, const char *space, const char *server) {
    return strcmp(row.space, space) == 0 && strcmp(row.server, server) == 0;
}

pg_uuid_t new_uuid() {
    return *DatumGetUUIDP(DirectFunctionCall1(gen_random_uuid, Datum{0}));
}

[[noreturn]] void refuse_unreturned(const LeasedRow &row, const char *fault) {
    ereport(
        ERROR,
        (errcode(ERRCODE_CANNOT_CONNECT_NOW),
         errmsg("the release of generator \"%s\" has not reached its registry", row.name),
         errdetail("%s.", fault),
         errhint(
             "Call it again when the registry answers. If the registry no longer exists, "
             "delete the generator's row from shardid_lease.leased_generator as a superuser.")));
}

// A generator's first lease, or another one after a release: from the id space of the call, or the
// lease that it has already; sets call->granted. Raises 55000 if it holds another lease or one
// whose release the registry has not heard of, 55006 if its sequence is locked or the registry
// refuses, 57P03 if the registry does not answer. REQUIRED: outside of transactions.
void join(const char *server, Oid role) {
    const WorkerTask &task = job.task;
    WorkerCall *call = job.call;
    LeasedRow row;
    begin_transaction();
    bool is_known = read_leased_row(task.generator, &row);
    commit_transaction();
    if (is_known && row.state == Membership::leased) {
        if (!is_from(row, call->space, server) ||
            (call->shard != any_shard && call->shard != row.shard))
            refuse_second_lease(row);
        call->granted = row.shard;
        return;
    }
    // An answer that it has another id space of this name does not keep the caller from leasing
    // there.
    if (is_known && row.state == Membership::sealed) {
        const Answer returned = give_back(job, row, role);
        if (!returned.is_answered && is_from(row, call->space, server))
            refuse_unreturned(row, returned.fault);
    }

    begin_transaction();
    is_known = read_leased_row(task.generator, &row);
    if (!is_known) {
        row = {};
        row.origin = new_uuid();
    }
    // The same call again, which may have been granted a shard.
    if (!is_known || row.state != Membership::joining || !is_from(row, call->space, server) ||
        row.shard != call->shard)
        row.lease = new_uuid();
    Request request{};
    request.row = row;
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
    begin_lease(request.row);
    commit_transaction();

    tell(job, 0, 0, "", nullptr, nullptr);
    const Answer answer = ask_for(server, role, list_make1(&request));
    begin_transaction();
    if (answer.fault == nullptr)
        call->granted =
            row_of_task(job, Membership::leased, Membership::leased, "Call lease_shard() again.")
                .shard;
    else if (answer.is_answered)
        change_lease(request.row, "not_granted");
    commit_transaction();
    if (answer.fault != nullptr)
        refuse_for(answer,
                   psprintf("id space \"%s\" grants no lease to generator \"%s\"", call->space,
                            request.row.name),
                   "Do what the registry says; if the holder of the shard no longer exists, run "
                   "shardid_lease.evict_shard() there, or ask for another shard.");
}

// The row on which a task other than join works, as it is committed now.
LeasedRow row_for_task() {
    if (job.task.kind == TaskKind::release)
        return row_of_task(job, Membership::joining, Membership::sealed,
                           "Nothing is to be released.");
    return row_of_task(job, Membership::leased,
                       job.call == nullptr ? Membership::sealed : Membership::leased,
                       "Run shardid_lease.lease_shard().");
}

void run() {
    begin_transaction();
    require_lease_tables();
    if (job.call != nullptr)
        check_owner(job.task.generator, job.task.caller);
    const Oid role = owner_of_sequence(job.task.generator);
    const bool is_join = job.task.kind == TaskKind::join;
    const LeasedRow row = is_join ? LeasedRow{} : row_for_task();
    const char *server = is_join ? job.call->server : row.server;
    const LeaseGroup group = group_of(server, role);
    commit_transaction();
    // Of another one by now, this is another worker's work.
    if (group.role != job.task.group.role || group.server != job.task.group.server)
        return;
    if (is_join) {
        join(server, role);
        return;
    }
    if (job.task.kind == TaskKind::release)
        release(job, row, role);
    else
        renew_group(row, role);
}

void run_for_caller() {
    dsm_segment *segment = dsm_attach(job.task.call);
    if (segment == nullptr)  // the session has given up
        return;
    dsm_pin_mapping(segment);
    job.call = static_cast<WorkerCall *>(dsm_segment_address(segment));
    set_defaults();
    PG_TRY();
    run();
    PG_CATCH();
    tell_error(job, error_of_failed_transaction());
    PG_END_TRY();
    job.call->is_done = true;
}

// The session that has started this worker waits for that.
void tell_begun() {
    PGPROC *session = BackendPidGetProc(MyBgworkerEntry->bgw_notify_pid);
    if (session != nullptr)
        SetLatch(&session->procLatch);
}

// The session has reserved them; but it may have called the worker off.
bool take_own_seats() {
    const bool has_all = take_seats(job.task);
    tell_begun();
    return has_all;
}

}  // namespace

extern "C" {

PGDLLEXPORT void shardid_lease_worker(Datum argument);

void shardid_lease_worker(Datum /*argument*/) {
    memcpy(&job.task, MyBgworkerEntry->bgw_extra, sizeof(job.task));
    pqsignal(SIGTERM, die);
    BackgroundWorkerUnblockSignals();
    BackgroundWorkerInitializeConnectionByOid(job.task.database, InvalidOid,
                                              BGWORKER_BYPASS_ALLOWCONN);
    pgstat_report_activity(STATE_RUNNING, "shardid lease");
    if (!take_own_seats())
        proc_exit(0);
    if (job.task.kind == TaskKind::renew) {
        set_defaults();
        run();
    } else {
        run_for_caller();
    }
    proc_exit(0);
}

}  // extern "C"

}  // namespace shardid
