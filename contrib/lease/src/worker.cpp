// The background worker that renews leases, for all generators of the database that share a
// registry and a role, in one round trip; or joins, takes over or releases one for a session that
// waits (start_worker.h). It does this once, and ends.
#include "engine/sequence.h"
#include "start_worker.h"
#include "known_lease.h"

extern "C" {
#include "catalog/pg_type_d.h"
#include "mb/pg_wchar.h"
#include "storage/ipc.h"
#include "tcop/tcopprot.h"
#include "utils/array.h"
#include "utils/pg_lsn.h"
}

namespace shardid {

namespace {

WorkerTask task;
WorkerCall renewal = call_for("renew");
WorkerCall *call = &renewal;  // or that of a session that waits

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
                    {"lock_timeout", psprintf("%d", registry_timeout_ms)},
                    {longest_transaction_setting, "0"},
                    {"role", "none"}};
    for (const auto &setting : settings)
        SetConfigOption(setting.name, setting.value, PGC_SUSET, PGC_S_OVERRIDE);
}

// No character is cut.
void copy(char *to, int size, const char *text) {
    const char *from = text == nullptr ? "" : text;
    strlcpy(to, from,
            static_cast<size_t>(pg_mbcliplen(from, static_cast<int>(strlen(from)), size - 1)) + 1);
}

void tell(int level, int sqlstate, const char *text, const char *detail, const char *hint) {
    Message &message = call->message;
    message.level = level;
    message.sqlstate = sqlstate;
    copy(message.text, sizeof(message.text), text);
    copy(message.detail, sizeof(message.detail), detail);
    copy(message.hint, sizeof(message.hint), hint);
}

void tell_notice(const Row &notice) {
    const bool is_warning = notice.integer("is_warning", 0) != 0;
    tell(is_warning ? WARNING : NOTICE,
         is_warning ? ERRCODE_CANNOT_CONNECT_NOW : ERRCODE_SUCCESSFUL_COMPLETION,
         notice.string("message"), notice.string("detail"), notice.string("hint"));
}

// Whether the generator is still of this worker's group: else this is another one's work.
bool is_own_work() {
    if (OidIsValid(call->caller))
        check_owner(task.generator, call->caller);
    const char *server = call->server;
    const KnownLease known = read_lease(task.generator);
    if (server[0] == '\0' && known.is_there)
        server = known.server;
    const LeaseGroup group = group_of(server, owner_of_sequence(task.generator));
    return server[0] == '\0' ||
           (group.role == task.group.role && group.server == task.group.server);
}

NullableDatum others() {
    if (call->others == 0)
        return no_value;
    Datum generators[most_generators];
    for (int i = 0; i < call->others; ++i)
        generators[i] = ObjectIdGetDatum(call->generators[i]);
    return {PointerGetDatum(
                construct_array(generators, call->others, OIDOID, sizeof(Oid), true, TYPALIGN_INT)),
            false};
}

// Returns false if there is nothing to do.
bool run() {
    SetCurrentStatementStartTimestamp();
    StartTransactionCommand();
    // The worker ends soon: the memory that it uses need not be freed.
    MemoryContextSwitchTo(TopMemoryContext);
    if (!is_own_work())
        return false;
    const Row done{call_procedure("work", {text_or_null(call->kind),
                                           {ObjectIdGetDatum(task.generator), false},
                                           text_or_null(shown_name(task.generator)),
                                           {ObjectIdGetDatum(task.group.role), false},
                                           text_or_null(task.family.text),
                                           {LSNGetDatum(task.moved_at), false},
                                           {Int64GetDatum(static_cast<int64>(task.tick)), false},
                                           text_or_null(call->space),
                                           text_or_null(call->server),
                                           {Int32GetDatum(call->shard), call->shard < 0},
                                           others(),
                                           no_value,
                                           no_value})};
    const NullableDatum notice = done["notice"];
    call->granted = done.integer("granted", 0);
    if (!notice.isnull)
        tell_notice(Row{notice.value});
    CommitTransactionCommand();
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
    MemoryContextSwitchTo(TopMemoryContext);
    const ErrorData *error = CopyErrorData();
    FlushErrorState();
    AbortCurrentTransaction();
    tell(ERROR, error->sqlerrcode, error->message, error->detail, error->hint);
    PG_END_TRY();
    pg_write_barrier();
    call->is_done = is_done;
}

}  // namespace

extern "C" {

PGDLLEXPORT void shardid_lease_worker(Datum argument);

void shardid_lease_worker(Datum /*argument*/) {
    memcpy(&task, MyBgworkerEntry->bgw_extra, sizeof(task));
    if (task.abi_version != worker_abi_version)
        ereport(ERROR,
                (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                 errmsg("a session has another build of library \"shardid_lease\" than its worker"),
                 errdetail("The session's ABI version is %x, and that of the worker is %x.",
                           task.abi_version, worker_abi_version),
                 errhint("End sessions that were begun before the library was replaced.")));
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
