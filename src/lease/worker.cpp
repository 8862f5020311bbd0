// The background worker that renews leases, or gives one back: for all generators of the database
// that share a registry and a role, in one round trip. A session starts it (engine/renewal.h); it
// does this once, and ends.
#include "core/count.hpp"
#include "core/wait.hpp"
#include "core/window.hpp"
#include "core/worked_widths.hpp"

#include "lease/membership.h"
#include "lease/registry.h"

#include "engine/lease.h"
#include "engine/renewal.h"

extern "C" {
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "postmaster/bgworker.h"
#include "storage/ipc.h"
#include "tcop/tcopprot.h"
#include "utils/jsonb.h"
#include "utils/pg_lsn.h"
#include "utils/timeout.h"
}

namespace shardid {

namespace {

WorkerTask task_of_this_worker() {
    WorkerTask task;
    memcpy(&task, MyBgworkerEntry->bgw_extra, sizeof(task));
    return task;
}

// A session that waits for the worker can have rows locked that the worker wants, and no deadlock
// shows: it leased the shard in this very transaction, and now gives it back.
constexpr const char *lock_timeout_ms = "2000";

// What the database, or the role, may have set differently. A promoted standby is another
// incarnation, so it does not matter which rows it has, and no standby is waited for.
void set_defaults() {
    const struct {
        const char *name;
        const char *value;
    } settings[] = {{"search_path", "pg_catalog, pg_temp"},
                    {"default_transaction_read_only", "off"},
                    {"default_transaction_isolation", "read committed"},
                    {"synchronous_commit", "local"},
                    {"statement_timeout", "0"},
                    {"lock_timeout", lock_timeout_ms},
                    {"idle_in_transaction_session_timeout", "0"},
                    {longest_transaction_setting, "0"},
                    {"role", "none"}};
    for (const auto &setting : settings)
        SetConfigOption(setting.name, setting.value, PGC_SUSET, PGC_S_OVERRIDE);
}

void begin() {
    SetCurrentStatementStartTimestamp();
    StartTransactionCommand();
    PushActiveSnapshot(GetTransactionSnapshot());
}

void commit() {
    PopActiveSnapshot();
    CommitTransactionCommand();
}

// What a function of the extension returns, in TopMemoryContext; null if it is NULL. In a
// transaction of its own.
Datum call(const char *sql, int count, Oid *types, Datum *values, const char *nulls) {
    begin();
    SPI_connect();
    if (SPI_execute_with_args(sql, count, types, values, nulls, false, 1) != SPI_OK_SELECT)
        elog(ERROR, "could not run \"%s\"", sql);
    bool is_null = true;
    Datum result = SPI_processed == 0
                       ? Datum{0}
                       : SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &is_null);
    if (!is_null) {
        MemoryContext context = MemoryContextSwitchTo(TopMemoryContext);
        result = PointerGetDatum(PG_DETOAST_DATUM_COPY(result));
        MemoryContextSwitchTo(context);
    }
    SPI_finish();
    commit();
    return is_null ? Datum{0} : result;
}

// In TopMemoryContext; the transaction is over, whatever has happened.
struct Answer {
    Datum json;   // 0 if there is none
    char *error;  // else this
};

// For PG_CATCH: ends the transaction, and returns what went wrong, in TopMemoryContext.
char *error_of_failed_transaction() {
    MemoryContextSwitchTo(TopMemoryContext);
    const ErrorData *error = CopyErrorData();
    FlushErrorState();
    disable_all_timeouts(false);
    QueryCancelPending = false;
    AbortCurrentTransaction();
    MemoryContextSwitchTo(TopMemoryContext);
    return error->detail == nullptr ? error->message
                                    : psprintf("%s: %s", error->message, error->detail);
}

Answer ask(const LeasedRow &row, const char *function, Datum argument) {
    Answer answer{0, nullptr};
    begin();
    PG_TRY();
    {
        const Datum json = call_registry(row.server, row.role, function, argument);
        MemoryContext context = MemoryContextSwitchTo(TopMemoryContext);
        answer.json = PointerGetDatum(PG_DETOAST_DATUM_COPY(json));
        MemoryContextSwitchTo(context);
        commit();
    }
    PG_CATCH();
    { answer.error = error_of_failed_transaction(); }
    PG_END_TRY();
    return answer;
}

Datum requests_for(const WorkerTask &task) {
    Oid types[] = {REGCLASSOID, TEXTOID, LSNOID, INT8OID};
    Datum values[] = {ObjectIdGetDatum(task.generator), CStringGetTextDatum(task.family.text),
                      LSNGetDatum(task.moved_at), Int64GetDatum(static_cast<int64>(task.tick))};
    const bool of_session = task.family.text[0] != '\0';
    return call("SELECT shardid_lease.requests_of($1, $2, $3, $4)", lengthof(types), types, values,
                of_session ? "    " : " nnn");
}

Datum refusals_of(Datum requests, const char *error) {
    Oid types[] = {JSONBOID, TEXTOID};
    Datum values[] = {requests, CStringGetTextDatum(error)};
    return call(
        "SELECT pg_catalog.jsonb_agg(shardid_lease.refusal(r, $2))"
        " FROM pg_catalog.jsonb_array_elements($1) r",
        lengthof(types), types, values, "  ");
}

void note(Datum requests, Datum answers) {
    Oid types[] = {JSONBOID, JSONBOID};
    Datum values[] = {requests, answers};
    const Datum message =
        call("SELECT shardid_lease.note_answers($1, $2)", lengthof(types), types, values, "  ");
    if (message != 0)
        ereport(LOG,
                (errmsg("could not renew a lease"), errdetail("%s", TextDatumGetCString(message)),
                 errhint("See shardid_lease.shard_leases.")));
}

// A registry that answers what it should not is one that fails.
void note_anything(Datum requests, Datum answers) {
    char *volatile error = nullptr;
    PG_TRY();
    { note(requests, answers); }
    PG_CATCH();
    { error = error_of_failed_transaction(); }
    PG_END_TRY();
    if (error != nullptr)
        note(requests, refusals_of(requests, error));
}

void renew(const WorkerTask &task, const LeasedRow &row) {
    const Datum requests = requests_for(task);
    if (requests == 0)
        return;
    const Answer answer = ask(row, "grant_shards", requests);
    if (answer.error == nullptr)
        note_anything(requests, answer.json);
    else
        note(requests, refusals_of(requests, answer.error));
}

void set_state(const WorkerTask &task, LeasedRow row, char *state) {
    begin();
    row.state = state;
    write_leased_row(lease_tables(), task.generator, row);
    commit();
}

// With its window: once the registry knows, others draw in what is left of that, and the generator
// may get the shard back. Whose it was stays noted, for who has to tell the registry again.
void seal(const WorkerTask &task, LeasedRow row) {
    char sealed[] = "sealed";
    Oid types[] = {REGCLASSOID};
    Datum values[] = {ObjectIdGetDatum(task.generator)};
    begin();
    row.state = sealed;
    write_leased_row(lease_tables(), task.generator, row);
    SPI_connect();
    if (SPI_execute_with_args("UPDATE shardid_lease.lease_window SET from_ms = 0, until_ms = 0"
                              " WHERE generator OPERATOR(pg_catalog.=) $1",
                              lengthof(types), types, values, nullptr, false, 0) != SPI_OK_UPDATE)
        elog(ERROR, "could not end a window");
    SPI_finish();
    commit();
}

Datum request_to_return(const WorkerTask &task) {
    Oid types[] = {REGCLASSOID};
    Datum values[] = {ObjectIdGetDatum(task.generator)};
    return call("SELECT shardid_lease.return_request($1)", lengthof(types), types, values, " ");
}

bool is_refused(Answer answer) {
    Oid types[] = {JSONBOID};
    Datum values[] = {answer.json};
    return answer.json != 0 &&
           call("SELECT $1 WHERE NOT $1 OPERATOR(pg_catalog.@>) '{\"ok\": true}'::pg_catalog.jsonb",
                lengthof(types), types, values, " ") != 0;
}

// As an array of one, which is what the registry is asked by.
Datum list_of(Datum request) {
    Oid types[] = {JSONBOID};
    Datum values[] = {request};
    return call("SELECT pg_catalog.jsonb_build_array($1)", lengthof(types), types, values, " ");
}

// The registry takes a shard back from the incarnation that it knows as the holder: from another
// one of the same generator once it is granted a window, which nobody draws in.
Answer give_back(const LeasedRow &row, Datum request) {
    const Answer answer = ask(row, "return_shard", request);
    if (!is_refused(answer))
        return answer;
    const Answer granted = ask(row, "grant_shards", list_of(request));
    return granted.error != nullptr ? granted : ask(row, "return_shard", request);
}

// The generator is sealed before the registry knows that its shard is free. A message that is lost
// leaves the shard with who had it, until it expires.
void release(const WorkerTask &task, const LeasedRow &row) {
    char released[] = "released";
    if (strcmp(row.state, "leased") == 0)
        renew(task, row);
    const Datum request = request_to_return(task);
    seal(task, row);
    const Answer answer = request == 0 ? Answer{0, nullptr} : give_back(row, request);
    if (answer.error == nullptr)
        set_state(task, row, released);
    else
        ereport(LOG, (errmsg("could not tell the registry that shard %d is released", row.shard),
                      errdetail("%s", answer.error)));
}

bool read_row(const WorkerTask &task, LeasedRow *row) {
    begin();
    MemoryContext context = MemoryContextSwitchTo(TopMemoryContext);
    const bool found = read_leased_row(lease_tables().generators, task.generator, row);
    MemoryContextSwitchTo(context);
    commit();
    return found;
}

// Who renews finds that another worker does already, and ends.
bool lock(const WorkerTask &task, const LeasedRow &row) {
    const LOCKTAG tag = worker_lock(group_of(row.server, row.role));
    const bool waits = task.kind == WorkerTask::Kind::release;
    return LockAcquire(&tag, ExclusiveLock, true, !waits) != LOCKACQUIRE_NOT_AVAIL;
}

}  // namespace

extern "C" {

PGDLLEXPORT void shardid_lease_worker(Datum argument);

void shardid_lease_worker(Datum /*argument*/) {
    const WorkerTask task = task_of_this_worker();
    pqsignal(SIGTERM, die);
    BackgroundWorkerUnblockSignals();
    // Seconds, the least that libpq takes: dblink of PostgreSQL 15 hears of nothing while it
    // connects, be it that the server stops or that the database is to be dropped.
    setenv("PGCONNECT_TIMEOUT", "2", 1);
    BackgroundWorkerInitializeConnectionByOid(task.database, InvalidOid, BGWORKER_BYPASS_ALLOWCONN);
    set_defaults();
    pgstat_report_activity(STATE_RUNNING, "shardid lease");

    LeasedRow row;
    if (!read_row(task, &row) || !lock(task, row))
        proc_exit(0);
    if (task.kind == WorkerTask::Kind::release)
        release(task, row);
    else
        renew(task, row);
    proc_exit(0);
}

}  // extern "C"

}  // namespace shardid
