#include "statements.h"

extern "C" {
#include "access/transam.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "tcop/pquery.h"
}

namespace shardid {

namespace {

struct Statement {
    QueryDesc *query;
    uint64 count;  // how many rows it fetches now; 0: all
    Statement *around;
};

Statement *innermost;

// The transaction in which a statement may be around the outermost one that is known.
LocalTransactionId unknown_in = InvalidLocalTransactionId;

ExecutorRun_hook_type run_before;
ExecutorFinish_hook_type finish_before;

// `more` differs between versions.
template <typename... More>
void run(QueryDesc *query, ScanDirection direction, uint64 count, More... more) {
    Statement statement{query, count, innermost};
    innermost = &statement;
    PG_TRY();
    {
        (run_before != nullptr ? run_before : standard_ExecutorRun)(query, direction, count,
                                                                    more...);
    }
    PG_FINALLY();
    { innermost = statement.around; }
    PG_END_TRY();
}

// What WITH writes and nothing reads is executed here.
void finish(QueryDesc *query) {
    Statement statement{query, 0, innermost};
    innermost = &statement;
    PG_TRY();
    { (finish_before != nullptr ? finish_before : standard_ExecutorFinish)(query); }
    PG_FINALLY();
    { innermost = statement.around; }
    PG_END_TRY();
}

// The function, or if that is not valid, any that is not the server's own.
bool is_set_of(Oid function, void *context) {
    const Oid wanted = *static_cast<Oid *>(context);
    return OidIsValid(wanted) ? function == wanted
                              : function >= FirstNormalObjectId && get_func_retset(function);
}

bool calls(Node *node, void *context) {
    return node != nullptr && (check_functions_in_node(node, is_set_of, context) ||
                               expression_tree_walker(node, as_tree_walker(calls), context));
}

// Whether a node returns what the function returns. What is written in between is written whole.
bool returns_rows_of(PlanState *state, void *context) {
    if (state == nullptr || IsA(state, ModifyTableState))
        return false;
    if (IsA(state, FunctionScanState) &&
        calls(reinterpret_cast<Node *>(reinterpret_cast<FunctionScan *>(state->plan)->functions),
              context))
        return true;
    if (IsA(state, ProjectSetState) &&
        calls(reinterpret_cast<Node *>(state->plan->targetlist), context))
        return true;
    if (IsA(state, CteScanState))
        return returns_rows_of(reinterpret_cast<CteScanState *>(state)->cteplanstate, context);
    return planstate_tree_walker(state, as_tree_walker(returns_rows_of), context);
}

bool limits_rows_of(PlanState *state, void *context) {
    return state != nullptr &&
           ((IsA(state, LimitState) && returns_rows_of(outerPlanState(state), context)) ||
            planstate_tree_walker(state, as_tree_walker(limits_rows_of), context));
}

[[noreturn]] void refuse(const char *detail) {
    ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                    errmsg("the statement may not fetch all rows that next_rows() returns"),
                    errdetail("%s Rows that it does not fetch would count as read.", detail),
                    errhint("Pass the number of rows as at_most, and fetch all of them.")));
}

// PL/pgSQL, PL/Perl and PL/Python pin the portal of a loop.
bool is_loop(const QueryDesc *query) {
    return ActivePortal != nullptr && ActivePortal->queryDesc == query &&
           ActivePortal->portalPinned;
}

bool is_with_hold(const QueryDesc *query) {
    return ActivePortal != nullptr && ActivePortal->queryDesc == query &&
           (ActivePortal->cursorOptions & CURSOR_OPT_HOLD) != 0;
}

}  // namespace

void start_following_statements() {
    if (MyProc != nullptr && (ActivePortal != nullptr || MyBackendType != B_BACKEND))
        unknown_in = current_lxid();
    run_before = ExecutorRun_hook;
    ExecutorRun_hook = run;
    finish_before = ExecutorFinish_hook;
    ExecutorFinish_hook = finish;
}

// The space is for a snapshot that sees only what had ended before the oldest one was taken: the
// server keeps xmin of that in TransactionXmin.
Snapshot oldest_snapshot(SnapshotData &space) {
    const Statement *outermost = innermost;
    while (outermost != nullptr && outermost->around != nullptr)
        outermost = outermost->around;
    if (outermost != nullptr && current_lxid() != unknown_in)
        return outermost->query->snapshot;
    space = *GetActiveSnapshot();
    space.xmin = space.xmax = TransactionXmin;
    space.xip = space.subxip = nullptr;
    space.xcnt = 0;
    space.subxcnt = 0;
    space.suboverflowed = space.copied = false;
    space.active_count = space.regd_count = 0;
    return &space;
}

void check_fetches_all(Oid function, int64 rows) {
    for (const Statement *statement = innermost; statement != nullptr;
         statement = statement->around) {
        if (statement->count != 0 && statement->count < static_cast<uint64>(rows) &&
            !is_loop(statement->query))
            refuse(psprintf("The number of rows that it fetches at a time is " UINT64_FORMAT
                            ", and at_most is " INT64_FORMAT ".",
                            statement->count, rows));
        if (is_with_hold(statement->query))
            refuse("It is a cursor WITH HOLD.");
        Oid wanted = statement == innermost ? function : InvalidOid;
        if (limits_rows_of(statement->query->planstate, &wanted))
            refuse("It has LIMIT, FETCH FIRST or OFFSET.");
    }
}

}  // namespace shardid
