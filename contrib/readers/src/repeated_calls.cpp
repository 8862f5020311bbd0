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
    bool again;               // whether this is such a one
    const PlanState *locked;  // where such ones begin
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

// What is below a node that locks rows is executed again for one that was updated meanwhile
// (EvalPlanQual), and so are MERGE's actions.
bool find_calls(PlanState *state, void *context) {
    if (state == nullptr)
        return false;
    Search here = *static_cast<Search *>(context);
    here.again |= state == here.locked;
    const auto look = [&here](List *expressions) {
        here.found[here.again] |= calls(reinterpret_cast<Node *>(expressions), &here);
    };
    Plan *plan = state->plan;
    look(plan->targetlist);
    look(plan->qual);
    if (IsA(plan, NestLoop) || IsA(plan, MergeJoin) || IsA(plan, HashJoin))
        look(reinterpret_cast<Join *>(plan)->joinqual);
    // The row of one in FROM is kept, except below UNION ALL.
    if ((IsA(plan, SubqueryScan) || IsA(plan, FunctionScan)) &&
        ExecFindRowMark(state->state, reinterpret_cast<Scan *>(plan)->scanrelid, true) != nullptr)
        here.again = false;
    if (IsA(plan, FunctionScan))
        look(reinterpret_cast<FunctionScan *>(plan)->functions);
    const auto *change = IsA(plan, ModifyTable) ? reinterpret_cast<ModifyTable *>(plan) : nullptr;
    const bool locks = change == nullptr ? IsA(plan, LockRows) : change->operation != CMD_INSERT;
    here.locked = locks ? outerPlanState(state) : nullptr;
    planstate_tree_walker(state, as_tree_walker(find_calls), &here);
    if (change != nullptr && change->operation == CMD_MERGE) {
        here.again = true;
        look(change->mergeActionLists);
        ListCell *cell;
        foreach (cell, state->subPlan)
            find_calls(static_cast<SubPlanState *>(lfirst(cell))->planstate, &here);
    }
    return false;
}

}  // namespace

bool repeats(PlanState *plan, Oid function) {
    bool found[2] = {};
    Search search{function, found, false, nullptr};
    find_calls(plan, &search);
    return found[1] && (OidIsValid(function) || !found[0]);
}

}  // namespace shardid
