// A member's registry, as the background worker reaches it: another database behind a foreign
// server, by dblink, or this one.
#pragma once

#include "compat.h"

namespace shardid {

// Calls a function of the registry, jsonb to jsonb, as the role; a null server is this database.
// Raises an error if there is no answer. REQUIRED: in a transaction of a background worker, with
// nothing that cannot be given up: while it waits, the process ends if somebody wants to drop the
// database.
Datum call_registry(const char *server, Oid role, const char *function, Datum argument);

// Ends the process if somebody wants to drop the database, or to copy it.
void make_way_for_drop();

}  // namespace shardid
