// Brings requests to a registry, and its answers back: a value of text each way, that only the
// script builds and reads. The only call that blocks in libpq looks up the host's name.
#include "start_worker.h"

#include "engine/arguments.h"
#include "engine/wait.h"

extern "C" {
#include <libpq-fe.h>

#include "catalog/pg_database_d.h"
#include "storage/fd.h"
#include "storage/ipc.h"
#include "storage/latch.h"
}

namespace shardid {

namespace {

constexpr int64 interrupt_poll_ms = 100;

// What the registry is asked, one statement after the other: each returns one value, which is $1 of
// the next one; $2 are the requests. The first two are a transaction of their own: only what is
// committed is granted. Before a takeover, the first one returns what that displaces.
constexpr const char *const statements[] = {
    "SELECT shardid_lease.receipts($1::shardid_lease.grant_1[], $2::shardid_lease.request_1[])",
    "SELECT shardid_lease.grant_shards($2::shardid_lease.request_1[], $1::shardid_lease.grant_1[])",
    "SELECT shardid_lease.receipts($1::shardid_lease.grant_1[])"};

// What is under way.
PGconn *connection = nullptr;
PGresult *result = nullptr;
instr_time started;
int64 longest_ms;
bool is_worker;  // for leases

const char *values[2];  // that the next statement has as its parameters

// Why there is no answer; null: there is one.
const char *fault;
bool has_failed;   // it is a statement's
bool is_for_good;  // and there is no such function, or no right to call it

bool fail(const char *error) {
    fault = pstrdup(error);
    return false;
}

bool fail_by_libpq() {
    return fail(PQerrorMessage(connection));
}

bool fail_late() {
    return fail(PQstatus(connection) != CONNECTION_OK
                    ? "no connection within shardid_lease.registry_timeout"
                    : "no answer within shardid_lease.registry_timeout");
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

// Returns false when the deadline is over.
bool wait_for_socket(int event) {
    for (;;) {
        if (is_worker)
            make_way_for_drop();
        const int64 left = longest_ms - ms_since(started);
        if (left <= 0)
            return false;
        const int events = WaitLatchOrSocket(
            MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH | event, PQsocket(connection),
            static_cast<long>(Min(left, interrupt_poll_ms)), PG_WAIT_EXTENSION);
        if (events & WL_LATCH_SET)
            ResetLatch(MyLatch);
        CHECK_FOR_INTERRUPTS();
        if (events & event)
            return true;
    }
}

bool finish_connecting() {
    PostgresPollingStatusType status = PGRES_POLLING_WRITING;
    while (status != PGRES_POLLING_OK) {
        if (status == PGRES_POLLING_FAILED)
            return fail_by_libpq();
        if (!wait_for_socket(status == PGRES_POLLING_READING ? WL_SOCKET_READABLE
                                                             : WL_SOCKET_WRITEABLE))
            return fail_late();
        status = PQconnectPoll(connection);
    }
    return true;
}

// What the registry says apart from its answers is nobody's business.
void ignore_notice(void * /*argument*/, const PGresult * /*notice*/) {}

// As dblink and postgres_fdw do: otherwise the server's own files, or its operating system user,
// would authenticate any role.
bool connect(const char *conninfo, bool needs_password) {
    connection = PQconnectStart(conninfo);
    if (connection == nullptr)
        return fail("out of memory");
    PQsetNoticeReceiver(connection, ignore_notice, nullptr);
    if (PQstatus(connection) == CONNECTION_BAD)
        return fail_by_libpq();
    if (!finish_connecting())
        return false;
    if (needs_password && !PQconnectionUsedPassword(connection))
        return fail(
            "password is required: the registry did not ask for one, and the generator's "
            "owner is no superuser");
    return PQsetnonblocking(connection, 1) == 0 || fail_by_libpq();
}

bool send(const char *statement) {
    if (PQsendQueryParams(connection, statement, strstr(statement, "$2") == nullptr ? 1 : 2,
                          nullptr, values, nullptr, nullptr, 0) == 0)
        return fail_by_libpq();
    int unsent;
    while ((unsent = PQflush(connection)) == 1)
        if (!wait_for_socket(WL_SOCKET_WRITEABLE | WL_SOCKET_READABLE))
            return fail_late();
        else if (PQconsumeInput(connection) == 0)
            return fail_by_libpq();
    return unsent == 0 || fail_by_libpq();
}

// As libpqsrv_get_result_last: after a result that begins COPY, or a lost connection, there is no
// last one. Else it counts, as an error of the commit comes after the rows.
bool receive() {
    for (;;) {
        while (PQisBusy(connection)) {
            if (!wait_for_socket(WL_SOCKET_READABLE))
                return fail_late();
            if (PQconsumeInput(connection) == 0)
                return fail_by_libpq();
        }
        PGresult *next = PQgetResult(connection);
        if (next == nullptr)
            return result != nullptr || fail("no result");
        PQclear(result);
        result = next;
        const ExecStatusType status = PQresultStatus(result);
        if (status == PGRES_COPY_IN || status == PGRES_COPY_OUT || status == PGRES_COPY_BOTH ||
            PQstatus(connection) == CONNECTION_BAD)
            return true;
    }
}

bool take_value() {
    if (PQresultStatus(result) == PGRES_TUPLES_OK && PQntuples(result) == 1 &&
        PQnfields(result) == 1 && PQgetisnull(result, 0, 0) == 0) {
        values[0] = pstrdup(PQgetvalue(result, 0, 0));
        return true;
    }
    const char *primary = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    const char *detail = PQresultErrorField(result, PG_DIAG_MESSAGE_DETAIL);
    const char *sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *other = PQresultErrorMessage(result);
    has_failed = primary != nullptr;
    is_for_good = sqlstate != nullptr && strncmp(sqlstate, "42", 2) == 0;
    if (primary == nullptr)
        return fail(other[0] == '\0' ? "it gave no answer" : other);
    return fail(detail == nullptr ? primary : psprintf("%s: %s", primary, detail));
}

bool ask(const char *statement) {
    PQclear(result);
    result = nullptr;
    return send(statement) && receive() && take_value();
}

void disconnect() {
    PQclear(result);
    PQfinish(connection);
    result = nullptr;
    connection = nullptr;
    ReleaseExternalFD();
}

}  // namespace

extern "C" {

// An answer of an earlier connection could be that of another server: so none is kept.
PG_FUNCTION_INFO_V1(shardid_exchange);
Datum shardid_exchange(PG_FUNCTION_ARGS) {
    Assert(connection == nullptr && result == nullptr);
    started = this_moment();
    is_worker = PG_GETARG_INT32(4) == 0;
    longest_ms = is_worker ? registry_timeout_ms : Min(PG_GETARG_INT32(4), registry_timeout_ms);
    values[0] = nullptr;
    values[1] = text_to_cstring(PG_GETARG_TEXT_PP(2));
    fault = nullptr;
    has_failed = is_for_good = false;
    ReserveExternalFD();
    PG_TRY();
    if (connect(text_to_cstring(PG_GETARG_TEXT_PP(0)), PG_GETARG_BOOL(1)))
        for (size_t next = PG_GETARG_BOOL(3) ? 0 : 1; next < lengthof(statements); ++next)
            if (!ask(statements[next]))
                break;
    PG_FINALLY();
    disconnect();
    PG_END_TRY();
    const char *error = fault == nullptr ? nullptr
                                         : psprintf(has_failed ? "The registry says: %s"
                                                               : "Could not reach the registry: %s",
                                                    fault);
    ResultRow row;
    row.add(fault == nullptr ? CStringGetTextDatum(values[0]) : Datum{0}, fault != nullptr);
    row.add(error == nullptr ? Datum{0} : CStringGetTextDatum(error), error == nullptr);
    row.add(BoolGetDatum(is_for_good));
    return make_row(fcinfo, row);
}

// For the script: whether a foreign server's or a user mapping's option is one of libpq's.
PG_FUNCTION_INFO_V1(shardid_is_connection_option);
Datum shardid_is_connection_option(PG_FUNCTION_ARGS) {
    const char *name = text_to_cstring(PG_GETARG_TEXT_PP(0));
    PQconninfoOption *known = PQconndefaults();
    bool is_known = false;
    for (const PQconninfoOption *at = known; at != nullptr && at->keyword != nullptr; ++at)
        is_known |= strcmp(at->keyword, name) == 0 && strchr(at->dispchar, 'D') == nullptr;
    PQconninfoFree(known);
    PG_RETURN_BOOL(is_known);
}

}  // extern "C"

}  // namespace shardid
