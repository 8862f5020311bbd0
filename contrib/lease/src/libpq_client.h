// Sends statements to another server by libpq, and waits by PostgreSQL's latches.
#pragma once

#include "compat.h"

extern "C" {
#include "nodes/pg_list.h"
}

namespace shardid {

// Statements for a server, by a connection of their own. Memory is of the current context.
struct LibpqCall {
    const List *options;  // DefElem *; those that libpq does not know are left out
    bool needs_password;  // the server has to ask for it
    // Each returns one value, which is the parameter of the next one. The last one is null.
    const char *const *statements;
    const char *parameter;
    int64 (*left_ms)();  // until the deadline; called while it waits, and may end the process
    // The answer.
    const char *value;
    const char *error;
    bool has_failed;   // the error is a statement's
    bool is_for_good;  // and there is no such function, or no right to call it
};

// Connects, asks, disconnects, and fills in the answer. Can be canceled.
void ask_by_libpq(LibpqCall *call);

}  // namespace shardid
