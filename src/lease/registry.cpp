#include "core/count.hpp"
#include "core/wait.hpp"
#include "core/window.hpp"
#include "core/worked_widths.hpp"

#include "lease/registry.h"

#include "engine/renewal.h"
#include "lease/ping.h"

extern "C" {
#include "catalog/namespace.h"
#include "catalog/pg_database.h"
#include "catalog/pg_extension.h"
#include "catalog/pg_type.h"
#include "commands/extension.h"
#include "executor/spi.h"
#include "foreign/foreign.h"
#include "storage/ipc.h"
#include "utils/timeout.h"
}

namespace shardid {

namespace {

// dblink_connect ends no sooner for who wants to drop the database.
constexpr int connect_timeout_ms = 900;

constexpr int64 answer_timeout_ms = 5000;
constexpr int64 look_again_ms = 3;

// One statement with text parameters, and the first column of its first row; returns whether there
// is one.
bool query(const char *sql, int count, const char *const *parameters, Datum *result) {
    Oid types[2] = {TEXTOID, TEXTOID};
    Datum values[2] = {};
    for (int i = 0; i < count; ++i)
        values[i] = CStringGetTextDatum(parameters[i]);
    if (SPI_execute_with_args(sql, count, types, values, nullptr, false, 0) < 0)
        elog(ERROR, "could not run \"%s\"", sql);
    if (SPI_processed == 0)
        return false;
    bool is_null;
    *result = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &is_null);
    return !is_null;
}

// As dblink's own functions are found by no path.
const char *dblink_schema() {
    Relation extensions = table_open(ExtensionRelationId, AccessShareLock);
    ScanKeyData key;
    ScanKeyInit(&key, Anum_pg_extension_extname, BTEqualStrategyNumber, F_NAMEEQ,
                CStringGetDatum("dblink"));
    SysScanDesc scan = systable_beginscan(extensions, ExtensionNameIndexId, true, nullptr, 1, &key);
    HeapTuple row = systable_getnext(scan);
    if (!HeapTupleIsValid(row))
        elog(ERROR, "extension \"dblink\" does not exist");
    const Oid schema = reinterpret_cast<Form_pg_extension>(GETSTRUCT(row))->extnamespace;
    systable_endscan(scan);
    table_close(extensions, AccessShareLock);
    return quote_identifier(get_namespace_name(schema));
}

void connect(const char *schema, const char *connection, const char *server) {
    const char *const parameters[] = {connection, server};
    Datum ignored;
    if (!answers(server))
        ereport(ERROR, (errcode(ERRCODE_SQLCLIENT_UNABLE_TO_ESTABLISH_SQLCONNECTION),
                        errmsg("server \"%s\" does not answer", server)));
    enable_timeout_after(STATEMENT_TIMEOUT, connect_timeout_ms);
    query(psprintf("SELECT %s.dblink_connect($1, $2)", schema), 2, parameters, &ignored);
    disable_timeout(STATEMENT_TIMEOUT, false);
}

void send(const char *schema, const char *connection, const char *sql) {
    const char *const parameters[] = {connection, sql};
    Datum sent;
    if (!query(psprintf("SELECT %s.dblink_send_query($1, $2)", schema), 2, parameters, &sent) ||
        DatumGetInt32(sent) != 1)
        ereport(ERROR, (errcode(ERRCODE_CONNECTION_FAILURE),
                        errmsg("could not send a query to the registry")));
}

void wait_for_answer(const char *schema, const char *connection) {
    const char *is_busy = psprintf("SELECT %s.dblink_is_busy($1)", schema);
    const char *const parameters[] = {connection};
    instr_time start;
    INSTR_TIME_SET_CURRENT(start);
    Datum busy;
    while (query(is_busy, 1, parameters, &busy) && DatumGetInt32(busy) != 0) {
        instr_time now;
        INSTR_TIME_SET_CURRENT(now);
        INSTR_TIME_SUBTRACT(now, start);
        if (static_cast<int64>(INSTR_TIME_GET_MILLISEC(now)) > answer_timeout_ms)
            ereport(ERROR, (errcode(ERRCODE_CONNECTION_FAILURE),
                            errmsg("the registry has not answered within %d ms",
                                   static_cast<int>(answer_timeout_ms))));
        make_way_for_drop();
        nap(look_again_ms);
    }
}

// The name of one. A worker that calls again takes another: the first one's call may have failed
// anywhere.
const char *new_connection() {
    static int number = 0;
    return psprintf("shardid lease %d", ++number);
}

Datum ask_server(const char *server, const char *connection, const char *sql) {
    const char *schema = dblink_schema();
    connect(schema, connection, server);
    send(schema, connection, sql);
    wait_for_answer(schema, connection);
    const char *const parameters[] = {connection};
    Datum answer;
    if (!query(psprintf("SELECT answer FROM %s.dblink_get_result($1) AS t(answer pg_catalog.jsonb)",
                        schema),
               1, parameters, &answer))
        ereport(ERROR,
                (errcode(ERRCODE_CONNECTION_FAILURE), errmsg("the registry gave no answer")));
    return answer;
}

Datum ask_here(const char *sql) {
    Datum answer;
    if (!query(sql, 0, nullptr, &answer))
        ereport(ERROR,
                (errcode(ERRCODE_CONNECTION_FAILURE), errmsg("the registry gave no answer")));
    return answer;
}

}  // namespace

Datum call_registry(const char *server, Oid role, const char *function, Datum argument) {
    const char *json = DatumGetCString(DirectFunctionCall1(jsonb_out, argument));
    const char *sql = psprintf("SELECT shardid_lease.%s(%s::pg_catalog.jsonb)", function,
                               quote_literal_cstr(json));
    Oid self;
    int context;
    MemoryContext caller = CurrentMemoryContext;
    GetUserIdAndSecContext(&self, &context);
    SetUserIdAndSecContext(role, context | SECURITY_LOCAL_USERID_CHANGE);
    SPI_connect();
    Datum answer = server == nullptr ? ask_here(sql) : ask_server(server, new_connection(), sql);
    MemoryContext spi = MemoryContextSwitchTo(caller);
    answer = PointerGetDatum(PG_DETOAST_DATUM_COPY(answer));
    MemoryContextSwitchTo(spi);
    SPI_finish();
    SetUserIdAndSecContext(self, context);
    return answer;
}

// DROP DATABASE locks the database before it waits for others to leave it; CREATE DATABASE, with
// this one as its template, as well.
void make_way_for_drop() {
    LOCKTAG tag;
    SET_LOCKTAG_OBJECT(tag, InvalidOid, DatabaseRelationId, MyDatabaseId, 0);
    if (LockAcquire(&tag, RowExclusiveLock, true, true) == LOCKACQUIRE_NOT_AVAIL)
        proc_exit(0);
    LockRelease(&tag, RowExclusiveLock, true);
}

}  // namespace shardid
