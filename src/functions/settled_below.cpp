// The SQL function settled_below, for reading new rows by id; and its planner support function,
// which refuses statements that read rows with a snapshot from before the call.
#include "engine/arguments.h"
#include "engine/settled.h"

extern "C" {
#include "catalog/pg_language_d.h"
#include "nodes/nodeFuncs.h"
#include "nodes/parsenodes.h"
#include "nodes/pathnodes.h"
#include "nodes/supportnodes.h"
#include "tcop/pquery.h"
}

namespace shardid {

namespace {

void refuse_snapshot(const char *detail) {
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("settled_below() must be called before the snapshot that reads the rows "
                           "is taken"),
                    errdetail("%s", detail),
                    errhint("Call settled_below() in a statement of its own under READ COMMITTED, "
                            "and pass its result to the next statement.")));
}

bool is_read(const RangeTblEntry &entry) {
    return entry.rtekind == RTE_RELATION && entry.relkind != RELKIND_VIEW &&
           entry.relkind != RELKIND_COMPOSITE_TYPE;
}

// A STABLE function reads with the snapshot of the statement that calls it. The server's own, and
// those in C, are taken to read no table.
bool reads_as_its_caller(Oid function, void * /*context*/) {
    HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
    if (!HeapTupleIsValid(tuple))
        return false;
    const auto &row = *reinterpret_cast<Form_pg_proc>(GETSTRUCT(tuple));
    const bool reads = row.provolatile == PROVOLATILE_STABLE && row.prolang != INTERNALlanguageId &&
                       row.prolang != ClanguageId;
    ReleaseSysCache(tuple);
    return reads;
}

bool reads_a_table(Query &query);

bool has_reading_query(Node *node, void *context) {
    if (node == nullptr)
        return false;
    if (check_functions_in_node(node, reads_as_its_caller, nullptr))
        return true;
    if (IsA(node, Query))
        return reads_a_table(*reinterpret_cast<Query *>(node));
    return expression_tree_walker(node, as_tree_walker(has_reading_query), context);
}

// In itself or in one of its subqueries. A row that is only written to is not read with the
// statement's snapshot, and "excluded" of ON CONFLICT not at all. A view is read by the query that
// has taken its place; before PostgreSQL 16 that query names the view as well.
bool reads_a_table(Query &query) {
    const Index written =
        query.commandType == CMD_INSERT ? static_cast<Index>(query.resultRelation) : 0;
    Index index = 0;
    ListCell *cell;
    foreach (cell, query.rtable) {
        const auto *entry = static_cast<RangeTblEntry *>(lfirst(cell));
        if (++index != written && is_read(*entry))
            return true;
    }
    return query_tree_walker(&query, as_tree_walker(has_reading_query), nullptr, 0);
}

// Also where the call is in a subquery, a CTE, or a view or SQL function that became one, and the
// table in another of these. Subqueries that are planned already are in subroots.
void check_statement(const PlannerInfo *root) {
    const PlannerGlobal *statement = root->glob;
    bool reads = false;
    for (const PlannerInfo *above = root; above != nullptr; above = above->parent_root)
        reads = reads || reads_a_table(*above->parse);
    ListCell *cell;
    foreach (cell, statement->subroots)
        reads = reads || reads_a_table(*static_cast<PlannerInfo *>(lfirst(cell))->parse);
    if (reads)
        refuse_snapshot(
            "The statement that contains the call reads a table, or calls a STABLE "
            "function that can.");
}

// Rows that are written are locked so, and an INSERT does not read them. What a CTE does with them,
// the plan does not say.
bool is_only_written(const PlannedStmt &statement, const RangeTblEntry &entry) {
    return entry.rellockmode == RowExclusiveLock && statement.commandType == CMD_INSERT &&
           !statement.hasModifyingCTE;
}

// Where a function contains the call, the planner sees its statement only, but the client's, which
// calls the function, reads with a snapshot from before. What another function's statement reads is
// not seen here.
void check_clients_statement() {
    if (ActivePortal == nullptr)
        return;
    ListCell *cell;
    ListCell *of_table;
    foreach (cell, ActivePortal->stmts) {
        const auto &statement = *static_cast<PlannedStmt *>(lfirst(cell));
        if (statement.utilityStmt != nullptr && IsA(statement.utilityStmt, ExecuteStmt))
            refuse_snapshot("The call is in a function in an argument of EXECUTE.");
        foreach (of_table, statement.rtable) {
            const auto &entry = *static_cast<RangeTblEntry *>(lfirst(of_table));
            if (is_read(entry) && !is_only_written(statement, entry))
                refuse_snapshot(
                    "The statement that calls the function with the call reads a table.");
        }
    }
}

}  // namespace

extern "C" {

PG_FUNCTION_INFO_V1(shardid_settled_below);
Datum shardid_settled_below(PG_FUNCTION_ARGS) {
    const Layout layout = layout_argument(fcinfo, 1);
    if (IsolationUsesXactSnapshot())
        refuse_snapshot("The transaction reads all rows with the snapshot of its first statement.");
    PG_RETURN_INT64(settled_bound(PG_GETARG_OID(0), layout, check_clients_statement));
}

PG_FUNCTION_INFO_V1(shardid_settled_below_support);
Datum shardid_settled_below_support(PG_FUNCTION_ARGS) {
    auto *request = reinterpret_cast<Node *>(PG_GETARG_POINTER(0));
    if (IsA(request, SupportRequestSimplify)) {
        const PlannerInfo *root = reinterpret_cast<SupportRequestSimplify *>(request)->root;
        // EXECUTE evaluates its arguments with the snapshot with which its statement then reads.
        if (root == nullptr)
            refuse_snapshot(
                "The call is in an argument of EXECUTE or CALL, or in an expression that is "
                "evaluated without a query.");
        check_statement(root);
    }
    // A function in FROM of a subquery that is pulled up was simplified apart from the query above.
    if (IsA(request, SupportRequestCost)) {
        const PlannerInfo *root = reinterpret_cast<SupportRequestCost *>(request)->root;
        if (root != nullptr)
            check_statement(root);
    }
    Node *unchanged = nullptr;
    PG_RETURN_POINTER(unchanged);
}

}  // extern "C"

}  // namespace shardid
