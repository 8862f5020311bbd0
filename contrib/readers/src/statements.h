// The statements that are being executed in this session, one within another: with which snapshots
// they read, and whether they fetch all rows that a function within them returns.
#pragma once

#include "compat.h"

namespace shardid {

[[noreturn]] inline void refuse(const char *message, const char *detail, const char *hint,
                                int code = ERRCODE_FEATURE_NOT_SUPPORTED) {
    ereport(ERROR,
            (errcode(code), errmsg("%s", message), errdetail("%s", detail), errhint("%s", hint)));
}

// Lets each statement that begins from now on be known.
void start_following_statements();

// The oldest snapshot with which a statement reads; nullptr if it sees what is visible now. If one
// had begun before start_following_statements, one that sees no more, and perhaps less: in `space`.
Snapshot oldest_snapshot(SnapshotData &space);

// Whether the statement can call the function again for a row that is updated meanwhile. If none is
// given: any that is not the server's own, unless it also calls such a one once.
bool repeats(PlanState *plan, Oid function);

// Raises 0A000 if one of the statements can end before it has fetched `rows` rows of a function
// that returns a set, or repeats a call. The innermost statement is checked for `function`, those
// around it for any that is not the server's.
void check_fetches_all(Oid function, int64 rows);

}  // namespace shardid
