#include "functions/row.h"

namespace shardid {

namespace {

TupleDesc row_type(FunctionCallInfo fcinfo) {
    FmgrInfo *site = fcinfo->flinfo;
    if (site->fn_extra == nullptr) {
        MemoryContext caller = MemoryContextSwitchTo(site->fn_mcxt);
        TupleDesc type;
        if (get_call_result_type(fcinfo, nullptr, &type) != TYPEFUNC_COMPOSITE)
            elog(ERROR, "return type must be a row type");
        site->fn_extra = BlessTupleDesc(type);
        MemoryContextSwitchTo(caller);
    }
    return static_cast<TupleDesc>(site->fn_extra);
}

}  // namespace

Datum make_row(FunctionCallInfo fcinfo, Datum *values, bool *nulls) {
    return HeapTupleGetDatum(heap_form_tuple(row_type(fcinfo), values, nulls));
}

}  // namespace shardid
