// The planner support function of next_id, uuid_v1 and objectid: it lets COPY insert rows in
// batches.
//
// COPY inserts row by row if a default is volatile, because it might read the table that is loaded;
// nextval is excepted (copyfrom.c, contain_volatile_functions_not_nextval). Our functions read no
// table either. So where a call is planned by expression_planner, which COPY uses and which has no
// PlannerInfo (root), SupportRequestSimplify replaces it by
//
//     COALESCE(<the call by way of this function>,
//              CASE WHEN CURRENT_TIMESTAMP IS NULL AND nextval(0) IS NULL THEN NULL ELSE NULL END)
//
// The only volatile function that COPY finds in it is nextval; every other caller of the planner
// finds a volatile expression, as before. The call is evaluated once, as ever; where it returns
// NULL, because an argument is NULL, the result is NULL, and nextval is never run. The condition is
// no constant: a second pass of the planner (inline_function) would fold that, nextval would be
// gone, and ADD COLUMN would give all rows one id.
//
// The function that simplifies also takes the place of the call, so that there is one function in
// pg_proc. SQL cannot call it, since its argument is of type internal. As a substitute it has the
// call's arguments, and after them the OID of the function that was called.
//
// Citus has no PlannerInfo either, where it evaluates the defaults of an INSERT part by part,
// nextval(0) among them, and where it sends what it has simplified to another node. So there it is
// left alone.
#include "engine/arguments.h"
#include "engine/sequence.h"

extern "C" {
#include "catalog/objectaccess.h"
#include "catalog/pg_type_d.h"
#include "nodes/makefuncs.h"
#include "nodes/supportnodes.h"
}

namespace shardid {

namespace {

bool may_execute(Oid function) {
    return object_aclcheck(ProcedureRelationId, function, GetUserId(), ACL_EXECUTE) == ACLCHECK_OK;
}

// The function that was called, the last argument: looked up at the first row, with the checks of
// ExecInitFunc. A planned expression may be run for another user than it was planned for, as a
// domain's CHECK in the type cache is.
FmgrInfo *function_called(FmgrInfo *own, Oid function, int last) {
    if (own->fn_extra == nullptr) {
        if (get_fn_expr_argtype(own, last) != OIDOID)
            elog(ERROR, "the last argument is no function");
        if (!may_execute(function))
            aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_FUNCTION, get_func_name(function));
        InvokeFunctionExecuteHook(function);
        auto *info = static_cast<FmgrInfo *>(MemoryContextAlloc(own->fn_mcxt, sizeof(FmgrInfo)));
        fmgr_info_cxt(function, info, own->fn_mcxt);
        own->fn_extra = info;
    }
    return static_cast<FmgrInfo *>(own->fn_extra);
}

// Calls it with the arguments before the last.
Datum call_function(FunctionCallInfo fcinfo) {
    const int last = PG_NARGS() - 1;
    LOCAL_FCINFO(call, FUNC_MAX_ARGS);
    InitFunctionCallInfoData(*call, function_called(fcinfo->flinfo, PG_GETARG_OID(last), last),
                             static_cast<short>(last), fcinfo->fncollation, nullptr, nullptr);
    for (int i = 0; i < last; ++i)
        call->args[i] = fcinfo->args[i];
    const Datum result = FunctionCallInvoke(call);
    fcinfo->isnull = call->isnull;
    return result;
}

Expr *is_null(Expr *argument) {
    auto *test = makeNode(NullTest);
    test->arg = argument;
    test->nulltesttype = IS_NULL;
    test->argisrow = false;
    test->location = -1;
    return reinterpret_cast<Expr *>(test);
}

Expr *current_timestamp() {
    auto *function = makeNode(SQLValueFunction);
    function->op = SVFOP_CURRENT_TIMESTAMP;
    function->type = TIMESTAMPTZOID;
    function->typmod = -1;
    function->location = -1;
    return reinterpret_cast<Expr *>(function);
}

Expr *nextval_of_nothing() {
    Const *nothing = makeConst(REGCLASSOID, -1, InvalidOid, sizeof(Oid),
                               ObjectIdGetDatum(InvalidOid), false, true);
    return reinterpret_cast<Expr *>(makeFuncExpr(F_NEXTVAL, INT8OID, list_make1(nothing),
                                                 InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL));
}

Expr *null_and_nextval_in_sight(Oid type) {
    auto *when = makeNode(CaseWhen);
    when->expr = makeBoolExpr(
        AND_EXPR, list_make2(is_null(current_timestamp()), is_null(nextval_of_nothing())), -1);
    when->result = reinterpret_cast<Expr *>(makeNullConst(type, -1, InvalidOid));
    when->location = -1;

    auto *expression = makeNode(CaseExpr);
    expression->casetype = type;
    expression->args = list_make1(when);
    expression->defresult = reinterpret_cast<Expr *>(makeNullConst(type, -1, InvalidOid));
    expression->location = -1;
    return reinterpret_cast<Expr *>(expression);
}

Expr *call_by_way_of(Oid function, const FuncExpr &call) {
    Const *last =
        makeConst(OIDOID, -1, InvalidOid, sizeof(Oid), ObjectIdGetDatum(call.funcid), false, true);
    return reinterpret_cast<Expr *>(
        makeFuncExpr(function, call.funcresulttype, lappend(list_copy(call.args), last),
                     call.funccollid, call.inputcollid, COERCE_EXPLICIT_CALL));
}

// What the call is replaced by; nullptr: it stays as it is.
Node *simplified(const SupportRequestSimplify &request, Oid own_oid) {
    const FuncExpr &call = *request.fcall;
    if (request.root != nullptr || !may_execute(own_oid) || has_citus())
        return nullptr;

    auto *expression = makeNode(CoalesceExpr);
    expression->coalescetype = call.funcresulttype;
    expression->args =
        list_make2(call_by_way_of(own_oid, call), null_and_nextval_in_sight(call.funcresulttype));
    expression->location = -1;
    return reinterpret_cast<Node *>(expression);
}

}  // namespace

extern "C" {

// The planner calls it without an expression, the executor with that of the call.
PG_FUNCTION_INFO_V1(shardid_support);
Datum shardid_support(PG_FUNCTION_ARGS) {
    if (fcinfo->flinfo->fn_expr != nullptr)
        return call_function(fcinfo);

    auto *request = reinterpret_cast<Node *>(PG_GETARG_POINTER(0));
    Node *result = nullptr;
    if (IsA(request, SupportRequestSimplify))
        result = simplified(*reinterpret_cast<SupportRequestSimplify *>(request),
                            fcinfo->flinfo->fn_oid);
    PG_RETURN_POINTER(result);
}

}  // extern "C"

}  // namespace shardid
