#include "statements.h"

extern "C" {
#include "access/transam.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
}

namespace shardid {

namespace {

struct Search {
    Oid function;             // if it is not valid, any that is VOLATILE and not the server's own
    bool *found;              // a call that is executed once; one that may be executed again
    List **ctes;              // queries of WITH that may be executed again
    bool again;               // whether this is such a one
    const List *marks;        // of the rows that are kept then
    const PlanState *turned;  // the child for which `again` is the opposite
};

bool is_sought(Oid function, void *context) {
    const Oid wanted = static_cast<Search *>(context)->function;
    return OidIsValid(wanted)
               ? function == wanted
               : function >= FirstNormalObjectId && func_volatile(function) == PROVOLATILE_VOLATILE;
}

// MERGE does not repeat INSERT.
bool calls(Node *node, void *context) {
    return node != nullptr &&
           !(IsA(node, MergeAction) &&
             reinterpret_cast<MergeAction *>(node)->commandType == CMD_INSERT) &&
           (check_functions_in_node(node, is_sought, context) ||
            expression_tree_walker(node, as_tree_walker(calls), context));
}

// Whether the row of one in FROM is kept. Below UNION ALL, and in another subquery, it is not.
bool is_kept(const Plan *plan, const List *marks) {
    ListCell *cell;
    foreach (cell, marks)
        if (lfirst_node(PlanRowMark, cell)->rti == reinterpret_cast<const Scan *>(plan)->scanrelid)
            return true;
    return false;
}

bool find_calls(PlanState *state, void *context);

void find_calls_of(const List *subqueries, Search &here) {
    ListCell *cell;
    foreach (cell, subqueries)
        find_calls(static_cast<SubPlanState *>(lfirst(cell))->planstate, &here);
}

// What is below a node that locks rows is executed again for one that was updated meanwhile
// (EvalPlanQual), and so are MERGE's actions.
bool find_calls(PlanState *state, void *context) {
    if (state == nullptr)
        return false;
    Search here = *static_cast<Search *>(context);
    here.again = here.again != (state == here.turned) || list_member_ptr(*here.ctes, state);
    here.turned = nullptr;
    const auto look = [&here](bool again, List *expressions) {
        here.found[again] |= calls(reinterpret_cast<Node *>(expressions), &here);
    };
    Plan *plan = state->plan;
    look(here.again, plan->targetlist);
    look(here.again, plan->qual);
    if (IsA(plan, NestLoop) || IsA(plan, MergeJoin) || IsA(plan, HashJoin))
        look(here.again, reinterpret_cast<Join *>(plan)->joinqual);
    const auto is_repeated = [&] { return here.again && !is_kept(plan, here.marks); };
    if (IsA(plan, FunctionScan))
        look(is_repeated(), reinterpret_cast<FunctionScan *>(plan)->functions);
    if (IsA(plan, ValuesScan))
        look(is_repeated(), reinterpret_cast<ValuesScan *>(plan)->values_lists);
    if (IsA(plan, SubqueryScan) && here.again && !is_repeated())
        here.turned = reinterpret_cast<SubqueryScanState *>(state)->subplan;
    if (IsA(plan, CteScan) && is_repeated()) {
        PlanState *cte = reinterpret_cast<CteScanState *>(state)->cteplanstate;
        if (!IsA(cte, ModifyTableState))  // What is written is written whole.
            *here.ctes = list_append_unique_ptr(*here.ctes, cte);
    }
    const auto *change = IsA(plan, ModifyTable) ? reinterpret_cast<ModifyTable *>(plan) : nullptr;
    const bool locks = change == nullptr ? IsA(plan, LockRows) : change->operation != CMD_INSERT;
    if (locks && !here.again) {
        here.marks =
            change == nullptr ? reinterpret_cast<LockRows *>(plan)->rowMarks : change->rowMarks;
        here.turned = outerPlanState(state);
    }
    if (change == nullptr || change->operation != CMD_MERGE)
        return planstate_tree_walker(state, as_tree_walker(find_calls), &here);
    find_calls_of(state->initPlan, here);
    find_calls(outerPlanState(state), &here);
    here.again = true;
    look(true, change->mergeActionLists);
    find_calls_of(state->subPlan, here);
    return false;
}

}  // namespace

bool repeats(PlanState *plan, Oid function) {
    List *ctes = NIL;
    int known;
    bool found[2];
    do {
        known = list_length(ctes);
        found[0] = found[1] = false;
        Search search{function, found, &ctes, false, nullptr, nullptr};
        find_calls(plan, &search);
    } while (list_length(ctes) > known);
    return found[1] && (OidIsValid(function) || !found[0]);
}

}  // namespace shardid
