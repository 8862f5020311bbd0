// The background worker that renews leases, for all generators of the database that share a
// registry and a role, in one round trip; or joins, takes over or releases one for a session that
// waits (start_worker.h). It does this once, and ends.
#include "engine/sequence.h"
#include "start_worker.h"
#include "steps.h"

extern "C" {
#include "storage/ipc.h"
#include "tcop/tcopprot.h"
#include "utils/timeout.h"
}

namespace shardid {

namespace {

WorkerTask task;
WorkerCall *call;  // null: no session waits

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

void begin_transaction() {
    SetCurrentStatementStartTimestamp();
    StartTransactionCommand();
    PushActiveSnapshot(GetTransactionSnapshot());
    // The worker ends soon: the memory that it uses need not be freed.
    MemoryContextSwitchTo(TopMemoryContext);
}

void commit_transaction() {
    PopActiveSnapshot();
    CommitTransactionCommand();
    MemoryContextSwitchTo(TopMemoryContext);
}

// For the session that waits.
const char *told(const ErrorData *error) {
    const bool is_lock = error->sqlerrcode == ERRCODE_LOCK_NOT_AVAILABLE;
    StringInfoData json;
    begin_object(&json, "level", "ERROR");
    append(&json, "sqlstate", unpack_sql_state(error->sqlerrcode));
    append(&json, "message",
           is_lock ? psprintf("could not wait for a lock on the sequence within %d ms",
                              registry_timeout_ms)
                   : error->message);
    append(&json, "detail", is_lock ? nullptr : error->detail);
    append(&json, "hint",
           is_lock ? "Call it again when that has ended; pg_locks shows what it waits for."
                   : error->hint);
    appendStringInfoChar(&json, '}');
    return json.data;
}

// Returns 0 if the generator is of another group by now: then this is another worker's work.
Datum first_step(Datum job) {
    require_lease_tables();
    if (call != nullptr)
        check_owner(task.generator, static_cast<Oid>(number(job, "caller")));
    const Datum row = read_lease(task.generator, nullptr);
    const char *server = field(job, "server");
    if (server == nullptr && row != Datum{0})
        server = field(row, "server");
    if (server != nullptr) {
        const LeaseGroup group = group_of(server, owner_of_sequence(task.generator));
        if (group.role != task.group.role || group.server != task.group.server)
            return Datum{0};
    }
    return step("member_step", job, {});
}

Datum first_job() {
    if (call != nullptr)
        return DirectFunctionCall1(jsonb_in, CStringGetDatum(call->job));
    StringInfoData json;
    begin_renewal(&json, task);
    return end_object(&json);
}

Datum job;       // 0: there is nothing to do
Datum registry;  // the address of the one that the job wants to be asked

// A step is a transaction of its own.
void do_step(const Reply *reply) {
    begin_transaction();
    job = reply == nullptr ? first_step(first_job()) : step("member_step", job, *reply);
    if (job != Datum{0} && field(job, "requests") != nullptr)
        registry = address_of(field(job, "ask"), task.group.role);
    commit_transaction();
}

// Returns false if there is nothing to do.
bool run() {
    do_step(nullptr);
    if (job == Datum{0})
        return false;
    while (const char *requests = field(job, "requests")) {
        Reply reply{};
        if (strcmp(requests, "{}") != 0)
            reply = ask_registry(registry, requests, has(job, "task", "take_over"));
        do_step(&reply);
    }
    return true;
}

void check_form(uint32 form) {
    if (form == worker_form)
        return;
    ereport(
        ERROR,
        (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
         errmsg("a session has another build of library \"shardid_lease\" than its worker"),
         errdetail("The session's form is %x, and that of the worker is %x.", form, worker_form),
         errhint("End sessions that were begun before the library was replaced.")));
}

void run_for_caller() {
    dsm_segment *segment = dsm_attach(task.call);
    if (segment == nullptr)  // the session has given up
        return;
    dsm_pin_mapping(segment);
    call = static_cast<WorkerCall *>(dsm_segment_address(segment));
    check_form(call->form);
    bool is_done = true;
    const char *outcome = "{}";
    PG_TRY();
    {
        is_done = run();
        if (is_done)
            outcome = DatumGetCString(DirectFunctionCall1(jsonb_out, job));
    }
    PG_CATCH();
    outcome = told(error_of_failed_transaction());
    PG_END_TRY();
    if (is_done)
        strlcpy(call->job, outcome, sizeof(call->job));
    pg_write_barrier();
    call->is_done = is_done;
}

}  // namespace

ErrorData *error_of_failed_transaction() {
    MemoryContextSwitchTo(TopMemoryContext);
    ErrorData *error = CopyErrorData();
    FlushErrorState();
    disable_all_timeouts(false);
    QueryCancelPending = false;
    AbortCurrentTransaction();
    MemoryContextSwitchTo(TopMemoryContext);
    return error;
}

extern "C" {

PGDLLEXPORT void shardid_lease_worker(Datum argument);

void shardid_lease_worker(Datum /*argument*/) {
    memcpy(&task, MyBgworkerEntry->bgw_extra, sizeof(task));
    check_form(task.form);
    pqsignal(SIGTERM, die);
    BackgroundWorkerUnblockSignals();
    BackgroundWorkerInitializeConnectionByOid(task.database, InvalidOid, BGWORKER_BYPASS_ALLOWCONN);
    pgstat_report_activity(STATE_RUNNING, "shardid lease");
    set_defaults();
    take_seats(task);
    if (task.call == 0)
        run();
    else
        run_for_caller();
    proc_exit(0);
}

}  // extern "C"

}  // namespace shardid
