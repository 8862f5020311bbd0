#include "statements.h"

extern "C" {
#include "access/transam.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "tcop/pquery.h"
#include "tcop/utility.h"
}

namespace shardid {

namespace {

struct Statement {
    Snapshot snapshot;
    QueryDesc *query;  // null: EXECUTE
    uint64 count;      // how many rows it fetches now; 0: all
    bool is_loop;
    bool is_with_hold;
    const Statement *around;
    int triggers = DatumGetInt32(pg_trigger_depth(nullptr));  // around it
};

const Statement *innermost;

// The transaction in which a statement may be around the outermost one that is known; and whether
// that may end before it has fetched all rows.
LocalTransactionId unknown_in = InvalidLocalTransactionId;
bool unknown_fetches;

// Of a query's es_top_eflags, where PostgreSQL uses the lowest ones: next_rows() was called in it.
constexpr int has_read = 1 << 30;

ExecutorRun_hook_type run_before;
ExecutorFinish_hook_type finish_before;
ProcessUtility_hook_type utility_before;

[[noreturn]] void refuse_end_of_transaction() {
    refuse("a loop over rows of next_rows() cannot contain COMMIT or ROLLBACK",
           "The rows of the loop would count as read, or come again, whether or not it has come to "
           "them.",
           "End the loop before, and pass at_most for fewer rows.");
}

template <typename Execute>
void follow(const Statement &statement, Execute execute) {
    innermost = &statement;
    PG_TRY();
    { execute(); }
    PG_FINALLY();
    { innermost = statement.around; }
    PG_END_TRY();
}

// COMMIT or ROLLBACK stores the rest of a loop.
bool is_rest(const Statement &statement) {
    return statement.is_loop && statement.query->dest->mydest == DestTuplestore;
}

// `more` differs between versions.
template <typename... More>
void run(QueryDesc *query, ScanDirection direction, uint64 count, More... more) {
    Statement statement{query->snapshot, query, count, false, false, innermost};
    if (ActivePortal != nullptr && ActivePortal->queryDesc == query) {
        // PL/pgSQL, PL/Perl and PL/Python pin the portal of a loop.
        statement.is_loop = ActivePortal->portalPinned;
        statement.is_with_hold = (ActivePortal->cursorOptions & CURSOR_OPT_HOLD) != 0;
    }
    if (is_rest(statement) && (query->estate->es_top_eflags & has_read) != 0)
        refuse_end_of_transaction();
    follow(statement, [&] { run_before(query, direction, count, more...); });
}

// What WITH writes and nothing reads is executed here.
void finish(QueryDesc *query) {
    follow({query->snapshot, query, 0, false, false, innermost}, [&] { finish_before(query); });
}

// EXECUTE, also of EXPLAIN or CREATE TABLE AS, evaluates arguments, and then reads with the
// snapshot that it had before.
template <typename... More>
void utility(PlannedStmt *planned, More... more) {
    const auto execute = [&] { utility_before(planned, more...); };
    const Node *statement = planned->utilityStmt;
    if (IsA(statement, ExecuteStmt) || IsA(statement, ExplainStmt) ||
        IsA(statement, CreateTableAsStmt))
        follow({GetActiveSnapshot(), nullptr, 0, false, false, innermost}, execute);
    else
        execute();
}

// If none is wanted: any that is not the server's own.
bool is_set_of(Oid function, void *context) {
    const Oid wanted = *static_cast<Oid *>(context);
    return OidIsValid(wanted) ? function == wanted
                              : function >= FirstNormalObjectId && get_func_retset(function);
}

bool calls(Node *node, void *context) {
    return node != nullptr && (check_functions_in_node(node, is_set_of, context) ||
                               expression_tree_walker(node, as_tree_walker(calls), context));
}

bool scans(const PlanState *state, void *context) {
    return IsA(state, FunctionScanState) &&
           calls(reinterpret_cast<Node *>(reinterpret_cast<FunctionScan *>(state->plan)->functions),
                 context);
}

// Whether a node returns what the function returns. What is written in between is written whole.
// CTEs that read others twice make the walk long.
bool returns_rows_of(PlanState *state, void *context) {
    CHECK_FOR_INTERRUPTS();
    if (state == nullptr || IsA(state, ModifyTableState))
        return false;
    if (scans(state, context) ||
        (IsA(state, ProjectSetState) &&
         calls(reinterpret_cast<Node *>(state->plan->targetlist), context)))
        return true;
    if (IsA(state, CteScanState))
        return returns_rows_of(reinterpret_cast<CteScanState *>(state)->cteplanstate, context);
    return planstate_tree_walker(state, as_tree_walker(returns_rows_of), context);
}

// An aggregate without GROUP BY, or no table: all that is read is in the first row.
bool is_one_row(const PlanState *state) {
    switch (nodeTag(state)) {
        case T_AggState:
            return reinterpret_cast<const AggState *>(state)->aggstrategy == AGG_PLAIN;
        case T_ResultState:
            return outerPlanState(state) == nullptr;
        case T_LimitState:
        case T_SortState:
            return is_one_row(outerPlanState(state));
        case T_SubqueryScanState:
            return is_one_row(reinterpret_cast<const SubqueryScanState *>(state)->subplan);
        case T_CteScanState:
            return is_one_row(reinterpret_cast<const CteScanState *>(state)->cteplanstate);
        default:
            return false;
    }
}

bool limits(PlanState *state) {
    return IsA(state, LimitState) &&
           (reinterpret_cast<LimitState *>(state)->limitOffset != nullptr ||
            !is_one_row(outerPlanState(state)));
}

bool memoizes(PlanState *state) {
    return IsA(state, MemoizeState);
}

// Whether there is such a node over what the function returns, also in a subquery that is executed
// first.
template <bool (*is_such)(PlanState *)>
bool is_below(PlanState *state, void *context) {
    return state != nullptr &&
           ((is_such(state) && returns_rows_of(state, context)) ||
            planstate_tree_walker(state, as_tree_walker(is_below<is_such>), context));
}

// Whether a subquery is EXISTS, and returns what the function returns.
bool has_exists(PlanState *state, void *context) {
    if (state == nullptr)
        return false;
    ListCell *cell;
    foreach (cell, list_concat_copy(state->initPlan, state->subPlan)) {
        const auto *plan = static_cast<SubPlanState *>(lfirst(cell));
        if (plan->subplan->subLinkType == EXISTS_SUBLINK &&
            returns_rows_of(plan->planstate, context))
            return true;
    }
    return planstate_tree_walker(state, as_tree_walker(has_exists), context);
}

bool throws_away(const QueryDesc *query) {
    return is_discarded(query->dest->mydest) && query->operation == CMD_SELECT &&
           !query->plannedstmt->hasModifyingCTE;
}

[[noreturn]] void refuse_fewer(
    const char *detail,
    const char *hint = "Pass the number of rows as at_most, and fetch all of them.") {
    refuse("the statement might not fetch all rows that next_rows() returns",
           psprintf("%s Rows that it does not fetch would count as read.", detail), hint);
}

bool is_executing(MemoryContext context) {
    if (strcmp(context->name, "ExecutorState") == 0)
        return true;
    for (MemoryContext child = context->firstchild; child != nullptr; child = child->nextchild)
        if (is_executing(child))
            return true;
    return false;
}

// How many functions and statements SPI is executing; a cursor has a portal.
int spi_calls(MemoryContext context) {
    int calls = 0;
    for (MemoryContext child = context == nullptr ? nullptr : context->firstchild; child != nullptr;
         child = child->nextchild)
        if (strcmp(child->name, "SPI Proc") == 0)
            calls += 1 + spi_calls(child);
        else if (strcmp(child->name, "SPI Exec") == 0)
            calls += is_executing(child) ? 1 : 0;
    return calls;
}

// Whether the statements around, which are not known, may fetch fewer rows than there are. Not if
// there is one function around that executes none, and it was called by DO or CALL or returns one
// row; nor if COPY, CREATE TABLE AS or SELECT INTO is planned, which is executed after that.
bool may_fetch_fewer() {
    if (spi_calls(TopTransactionContext) +
            (ActivePortal == nullptr ? 0 : spi_calls(ActivePortal->portalContext)) >
        1)
        return true;
    if (ActivePortal == nullptr)
        return false;
    Oid any = InvalidOid;
    if (ActivePortal->queryDesc != nullptr)
        return returns_rows_of(ActivePortal->queryDesc->planstate, &any) ||
               repeats(ActivePortal->queryDesc->planstate, any);
    switch (ActivePortal->commandTag) {
        case CMDTAG_DO:
            return false;
        case CMDTAG_CALL:
            // Not there in a transaction block, nor if a procedure in SQL has called the function.
            return spi_calls(ActivePortal->portalContext) == 0;
        case CMDTAG_COPY:
        case CMDTAG_CREATE_TABLE_AS:
        case CMDTAG_SELECT:  // INTO
            return is_executing(ActivePortal->portalContext);
        default:
            return true;
    }
}

// Whether a transaction is running for one that has ended for the other. To compare how many there
// are is not enough: while one is being prepared, it is there twice (EndPrepare of twophase.c).
bool sees_less(Snapshot one, Snapshot other) {
    if (one->xmax != other->xmax)
        return TransactionIdPrecedes(one->xmax, other->xmax);
    for (uint32 i = 0; i < one->xcnt; i++)
        if (!XidInMVCCSnapshot(one->xip[i], other))
            return true;
    return false;
}

}  // namespace

void start_following_statements() {
    // A background worker may execute a function in no portal.
    if (ActivePortal != nullptr || spi_calls(TopTransactionContext) > 0) {
        unknown_in = current_lxid();
        unknown_fetches = may_fetch_fewer();
    }
    run_before = ExecutorRun_hook != nullptr ? ExecutorRun_hook : standard_ExecutorRun;
    ExecutorRun_hook = run;
    finish_before = ExecutorFinish_hook != nullptr ? ExecutorFinish_hook : standard_ExecutorFinish;
    ExecutorFinish_hook = finish;
    utility_before = ProcessUtility_hook != nullptr ? ProcessUtility_hook : standard_ProcessUtility;
    ProcessUtility_hook = utility;
}

Snapshot oldest_snapshot(SnapshotData &space) {
    const Snapshot now = GetTransactionSnapshot();
    Snapshot oldest = now;
    for (const Statement *statement = innermost; statement != nullptr;
         statement = statement->around)
        if (sees_less(statement->snapshot, oldest))
            oldest = statement->snapshot;
    if (current_lxid() != unknown_in)
        return oldest == now ? nullptr : oldest;
    // One that sees only what had ended before the oldest one of the session was taken: the server
    // keeps xmin of that in TransactionXmin.
    space = *now;
    space.xmin = space.xmax = TransactionXmin;
    space.xcnt = space.subxcnt = 0;
    space.suboverflowed = false;
    return sees_less(&space, now) ? &space : nullptr;
}

void check_fetches_all(Oid function, int64 rows) {
    if (current_lxid() == unknown_in && unknown_fetches)
        refuse("the statement might not fetch all rows that next_rows() returns",
               "It began before the library shardid_readers was loaded in this session.",
               "Repeat it in a new transaction of this session, or add shardid_readers to "
               "session_preload_libraries, and for background workers to "
               "shared_preload_libraries.");
    bool is_stored = false;
    for (const Statement *statement = innermost, *inner = innermost; statement != nullptr;
         inner = statement, statement = statement->around) {
        if (statement->query == nullptr)
            continue;
        const QueryDesc *query = statement->query;
        Oid wanted = statement == innermost ? function : InvalidOid;
        PlanState *plan = query->planstate;
        PlanState *rows_of = IsA(plan, ModifyTableState) ? outerPlanState(plan) : plan;
        query->estate->es_top_eflags |= has_read;
        if (is_rest(*statement))
            refuse_end_of_transaction();
        if (has_exists(plan, &wanted))
            refuse_fewer("It has EXISTS.", "Fetch all rows instead, or join them.");
        // A trigger is called once. What a statement within has stored is not lost.
        if (!is_stored && statement->triggers == inner->triggers && repeats(plan, wanted))
            refuse_fewer(
                "It may call a function again, for a row that is updated meanwhile.",
                "Call the function in WITH, and name that in FROM or USING, not in a subquery.");
        is_stored |= query->operation != CMD_SELECT || query->plannedstmt->hasModifyingCTE ||
                     query->dest->mydest == DestIntoRel;
        if (statement->is_with_hold && returns_rows_of(rows_of, &wanted))
            refuse_fewer("It is a cursor WITH HOLD.");
        if (throws_away(query) && returns_rows_of(rows_of, &wanted))
            refuse_fewer(
                "It discards them, as do EXPLAIN ANALYZE, MOVE, and a SELECT of a function in SQL "
                "that does not return its rows.");
        if (is_below<memoizes>(plan, &wanted))
            refuse("the statement would return rows of next_rows() more than once",
                   "It has Memoize, which calls a function once for equal arguments.",
                   "Run SET enable_memoize = off.");
        if (is_below<limits>(plan, &wanted))
            refuse_fewer("It has LIMIT, FETCH FIRST or OFFSET.");
        if (statement->count != 0 && !statement->is_loop && !is_one_row(rows_of) &&
            returns_rows_of(rows_of, &wanted)) {
            if (statement->count < static_cast<uint64>(rows))
                refuse_fewer(
                    psprintf("The number of rows that it fetches at a time is " UINT64_FORMAT
                             ", and at_most is " INT64_FORMAT ".",
                             statement->count, rows));
            while (IsA(plan, SortState))
                plan = outerPlanState(plan);
            wanted = function;
            if (!scans(plan, &wanted) ||
                list_length(reinterpret_cast<FunctionScan *>(plan->plan)->functions) > 1)
                refuse_fewer(psprintf("It fetches " UINT64_FORMAT
                                      " rows at a time, and might have more than the function.",
                                      statement->count));
        }
    }
}

}  // namespace shardid
