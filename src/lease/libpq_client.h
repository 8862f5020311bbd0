// What shardid_libpq.so, which only the background worker loads, offers: so that no session's
// process links libpq. Plain C in both directions; it waits by PostgreSQL's latches.
#pragma once

#include "compat.h"

extern "C" {
#include "nodes/pg_list.h"
}

namespace shardid {

// A statement for a server. Memory is of the current context.
struct LibpqCall {
    const List *options;  // DefElem *; those that libpq does not know are left out
    bool needs_password;  // the server has to ask for it
    const char *statement;
    const char *parameter;
    int64 (*left_ms)();  // until the deadline; called while it waits, and may end the process
    // The answer.
    int rows;
    int columns;
    const char **values;
    bool has_failed;  // the error is the statement's
    const char *error;
};

// Connects, unless the last call has and succeeded, asks, and fills in the answer.
using LibpqAsk = void (*)(LibpqCall *call);

inline constexpr const char *libpq_library = "shardid_libpq";
inline constexpr const char *libpq_function = "shardid_libpq_ask";

}  // namespace shardid
