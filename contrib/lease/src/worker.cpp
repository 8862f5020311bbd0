// The background worker that renews leases, for all generators of the database that share a
// registry and a role, in one round trip; or joins, takes over or releases one for a session that
// waits (start_worker.h). It does this once, and ends.
#include "engine/sequence.h"
#include "settings.h"
#include "steps.h"

extern "C" {
#include "mb/pg_wchar.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/procarray.h"
#include "tcop/tcopprot.h"
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

// Not inside a character.
template <int room>
void copy(char (&to)[room], const char *from) {
    const char *text = from == nullptr ? "" : from;
    const int length = pg_mbcliplen(text, static_cast<int>(strlen(text)), room - 1);
    strlcpy(to, text, static_cast<Size>(length) + 1);
}

// For the session that waits: the outcome, in addition to the worker's end.
void tell(int level, int sqlstate, const char *message, const char *detail, const char *hint) {
    call->level = level;
    call->sqlstate = sqlstate;
    copy(call->message, message);
    copy(call->detail, detail);
    copy(call->hint, hint);
}

void tell_error(const ErrorData *error) {
    if (error->sqlerrcode == ERRCODE_LOCK_NOT_AVAILABLE)
        tell(
            ERROR, error->sqlerrcode,
            psprintf("could not wait for a lock on the sequence within %d ms", registry_timeout_ms),
            nullptr, "Call it again when that has ended; pg_locks shows what it waits for.");
    else
        tell(ERROR, error->sqlerrcode, error->message, error->detail, error->hint);
}

// What came of a job, as told() of the script has put it.
void tell_outcome(Datum job) {
    const char *level = field(job, "level");
    const char *granted = field(job, "granted");
    if (granted != nullptr)
        call->granted = pg_strtoint32(granted);
    if (level == nullptr)
        return;
    const char *code = field(job, "sqlstate");
    tell(strcmp(level, "ERROR") == 0     ? ERROR
         : strcmp(level, "WARNING") == 0 ? WARNING
                                         : NOTICE,
         MAKE_SQLSTATE(code[0], code[1], code[2], code[3], code[4]), field(job, "message"),
         field(job, "detail"), field(job, "hint"));
}

// Returns 0 if the generator is of another group by now: then this is another worker's work.
Datum first_step() {
    require_lease_tables();
    if (call != nullptr)
        check_owner(task.generator, task.caller);
    LeasedRow row{};
    const bool is_known = read_leased_row(task.generator, &row);
    const char *server = task.kind == TaskKind::join ? call->server : row.server;
    if (server != nullptr) {
        const LeaseGroup group = group_of(server, owner_of_sequence(task.generator));
        if (group.role != task.group.role || group.server != task.group.server)
            return Datum{0};
    }
    return step("member_step", job_of(task, call, is_known ? &row : nullptr), {});
}

Datum job;         // 0: there is nothing to do
Address registry;  // that the job wants to be asked

// A step is a transaction of its own.
void do_step(const Reply *reply) {
    begin_transaction();
    job = reply == nullptr ? first_step() : step("member_step", job, *reply);
    if (job != Datum{0} && field(job, "requests") != nullptr)
        registry = find_registry(field(job, "ask"), task.group.role);
    commit_transaction();
}

// Returns false if there is nothing to do.
bool run() {
    do_step(nullptr);
    if (job == Datum{0})
        return false;
    while (const char *requests = field(job, "requests")) {
        Reply reply{};
        if (strcmp(requests, "[]") != 0)
            reply = ask_registry(registry, requests, task.kind == TaskKind::take_over);
        do_step(&reply);
    }
    if (call != nullptr)
        tell_outcome(job);
    return true;
}

void run_for_caller() {
    dsm_segment *segment = dsm_attach(task.call);
    if (segment == nullptr)  // the session has given up
        return;
    dsm_pin_mapping(segment);
    call = static_cast<WorkerCall *>(dsm_segment_address(segment));
    bool is_done = true;
    PG_TRY();
    is_done = run();
    PG_CATCH();
    tell_error(error_of_failed_transaction());
    PG_END_TRY();
    call->is_done = is_done;
}

// The session that has started this worker waits for that.
void tell_begun() {
    PGPROC *session = BackendPidGetProc(MyBgworkerEntry->bgw_notify_pid);
    if (session != nullptr)
        SetLatch(&session->procLatch);
}

// The session has reserved them; but it may have called the worker off.
bool take_own_seats() {
    const bool has_all = take_seats(task);
    tell_begun();
    return has_all;
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
    if (!take_own_seats())
        proc_exit(0);
    set_defaults();
    if (task.kind == TaskKind::renew)
        run();
    else
        run_for_caller();
    proc_exit(0);
}

}  // extern "C"

}  // namespace shardid
