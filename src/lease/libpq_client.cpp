// shardid_libpq.so: sends a statement to another server by libpq. The only call that blocks in
// libpq looks up the host's name.
#include "lease/libpq_client.h"

extern "C" {
#include <libpq-fe.h>

#include "commands/defrem.h"
#include "storage/latch.h"
}

namespace shardid {

namespace {

constexpr int64 look_again_ms = 100;

PGconn *connection = nullptr;

// Whether the last call came to its end, and whether it was warned.
bool is_idle = true;
bool is_warned = false;

void note_notice(void * /*argument*/, const PGresult *notice) {
    const char *severity = PQresultErrorField(notice, PG_DIAG_SEVERITY_NONLOCALIZED);
    is_warned |= severity == nullptr || strcmp(severity, "WARNING") == 0;
}

void disconnect() {
    PQfinish(connection);
    connection = nullptr;
}

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
    disconnect();
    return false;
}

bool fail_late(LibpqCall *call) {
    return fail(call, connection == nullptr || PQstatus(connection) != CONNECTION_OK
                          ? "no connection within shardid.registry_timeout"
                          : "no answer within shardid.registry_timeout");
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

// As dblink and postgres_fdw do: otherwise the server's own files, or its operating system user,
// would authenticate any role.
bool connect(LibpqCall *call) {
    if (is_idle && connection != nullptr && PQstatus(connection) == CONNECTION_OK)
        return true;
    disconnect();
    begin_connecting(call);
    if (connection == nullptr)
        return fail(call, "out of memory");
    PQsetNoticeReceiver(connection, note_notice, nullptr);
    if (PQstatus(connection) == CONNECTION_BAD)
        return fail(call, PQerrorMessage(connection));
    if (!finish_connecting(call))
        return false;
    if (call->needs_password && !PQconnectionUsedPassword(connection))
        return fail(call,
                    "password is required: the registry did not ask for one, and the "
                    "generator's owner is no superuser");
    return true;
}

bool send(LibpqCall *call) {
    if (PQsetnonblocking(connection, 1) != 0 ||
        PQsendQueryParams(connection, call->statement, 1, nullptr, &call->parameter, nullptr,
                          nullptr, 0) == 0)
        return fail(call, PQerrorMessage(connection));
    int unsent;
    while ((unsent = PQflush(connection)) == 1)
        if (!wait_for_socket(call, WL_SOCKET_WRITEABLE | WL_SOCKET_READABLE))
            return fail_late(call);
        else if (PQconsumeInput(connection) == 0)
            return fail(call, PQerrorMessage(connection));
    return unsent == 0 || fail(call, PQerrorMessage(connection));
}

// The last result: an error of the commit comes after the rows.
bool receive(LibpqCall *call, PGresult **result) {
    for (;;) {
        while (PQisBusy(connection)) {
            if (!wait_for_socket(call, WL_SOCKET_READABLE))
                return fail_late(call);
            if (PQconsumeInput(connection) == 0)
                return fail(call, PQerrorMessage(connection));
        }
        PGresult *next = PQgetResult(connection);
        if (next == nullptr)
            return *result != nullptr || fail(call, "no result");
        PQclear(*result);
        *result = next;
    }
}

const char *error_of(const PGresult *result) {
    const char *primary = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    const char *detail = PQresultErrorField(result, PG_DIAG_MESSAGE_DETAIL);
    if (primary == nullptr)
        return on_one_line(PQresultErrorMessage(result));
    return detail == nullptr ? pstrdup(primary) : psprintf("%s: %s", primary, detail);
}

void copy_rows(LibpqCall *call, const PGresult *result) {
    call->rows = PQntuples(result);
    call->columns = PQnfields(result);
    const int count = call->rows * call->columns;
    call->values =
        static_cast<const char **>(palloc(sizeof(char *) * static_cast<Size>(Max(count, 1))));
    for (int i = 0; i < count; ++i) {
        const int row = i / call->columns;
        const int column = i % call->columns;
        call->values[i] =
            PQgetisnull(result, row, column) ? nullptr : pstrdup(PQgetvalue(result, row, column));
    }
}

}  // namespace

extern "C" {

PG_MODULE_MAGIC;

PGDLLEXPORT void shardid_libpq_ask(LibpqCall *call);

void shardid_libpq_ask(LibpqCall *call) {
    PGresult *result = nullptr;
    call->error = nullptr;
    call->has_failed = false;
    const bool is_connected = connect(call);
    is_idle = false;
    is_warned = false;
    if (is_connected && send(call) && receive(call, &result)) {
        is_idle = true;
        call->has_failed = PQresultStatus(result) != PGRES_TUPLES_OK;
        if (call->has_failed)
            call->error = error_of(result);
        else if (is_warned)
            call->error = "it raised a warning: its commit may not have reached a standby";
        else
            copy_rows(call, result);
    }
    PQclear(result);
}

}  // extern "C"

}  // namespace shardid
