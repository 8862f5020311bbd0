#include "engine/arguments.h"

namespace shardid {

void refuse_widths(Widths widths) {
    ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
                    errmsg("shard_bits and sequence_bits leave too few bits for the time"),
                    errdetail("shard_bits is %d and sequence_bits is %d.", widths.shard_bits,
                              widths.sequence_bits),
                    errhint("Pass numbers of bits whose sum is at most %d.",
                            max_shard_and_sequence_bits)));
}

void refuse_number(const char *name, int value, int from, int to, const char *what) {
    ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE), errmsg("%s is out of range", name),
                    errdetail("%s is %d.", name, value),
                    errhint("Pass a %s from %d to %d.", what, from, to)));
}

void refuse_epoch(TimestampTz epoch) {
    ereport(ERROR, (errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
                    errmsg("epoch is not a whole millisecond"),
                    errdetail("The epoch is %s.", timestamptz_to_str(epoch)),
                    errhint("Pass a finite epoch without microseconds.")));
}

void refuse_timestamp(const char *timestamp, const char *what, const char *range) {
    ereport(ERROR, (errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
                    errmsg("timestamp is outside the range of %s", what),
                    errdetail("The timestamp is %s.", timestamp),
                    errhint("Pass a timestamp from %s UTC.", range)));
}

void refuse_field(const char *name, const char *what, int32 value, int bits) {
    ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE), errmsg("%s is out of range", name),
                    errdetail("The %s is %d, and %d bits hold %ss from 0 to %llu.", name, value,
                              bits, what, static_cast<unsigned long long>(max_of(bits))),
                    errhint("Pass a %s in that range, or more %s_bits.", what, name)));
}

Datum make_row(FunctionCallInfo fcinfo, ResultRow &row) {
    FmgrInfo *site = fcinfo->flinfo;
    TupleDesc type;
    if (site->fn_extra == nullptr) {
        MemoryContext caller = MemoryContextSwitchTo(site->fn_mcxt);
        if (get_call_result_type(fcinfo, nullptr, &type) != TYPEFUNC_COMPOSITE)
            elog(ERROR, "return type must be a row type");
        site->fn_extra = BlessTupleDesc(type);
        MemoryContextSwitchTo(caller);
    }
    type = static_cast<TupleDesc>(site->fn_extra);
    Assert(row.columns == type->natts);
    return HeapTupleGetDatum(heap_form_tuple(type, row.values, row.nulls));
}

}  // namespace shardid
