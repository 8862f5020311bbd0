// The planner support function of the functions that draw: it lets COPY insert rows in batches.
//
// COPY goes row by row if a default is volatile, but not for nextval, since that reads no table
// that is loaded (copyfrom.c, contain_volatile_functions_not_nextval). Nor do our functions. COPY
// asks after expression_planner, which prepares an expression that belongs to no query, and has no
// root then. Such a call we put into words in which COPY finds nextval, and everybody else
// something volatile as before:
//
//     COALESCE(<the call by way of this function>,
//              CASE WHEN CURRENT_TIMESTAMP IS NULL AND nextval(0) IS NULL THEN NULL ELSE NULL END)
//
// The call is evaluated as often as ever. Without a result, an argument being null, NULL is the
// result; nextval is there to be seen, and never runs. No constant decides that: of one, a second
// pass of the planner (inline_function) would leave what is not volatile to anybody, and ADD COLUMN
// would give all rows one id.
//
// One function of SQL is both, what simplifies and what stands in the place of the call, so that
// nobody finds another by name, or can call one: the type of its argument is internal.
#include "compat.h"

extern "C" {
#include "catalog/objectaccess.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/supportnodes.h"

Datum shardid_next_id(PG_FUNCTION_ARGS);
Datum shardid_next_id_of_set_shard(PG_FUNCTION_ARGS);
Datum shardid_uuid_v1(PG_FUNCTION_ARGS);
Datum shardid_objectid(PG_FUNCTION_ARGS);
}

namespace shardid {

namespace {

// A call in another's place has the position of its function here as its last argument.
constexpr PGFunction drawing_functions[] = {shardid_next_id, shardid_next_id_of_set_shard,
                                            shardid_uuid_v1, shardid_objectid};
constexpr int no_drawing_function = -1;

// By its address: a function with settings of its own, or SECURITY DEFINER, has another, and is
// called in its own way.
int drawing_function(Oid function) {
    FmgrInfo info;
    fmgr_info(function, &info);
    for (int i = 0; i < static_cast<int>(lengthof(drawing_functions)); ++i)
        if (info.fn_addr == drawing_functions[i])
            return i;
    return no_drawing_function;
}

PGFunction drawing_function_at(int32 position) {
    if (unlikely(position < 0 || position >= static_cast<int32>(lengthof(drawing_functions))))
        elog(ERROR, "no function that draws at position %d", position);
    return drawing_functions[position];
}

// As ExecInitFunc, which will only look at the function in its place.
bool may_replace(Oid function, Oid in_its_place) {
    if (!may_execute(function) || !may_execute(in_its_place))
        return false;
    InvokeFunctionExecuteHook(function);
    return true;
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

Expr *call_by_way_of(Oid function, const FuncExpr &call, int32 position) {
    Const *last =
        makeConst(INT4OID, -1, InvalidOid, sizeof(int32), Int32GetDatum(position), false, true);
    return reinterpret_cast<Expr *>(
        makeFuncExpr(function, call.funcresulttype, lappend(list_copy(call.args), last),
                     call.funccollid, call.inputcollid, COERCE_EXPLICIT_CALL));
}

// The call in other words; nullptr: it stays as it is.
Node *simplified(const SupportRequestSimplify &request, Oid own_oid) {
    const FuncExpr &call = *request.fcall;
    if (request.root != nullptr)
        return nullptr;
    const int position = drawing_function(call.funcid);
    if (position == no_drawing_function || !may_replace(call.funcid, own_oid))
        return nullptr;

    auto *expression = makeNode(CoalesceExpr);
    expression->coalescetype = call.funcresulttype;
    expression->args = list_make2(call_by_way_of(own_oid, call, position),
                                  null_and_nextval_in_sight(call.funcresulttype));
    expression->location = -1;
    return reinterpret_cast<Node *>(expression);
}

}  // namespace

}  // namespace shardid

extern "C" {

PG_FUNCTION_INFO_V1(shardid_support);

// The planner calls it without an expression, the executor with that of the call.
Datum shardid_support(PG_FUNCTION_ARGS) {
    if (fcinfo->flinfo->fn_expr != nullptr)
        return shardid::drawing_function_at(PG_GETARG_INT32(PG_NARGS() - 1))(fcinfo);

    auto *request = reinterpret_cast<Node *>(PG_GETARG_POINTER(0));
    Node *result = nullptr;
    if (IsA(request, SupportRequestSimplify))
        result = shardid::simplified(*reinterpret_cast<SupportRequestSimplify *>(request),
                                     fcinfo->flinfo->fn_oid);
    PG_RETURN_POINTER(result);
}

}  // extern "C"
