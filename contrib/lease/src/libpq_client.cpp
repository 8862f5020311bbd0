// The only call that blocks in libpq looks up the host's name.
#include "libpq_client.h"

extern "C" {
#include <libpq-fe.h>

#include "commands/defrem.h"
#include "storage/fd.h"
#include "storage/latch.h"
}

namespace shardid {

namespace {

constexpr int64 look_again_ms = 100;

// Of the call that is under way.
PGconn *connection = nullptr;
PGresult *result = nullptr;

const char *on_one_line(const char *message) {
    char *text = pstrdup(message);
    char *end = text;
    for (const char *at = message; *at != '\0'; ++at)
        if (*at != '\n' && *at != '\t')
            *end++ = *at;
        else if (at[1] != '\0' && end != text && end[-1] != ' ')
            *end++ = ' ';
    *end = '\0';
    return text;
}

bool fail(LibpqCall *call, const char *error) {
    call->error = on_one_line(error);
    return false;
}

bool fail_late(LibpqCall *call) {
    return fail(call, PQstatus(connection) != CONNECTION_OK
                          ? "no connection within shardid_lease.registry_timeout"
                          : "no answer within shardid_lease.registry_timeout");
}

// Returns false when the deadline is over.
bool wait_for_socket(const LibpqCall *call, int event) {
    for (;;) {
        const int64 left = call->left_ms();
        if (left <= 0)
            return false;
        const int events = WaitLatchOrSocket(
            MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH | event, PQsocket(connection),
            static_cast<long>(Min(left, look_again_ms)), PG_WAIT_EXTENSION);
        if (events & WL_LATCH_SET)
            ResetLatch(MyLatch);
        CHECK_FOR_INTERRUPTS();
        if (events & event)
            return true;
    }
}

bool is_known_to_libpq(const PQconninfoOption *known, const char *name) {
    for (; known->keyword != nullptr; ++known)
        if (strcmp(known->keyword, name) == 0 && strchr(known->dispchar, 'D') == nullptr)
            return true;
    return false;
}

void begin_connecting(const LibpqCall *call) {
    const Size room = sizeof(char *) * static_cast<Size>(list_length(call->options) + 1);
    auto **names = static_cast<const char **>(palloc0(room));
    auto **values = static_cast<const char **>(palloc0(room));
    PQconninfoOption *known = PQconndefaults();
    int used = 0;
    ListCell *cell;
    foreach (cell, call->options) {
        auto *option = static_cast<DefElem *>(lfirst(cell));
        if (known == nullptr || !is_known_to_libpq(known, option->defname))
            continue;
        names[used] = option->defname;
        values[used++] = defGetString(option);
    }
    PQconninfoFree(known);
    connection = PQconnectStartParams(names, values, false);
}

bool finish_connecting(LibpqCall *call) {
    PostgresPollingStatusType status = PGRES_POLLING_WRITING;
    while (status != PGRES_POLLING_OK) {
        if (status == PGRES_POLLING_FAILED)
            return fail(call, PQerrorMessage(connection));
        if (!wait_for_socket(
                call, status == PGRES_POLLING_READING ? WL_SOCKET_READABLE : WL_SOCKET_WRITEABLE))
            return fail_late(call);
        status = PQconnectPoll(connection);
    }
    return true;
}

// What the registry says apart from its answers is nobody's business.
void ignore_notice(void * /*argument*/, const PGresult * /*notice*/) {}

// As dblink and postgres_fdw do: otherwise the server's own files, or its operating system user,
// would authenticate any role.
bool connect(LibpqCall *call) {
    begin_connecting(call);
    if (connection == nullptr)
        return fail(call, "out of memory");
    PQsetNoticeReceiver(connection, ignore_notice, nullptr);
    if (PQstatus(connection) == CONNECTION_BAD)
        return fail(call, PQerrorMessage(connection));
    if (!finish_connecting(call))
        return false;
    if (call->needs_password && !PQconnectionUsedPassword(connection))
        return fail(call,
                    "password is required: the registry did not ask for one, and the "
                    "generator's owner is no superuser");
    return PQsetnonblocking(connection, 1) == 0 || fail(call, PQerrorMessage(connection));
}

bool send(LibpqCall *call, const char *statement, const char *parameter) {
    if (PQsendQueryParams(connection, statement, 1, nullptr, &parameter, nullptr, nullptr, 0) == 0)
        return fail(call, PQerrorMessage(connection));
    int unsent;
    while ((unsent = PQflush(connection)) == 1)
        if (!wait_for_socket(call, WL_SOCKET_WRITEABLE | WL_SOCKET_READABLE))
            return fail_late(call);
        else if (PQconsumeInput(connection) == 0)
            return fail(call, PQerrorMessage(connection));
    return unsent == 0 || fail(call, PQerrorMessage(connection));
}

// As libpqsrv_get_result_last: after a result that begins COPY, or a lost connection, there is no
// last one. Else it counts, as an error of the commit comes after the rows.
bool receive(LibpqCall *call) {
    for (;;) {
        while (PQisBusy(connection)) {
            if (!wait_for_socket(call, WL_SOCKET_READABLE))
                return fail_late(call);
            if (PQconsumeInput(connection) == 0)
                return fail(call, PQerrorMessage(connection));
        }
        PGresult *next = PQgetResult(connection);
        if (next == nullptr)
            return result != nullptr || fail(call, "no result");
        PQclear(result);
        result = next;
        const ExecStatusType status = PQresultStatus(result);
        if (status == PGRES_COPY_IN || status == PGRES_COPY_OUT || status == PGRES_COPY_BOTH ||
            PQstatus(connection) == CONNECTION_BAD)
            return true;
    }
}

constexpr const char *class_of_missing_or_forbidden = "42";

bool take_value(LibpqCall *call) {
    if (PQresultStatus(result) == PGRES_TUPLES_OK && PQntuples(result) == 1 &&
        PQnfields(result) == 1 && PQgetisnull(result, 0, 0) == 0) {
        call->value = pstrdup(PQgetvalue(result, 0, 0));
        return true;
    }
    const char *primary = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    const char *detail = PQresultErrorField(result, PG_DIAG_MESSAGE_DETAIL);
    const char *sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *other = PQresultErrorMessage(result);
    call->has_failed = primary != nullptr;
    call->is_for_good =
        sqlstate != nullptr && strncmp(sqlstate, class_of_missing_or_forbidden, 2) == 0;
    if (primary == nullptr)
        return fail(call, other[0] == '\0' ? "it gave no answer" : other);
    return fail(call, detail == nullptr ? primary : psprintf("%s: %s", primary, detail));
}

bool ask(LibpqCall *call, const char *statement, const char *parameter) {
    PQclear(result);
    result = nullptr;
    return send(call, statement, parameter) && receive(call) && take_value(call);
}

void disconnect() {
    PQclear(result);
    PQfinish(connection);
    result = nullptr;
    connection = nullptr;
    ReleaseExternalFD();
}

}  // namespace

// An answer of an earlier connection could be that of another server: so none is kept.
void ask_by_libpq(LibpqCall *call) {
    Assert(connection == nullptr && result == nullptr);
    ReserveExternalFD();
    PG_TRY();
    {
        const char *parameter = call->parameter;
        const char *const *statement = call->statements;
        if (connect(call))
            while (*statement != nullptr && ask(call, *statement, parameter)) {
                parameter = call->value;
                ++statement;
            }
    }
    PG_FINALLY();
    disconnect();
    PG_END_TRY();
}

}  // namespace shardid
