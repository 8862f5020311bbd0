// The library shardid_readers as PostgreSQL loads it, and what the script needs of C: a bound, the
// generator in a default, and what the client's statement sees.
#include "engine/arguments.h"
#include "engine/lease.h"
#include "engine/settled.h"
#include "statements.h"

extern "C" {
#include "catalog/objectaddress.h"
#include "catalog/pg_language_d.h"
#include "catalog/pg_type_d.h"
#include "executor/spi.h"
#include "optimizer/optimizer.h"
#include "storage/lmgr.h"
#include "utils/acl.h"

// Of the library shardid.
extern Datum shardid_next_id(PG_FUNCTION_ARGS);
extern Datum shardid_next_id_of_set_shard(PG_FUNCTION_ARGS);

PG_MODULE_MAGIC;

// fmgr.h declares it only from 16 on.
PGDLLEXPORT void _PG_init(void);

// The library shardid, whose functions this one calls, is mapped by now, but may not be
// initialized.
void _PG_init(void) {
    load_file("shardid", false);
    shardid::check_build("shardid_readers", shardid::library_version, shardid::library_abi_version);
    shardid::start_following_statements();
}
}

namespace shardid {

namespace {

void check_transaction(const char *caller) {
    if (RecoveryInProgress())
        refuse("recovery is in progress",
               "A call stores the reader's position, which a standby cannot.",
               "Read on the primary.", ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE);
    if (IsolationUsesXactSnapshot())
        refuse("a reader needs a transaction that is READ COMMITTED",
               "This one reads all rows with the snapshot of its first statement.",
               "Begin it with BEGIN ISOLATION LEVEL READ COMMITTED.",
               ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE);
    PreventCommandIfReadOnly(caller);
}

// settled_below refuses a statement that reads tables. Here it may read them, as only rows that it
// sees are returned.
void accept_statement() {}

// The arguments of a call of next_id, with defaults; none if it is another expression.
List *next_id_arguments(Node *expression, bool *has_shard) {
    while (expression != nullptr && IsA(expression, CoerceToDomain))
        expression = reinterpret_cast<Node *>(reinterpret_cast<CoerceToDomain *>(expression)->arg);
    if (expression == nullptr || !IsA(expression, FuncExpr))
        return NIL;
    const auto *call = reinterpret_cast<FuncExpr *>(expression);
    HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(call->funcid));
    if (!HeapTupleIsValid(tuple))
        return NIL;
    List *arguments = NIL;
    if (reinterpret_cast<Form_pg_proc>(GETSTRUCT(tuple))->prolang == ClanguageId) {
        FmgrInfo function;
        fmgr_info(call->funcid, &function);
        *has_shard = function.fn_addr == shardid_next_id;
        if (*has_shard || function.fn_addr == shardid_next_id_of_set_shard)
            arguments = expand_function_arguments(call->args, false, call->funcresulttype, tuple);
    }
    ReleaseSysCache(tuple);
    return arguments;
}

}  // namespace

