// The SQL functions that decode ids, the one that builds an id, and the one that finds the smallest
// id of a time.
#include "engine/arguments.h"

namespace shardid {

namespace {

[[noreturn]] pg_attribute_cold void refuse_late_id(uint64 id, uint64 time) {
    ereport(
        ERROR,
        (errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
         errmsg("timestamp of the id is out of range"),
         errdetail("Id %lld is %llu ms after the epoch.", static_cast<long long>(id),
                   static_cast<unsigned long long>(time)),
         errhint("Pass the epoch, shard_bits and sequence_bits that the id was generated with.")));
}

TimestampTz timestamp_of(uint64 id, const Layout &layout) {
    const uint64 time = id_time(layout.widths, id);
    if (time > last_shown_time(layout.epoch_us))
        refuse_late_id(id, time);
    return clock_at(layout.epoch_us, time);
}

[[noreturn]] pg_attribute_cold void refuse_outside_layout(TimestampTz ts, const Layout &layout) {
    const uint64 last = max_time(layout.widths) < last_shown_time(layout.epoch_us)
                            ? max_time(layout.widths)
                            : last_shown_time(layout.epoch_us);
    ereport(ERROR, (errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
                    errmsg("timestamp is outside the range of the ids"),
                    errdetail("The timestamp is %s, and the time field reaches from %s to %s.",
                              pstrdup(timestamptz_to_str(ts)),
                              pstrdup(timestamptz_to_str(layout.epoch_us)),
                              pstrdup(timestamptz_to_str(clock_at(layout.epoch_us, last)))),
                    errhint("Pass a timestamp in that range, or another layout.")));
}

bool is_since_epoch(TimestampTz ts, const Layout &layout) {
    return !TIMESTAMP_NOT_FINITE(ts) && ts >= layout.epoch_us;
}

uint64 lower_bound(TimestampTz ts, const Layout &layout) {
    if (!is_since_epoch(ts, layout) ||
        time_not_before(layout.epoch_us, ts) > max_time(layout.widths))
        refuse_outside_layout(ts, layout);
    return first_id_of(layout.widths, time_not_before(layout.epoch_us, ts));
}

uint64 checked_time(TimestampTz ts, const Layout &layout) {
    if (!is_since_epoch(ts, layout) || time_at(layout.epoch_us, ts) > max_time(layout.widths))
        refuse_outside_layout(ts, layout);
    return time_at(layout.epoch_us, ts);
}

uint64 id_argument(FunctionCallInfo fcinfo) {
    return static_cast<uint64>(PG_GETARG_INT64(0));
}

}  // namespace

extern "C" {

PG_FUNCTION_INFO_V1(shardid_id_timestamp);
Datum shardid_id_timestamp(PG_FUNCTION_ARGS) {
    const Layout layout = layout_argument(fcinfo, 1);
    PG_RETURN_TIMESTAMPTZ(timestamp_of(id_argument(fcinfo), layout));
}

PG_FUNCTION_INFO_V1(shardid_id_shard);
Datum shardid_id_shard(PG_FUNCTION_ARGS) {
    const Widths widths = checked_widths(PG_GETARG_INT32(1), PG_GETARG_INT32(2));
    PG_RETURN_INT32(static_cast<int32>(id_shard(widths, id_argument(fcinfo))));
}

PG_FUNCTION_INFO_V1(shardid_id_sequence);
Datum shardid_id_sequence(PG_FUNCTION_ARGS) {
    const Widths widths = checked_widths(0, PG_GETARG_INT32(1));
    PG_RETURN_INT32(static_cast<int32>(id_sequence(widths, id_argument(fcinfo))));
}

PG_FUNCTION_INFO_V1(shardid_id_parts);
Datum shardid_id_parts(PG_FUNCTION_ARGS) {
    const Layout layout = layout_argument(fcinfo, 1);
    const uint64 id = id_argument(fcinfo);
    ResultRow row;
    row.add(TimestampTzGetDatum(timestamp_of(id, layout)));
    row.add(Int32GetDatum(static_cast<int32>(id_shard(layout.widths, id))));
    row.add(Int32GetDatum(static_cast<int32>(id_sequence(layout.widths, id))));
    return make_row(fcinfo, row);
}

PG_FUNCTION_INFO_V1(shardid_id_from_parts);
Datum shardid_id_from_parts(PG_FUNCTION_ARGS) {
    const Layout layout = layout_argument(fcinfo, 3);
    const uint64 shard = checked_shard(PG_GETARG_INT32(1), layout.widths);
    const uint64 sequence = checked_field("sequence", "sequence number", PG_GETARG_INT32(2),
                                          layout.widths.sequence_bits);
    const uint64 time = checked_time(PG_GETARG_TIMESTAMPTZ(0), layout);
    PG_RETURN_INT64(static_cast<int64>(
        pack_id(layout.widths, shard, make_tick(layout.widths, time, sequence))));
}

PG_FUNCTION_INFO_V1(shardid_id_lower_bound);
Datum shardid_id_lower_bound(PG_FUNCTION_ARGS) {
    const Layout layout = layout_argument(fcinfo, 1);
    PG_RETURN_INT64(static_cast<int64>(lower_bound(PG_GETARG_TIMESTAMPTZ(0), layout)));
}

}  // extern "C"

}  // namespace shardid
