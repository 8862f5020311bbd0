// A member's registry, as the background worker reaches it: a database behind a foreign server, by
// libpq.
#pragma once

#include "lease/libpq_client.h"

namespace shardid {

// What a statement returned, as text; or why it returned nothing, which begins by naming the source
// of the error, this server or the registry.
struct Reply {
    int rows;
    int columns;
    const char *const *values;  // row by row; null: NULL
    const char *error;          // null if there is none
    bool is_refusal;            // the registry's statement has failed
};

// Has the registry that is behind the foreign server, reached as the role with its user mapping,
// work on the requests, a JSON array; and asks, after its commit, what is granted: only that
// counts. Waits at most until the deadline; ends the process if somebody wants to drop the
// database. In a transaction of its own. REQUIRED: in the worker, outside of transactions.
Reply ask_registry(const char *server, Oid role, const char *requests);

// The deadline of all that the worker asks is shardid.registry_timeout from now.
void start_deadline();

// Raises what ask_registry would return, for what can be seen here: no such server, no right to use
// it, no user mapping, no password.
void check_server(const char *server, Oid role);

// Ends the process if somebody wants to drop the database, or to copy it.
void make_way_for_drop();

void begin_transaction();
void commit_transaction();

// For PG_CATCH: ends the transaction, and returns what went wrong, in TopMemoryContext.
ErrorData *error_of_failed_transaction();

}  // namespace shardid
