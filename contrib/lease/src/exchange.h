// A member's registry: a database behind a foreign server, by libpq.
#pragma once

#include "steps.h"

namespace shardid {

// Has the registry work on the requests, a JSON array; and asks, after its commit, what is granted:
// only that counts. Before a takeover, asks first what that displaces. Waits at most for
// shardid_lease.registry_timeout; ends the process if somebody wants to drop the database.
// REQUIRED: in the worker, outside of transactions.
Reply ask_registry(Datum address, const char *requests, bool takes_over);

// The same in a session's transaction, for at most this long. Can be canceled; raises errors of
// this server as they are.
Reply ask_registry_here(Datum address, const char *requests, int64 wait_ms);

// For PG_CATCH in the worker: ends the transaction, and returns what went wrong, in
// TopMemoryContext.
ErrorData *error_of_failed_transaction();

}  // namespace shardid
