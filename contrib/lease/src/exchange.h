// A member's registry, as the background worker reaches it: a database behind a foreign server, by
// libpq.
#pragma once

#include "libpq_client.h"

namespace shardid {

// What the registry has answered, a JSON array; or null, and why it has not, which begins by naming
// the source of the error, this server or the registry.
struct Reply {
    const char *answers;
    const char *error;
    bool is_refusal;  // of the error: a later try does not help
};

// A foreign server, reached as a role with its user mapping; or why it is not, which can be seen
// here.
struct Address {
    const List *options;
    bool needs_password;
    const char *error;
};

// REQUIRED: in the worker, in a transaction.
Address find_registry(const char *server, Oid role);

// Has the registry work on the requests, a JSON array; and asks, after its commit, what is granted:
// only that counts. Before a takeover, asks first what that displaces. Waits at most for
// shardid_lease.registry_timeout; ends the process if somebody wants to drop the database.
// REQUIRED: in the worker, outside of transactions.
Reply ask_registry(const Address &address, const char *requests, bool takes_over);

// The same in a session's transaction, for at most this long. Can be canceled; raises errors of
// this server as they are.
Reply ask_registry_here(const char *server, Oid role, const char *requests, int64 wait_ms);

// Raises what ask_registry_here raises, for what can be seen here: no such server, no right to use
// it, no user mapping, no password.
void check_server(const char *server, Oid role);

// Ends the process if somebody wants to drop the database, or to copy it.
void make_way_for_drop();

void begin_transaction();
void commit_transaction();

// For PG_CATCH: ends the transaction, and returns what went wrong, in TopMemoryContext.
ErrorData *error_of_failed_transaction();

}  // namespace shardid