extern "C" {

// Called by the planner: loads the library before the statement begins that calls the function.
PG_FUNCTION_INFO_V1(shardid_readers_support);
Datum shardid_readers_support(PG_FUNCTION_ARGS) {
    (void)fcinfo;
    Node *unchanged = nullptr;
    PG_RETURN_POINTER(unchanged);
}

// reader_bound(function oid, at_most int, generator regclass, layout): what settled_below returns,
// for a call of this function; if at_most is 0, of no function that returns rows.
PG_FUNCTION_INFO_V1(shardid_reader_bound);
Datum shardid_reader_bound(PG_FUNCTION_ARGS) {
    const Layout layout = layout_argument(fcinfo, 3);
    check_transaction(PG_GETARG_INT32(1) > 0 ? "next_rows()" : "add_reader()");
    if (PG_GETARG_INT32(1) > 0)
        check_fetches_all(PG_GETARG_OID(0), PG_GETARG_INT32(1));
    PG_RETURN_INT64(settled_bound(PG_GETARG_OID(2), layout, accept_statement));
}

// lock_table(tab regclass): the type of its rows; NULL if it does not exist. Like SELECT, it needs
// the privilege for a column, and locks the table until the transaction ends.
PG_FUNCTION_INFO_V1(shardid_lock_table);
Datum shardid_lock_table(PG_FUNCTION_ARGS) {
    const Oid table = PG_GETARG_OID(0);
    LockRelationOid(table, AccessShareLock);
    const char *name = get_rel_name(table);
    if (name == nullptr)
        PG_RETURN_NULL();
    if (pg_class_aclcheck(table, GetUserId(), ACL_SELECT) != ACLCHECK_OK &&
        pg_attribute_aclcheck_all(table, GetUserId(), ACL_SELECT, ACLMASK_ANY) != ACLCHECK_OK)
        aclcheck_error(ACLCHECK_NO_PRIV, get_relkind_objtype(get_rel_relkind(table)), name);
    PG_RETURN_OID(get_rel_type_id(table));
}

// id_default(adbin pg_node_tree): generator and layout that a default passes to next_id; NULL if it
// is another expression, or has arguments that are no constants. Nothing of it is evaluated: it is
// the table's owner's, and the caller may be a superuser.
PG_FUNCTION_INFO_V1(shardid_id_default);
Datum shardid_id_default(PG_FUNCTION_ARGS) {
    bool has_shard = false;
    const List *arguments = next_id_arguments(
        static_cast<Node *>(stringToNode(text_to_cstring(PG_GETARG_TEXT_PP(0)))), &has_shard);
    ResultRow row;
    ListCell *cell;
    for_each_from(cell, arguments, has_shard ? 1 : 0) {
        const auto *value = static_cast<const Node *>(lfirst(cell));
        while (IsA(value, RelabelType))
            value =
                reinterpret_cast<const Node *>(reinterpret_cast<const RelabelType *>(value)->arg);
        if (!IsA(value, Const) || reinterpret_cast<const Const *>(value)->constisnull)
            break;
        row.add(reinterpret_cast<const Const *>(value)->constvalue);
    }
    constexpr int columns = 4;
    if (row.columns != columns)
        PG_RETURN_NULL();
    PG_RETURN_DATUM(make_row(fcinfo, row));
}

// seen_ids(query text, first bigint, below bigint, at_most int, share int): what the query returns
// to the oldest statement; NULL if that sees all that is visible now.
PG_FUNCTION_INFO_V1(shardid_seen_ids);
Datum shardid_seen_ids(PG_FUNCTION_ARGS) {
    SnapshotData space;
    const Snapshot oldest = oldest_snapshot(space);
    if (oldest == nullptr)
        PG_RETURN_NULL();
    constexpr int parameters = 4;
    Oid types[parameters] = {INT8OID, INT8OID, INT4OID, INT4OID};
    Datum values[parameters] = {PG_GETARG_DATUM(1), PG_GETARG_DATUM(2), PG_GETARG_DATUM(3),
                                PG_GETARG_DATUM(4)};
    SPI_connect();
    // The caller's query may be any: it runs with its rights, and writes nothing.
    SPIPlanPtr plan = SPI_prepare(text_to_cstring(PG_GETARG_TEXT_PP(0)), parameters, types);
    if (plan == nullptr ||
        SPI_execute_snapshot(plan, values, nullptr, oldest, InvalidSnapshot, true, false, 0) !=
            SPI_OK_SELECT ||
        SPI_processed != 1 || SPI_gettypeid(SPI_tuptable->tupdesc, 1) != INT8ARRAYOID)
        elog(ERROR, "could not read the ids");
    bool is_null;
    Datum ids = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &is_null);
    if (is_null)
        elog(ERROR, "could not read the ids");
    ids = SPI_datumTransfer(ids, false, -1);
    SPI_finish();
    PG_RETURN_DATUM(ids);
}

}  // extern "C"

}  // namespace shardid
