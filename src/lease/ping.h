// Whether a PostgreSQL server answers at all.
#pragma once

#include "compat.h"

namespace shardid {

// Asks the foreign server's host whether it speaks TLS, which every PostgreSQL answers with a
// letter before it wants to know who asks. dblink of PostgreSQL 15 waits for ever, and cannot be
// cancelled, when a server accepts connections and says nothing. A server whose host is not one
// plain name or address counts as answering. Can be cancelled; makes way for who drops the
// database.
bool answers(const char *server);

}  // namespace shardid
