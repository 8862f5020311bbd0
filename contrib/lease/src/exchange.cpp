#include "exchange.h"

#include "settings.h"
#include "engine/wait.h"

extern "C" {
#include "catalog/pg_database_d.h"
#include "commands/defrem.h"
#include "foreign/foreign.h"
#include "mb/pg_wchar.h"
#include "nodes/makefuncs.h"
#include "storage/ipc.h"
#include "utils/timeout.h"
}

namespace shardid {

namespace {

instr_time started;
int64 longest_ms;

int64 left_ms() {
    return longest_ms - ms_since(started);
}

int64 left_ms_of_worker() {
    make_way_for_drop();
    return left_ms();
}

const char *option_of(const List *definitions, const char *name) {
    ListCell *cell;
    foreach (cell, definitions) {
        auto *option = static_cast<DefElem *>(lfirst(cell));
        if (strcmp(option->defname, name) == 0)
            return defGetString(option);
    }
    return nullptr;
}

// Its options are those that the wrapper's validator knows for connection options.
void check_wrapper(const ForeignServer *server) {
    const char *name = GetForeignDataWrapper(server->fdwid)->fdwname;
    if (strcmp(name, "dblink_fdw") != 0 && strcmp(name, "postgres_fdw") != 0)
        ereport(ERROR,
                (errcode(ERRCODE_WRONG_OBJECT_TYPE),
                 errmsg("server \"%s\" does not lead to a PostgreSQL database", server->servername),
                 errdetail("Its foreign-data wrapper is \"%s\".", name),
                 errhint("Run CREATE SERVER ... FOREIGN DATA WRAPPER dblink_fdw.")));
}

// postgres_fdw's way to say in a user mapping that no password is needed: only a superuser can set
// it.
bool needs_password(Oid role, const UserMapping *mapping) {
    const char *required = option_of(mapping->options, "password_required");
    return !superuser_arg(role) && (required == nullptr || strcmp(required, "false") != 0);
}

DefElem *option(const char *name, const char *value) {
    return makeDefElem(pstrdup(name), reinterpret_cast<Node *>(makeString(pstrdup(value))), -1);
}

// Of two with one name libpq takes the later one.
const List *options_of(const ForeignServer *server, const UserMapping *mapping) {
    List *options = list_make1(option("fallback_application_name", "shardid_lease"));
    options = list_concat(options, GetForeignDataWrapper(server->fdwid)->options);
    options = list_concat(options, server->options);
    options = list_concat(options, mapping->options);
    return lappend(options, option("client_encoding", GetDatabaseEncodingName()));
}

Address address_of(const char *name, Oid role) {
    const ForeignServer *server = GetForeignServerByName(name, true);
    if (server == nullptr)
        ereport(ERROR,
                (errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("server \"%s\" does not exist", name),
                 errhint("Run CREATE SERVER ... FOREIGN DATA WRAPPER dblink_fdw, and CREATE USER "
                         "MAPPING.")));
    check_wrapper(server);
    if (object_aclcheck(ForeignServerRelationId, server->serverid, role, ACL_USAGE) != ACLCHECK_OK)
        ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                        errmsg("permission denied for foreign server %s", server->servername),
                        errdetail("Role \"%s\", which owns the generator, has no USAGE on it.",
                                  GetUserNameFromId(role, false)),
                        errhint("Run GRANT USAGE ON FOREIGN SERVER %s TO %s.",
                                quote_identifier(server->servername),
                                quote_identifier(GetUserNameFromId(role, false)))));
    const UserMapping *mapping = GetUserMapping(role, server->serverid);
    const bool needs = needs_password(role, mapping);
    const char *password = option_of(mapping->options, "password");
    if (needs && (password == nullptr || password[0] == '\0'))
        ereport(ERROR, (errcode(ERRCODE_S_R_E_PROHIBITED_SQL_STATEMENT_ATTEMPTED),
                        errmsg("password is required"),
                        errdetail("Role \"%s\", which owns the generator, is no superuser, and its "
                                  "user mapping for server \"%s\" has no password.",
                                  GetUserNameFromId(role, false), server->servername),
                        errhint("Run ALTER USER MAPPING ... OPTIONS (ADD password '...').")));
    return {options_of(server, mapping), needs, nullptr};
}

// The first one with the requests as its parameter; the second, after its commit, with what it
// returned. Before a takeover another one adds what that displaces.
constexpr const char *const statements[] = {
    "SELECT shardid_lease.receipts($1::pg_catalog.jsonb)",
    "SELECT shardid_lease.grant_shards($1::pg_catalog.jsonb)",
    "SELECT shardid_lease.receipts($1::pg_catalog.jsonb)", nullptr};

Reply ask(const Address &address, const char *requests, bool takes_over, int64 wait_ms,
          int64 (*left)()) {
    LibpqCall call{};
    call.options = address.options;
    call.needs_password = address.needs_password;
    call.statements = takes_over ? statements : statements + 1;
    call.parameter = requests;
    call.left_ms = left;
    INSTR_TIME_SET_CURRENT(started);
    longest_ms = Min(wait_ms, registry_timeout_ms);
    ask_by_libpq(&call);
    if (call.error == nullptr)
        return {call.value, nullptr, false};
    return {nullptr,
            psprintf(call.has_failed ? "The registry says: %s" : "Could not reach the registry: %s",
                     call.error),
            call.is_for_good};
}

const char *text_of(const ErrorData *error) {
    const char *text = error->detail == nullptr ? error->message
                                                : psprintf("%s: %s", error->message, error->detail);
    return psprintf("Cannot ask the registry: %s", text);
}

}  // namespace

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

// By a subtransaction, so that an error undoes nothing that the transaction has stored.
Address find_registry(const char *server, Oid role) {
    auto *found = static_cast<Address *>(palloc0(sizeof(Address)));
    ResourceOwner owner = CurrentResourceOwner;
    BeginInternalSubTransaction(nullptr);
    MemoryContextSwitchTo(TopMemoryContext);
    PG_TRY();
    {
        *found = address_of(server, role);
        ReleaseCurrentSubTransaction();
    }
    PG_CATCH();
    {
        MemoryContextSwitchTo(TopMemoryContext);
        found->error = text_of(CopyErrorData());
        FlushErrorState();
        RollbackAndReleaseCurrentSubTransaction();
    }
    PG_END_TRY();
    MemoryContextSwitchTo(TopMemoryContext);
    CurrentResourceOwner = owner;
    return *found;
}

Reply ask_registry(const Address &address, const char *requests, bool takes_over) {
    auto *reply = static_cast<Reply *>(palloc0(sizeof(Reply)));
    if (address.error != nullptr)
        return {nullptr, address.error, true};
    PG_TRY();
    *reply = ask(address, requests, takes_over, registry_timeout_ms, left_ms_of_worker);
    PG_CATCH();
    *reply = {nullptr, text_of(error_of_failed_transaction()), true};
    PG_END_TRY();
    return *reply;
}

Reply ask_registry_here(const char *server, Oid role, const char *requests, int64 wait_ms) {
    return ask(address_of(server, role), requests, false, wait_ms, left_ms);
}

void check_server(const char *server, Oid role) {
    address_of(server, role);
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
