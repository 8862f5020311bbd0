// The SQL functions that build and read UUIDs of version 1 and 6, and bounds and times of version
// 7, RFC 9562. For a UUID of another version or variant, those that read and convert return NULL.
#include "core/uuid.hpp"

#include "functions/uuid_parts.h"

namespace shardid {

namespace {

// Sets *parts and returns true if the function's first argument is a UUID of version 1.
bool read_v1(FunctionCallInfo fcinfo, UuidParts *parts) {
    const UuidBytes bytes = uuid_argument(fcinfo);
    if (!is_uuid_v1(bytes))
        return false;
    *parts = unpack_uuid_v1(bytes);
    return true;
}

// The same for version 6.
bool read_v6(FunctionCallInfo fcinfo, UuidParts *parts) {
    const UuidBytes bytes = uuid_argument(fcinfo);
    if (!is_uuid_v6(bytes))
        return false;
    *parts = unpack_uuid_v6(bytes);
    return true;
}

using Read = bool (*)(FunctionCallInfo, UuidParts *);

// The part that `read` returns, as a result made by `show`.
template <Read read, Datum (*show)(const UuidParts &)>
Datum show_uuid(FunctionCallInfo fcinfo) {
    UuidParts parts;
    if (!read(fcinfo, &parts))
        PG_RETURN_NULL();
    return show(parts);
}

Datum timestamp_datum(const UuidParts &parts) {
    return TimestampTzGetDatum(us_of_uuid_timestamp(parts.timestamp));
}

Datum hundred_ns_datum(const UuidParts &parts) {
    return Int32GetDatum(hundred_ns_of_uuid_timestamp(parts.timestamp));
}

Datum clock_seq_datum(const UuidParts &parts) {
    return Int32GetDatum(static_cast<int32>(parts.clock_seq));
}

Datum node_datum(const UuidParts &parts) {
    return mac_datum(parts.node);
}

Datum v1_datum(const UuidParts &parts) {
    return uuid_datum(pack_uuid_v1(parts));
}

Datum v6_datum(const UuidParts &parts) {
    return uuid_datum(pack_uuid_v6(parts));
}

[[noreturn]] pg_attribute_cold void refuse_time_of_v7(TimestampTz ts) {
    ereport(ERROR, (errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
                    errmsg("timestamp is outside the range of UUID version 7"),
                    errdetail("The timestamp is %s.", timestamptz_to_str(ts)),
                    errhint("Pass a timestamp from 1970-01-01 00:00:00 to "
                            "10889-08-02 05:31:50.655999 UTC.")));
}

}  // namespace

extern "C" {

PG_FUNCTION_INFO_V1(shardid_uuid_v1_from);
PG_FUNCTION_INFO_V1(shardid_uuid_v1_timestamp);
PG_FUNCTION_INFO_V1(shardid_uuid_v1_hundred_ns);
PG_FUNCTION_INFO_V1(shardid_uuid_v1_clock_seq);
PG_FUNCTION_INFO_V1(shardid_uuid_v1_node);
PG_FUNCTION_INFO_V1(shardid_uuid_v1_to_v6);
PG_FUNCTION_INFO_V1(shardid_uuid_v6_from);
PG_FUNCTION_INFO_V1(shardid_uuid_v6_timestamp);
PG_FUNCTION_INFO_V1(shardid_uuid_v6_hundred_ns);
PG_FUNCTION_INFO_V1(shardid_uuid_v6_clock_seq);
PG_FUNCTION_INFO_V1(shardid_uuid_v6_node);
PG_FUNCTION_INFO_V1(shardid_uuid_v6_to_v1);
PG_FUNCTION_INFO_V1(shardid_uuid_v7_lower_bound);
PG_FUNCTION_INFO_V1(shardid_uuid_v7_timestamp);

Datum shardid_uuid_v1_from(PG_FUNCTION_ARGS) {
    return uuid_datum(pack_uuid_v1(checked_parts(fcinfo, 1)));
}

Datum shardid_uuid_v1_timestamp(PG_FUNCTION_ARGS) {
    return show_uuid<read_v1, timestamp_datum>(fcinfo);
}

Datum shardid_uuid_v1_hundred_ns(PG_FUNCTION_ARGS) {
    return show_uuid<read_v1, hundred_ns_datum>(fcinfo);
}

Datum shardid_uuid_v1_clock_seq(PG_FUNCTION_ARGS) {
    return show_uuid<read_v1, clock_seq_datum>(fcinfo);
}

Datum shardid_uuid_v1_node(PG_FUNCTION_ARGS) {
    return show_uuid<read_v1, node_datum>(fcinfo);
}

Datum shardid_uuid_v1_to_v6(PG_FUNCTION_ARGS) {
    return show_uuid<read_v1, v6_datum>(fcinfo);
}

Datum shardid_uuid_v6_from(PG_FUNCTION_ARGS) {
    return uuid_datum(pack_uuid_v6(checked_parts(fcinfo, 6)));
}

Datum shardid_uuid_v6_timestamp(PG_FUNCTION_ARGS) {
    return show_uuid<read_v6, timestamp_datum>(fcinfo);
}

Datum shardid_uuid_v6_hundred_ns(PG_FUNCTION_ARGS) {
    return show_uuid<read_v6, hundred_ns_datum>(fcinfo);
}

Datum shardid_uuid_v6_clock_seq(PG_FUNCTION_ARGS) {
    return show_uuid<read_v6, clock_seq_datum>(fcinfo);
}

Datum shardid_uuid_v6_node(PG_FUNCTION_ARGS) {
    return show_uuid<read_v6, node_datum>(fcinfo);
}

Datum shardid_uuid_v6_to_v1(PG_FUNCTION_ARGS) {
    return show_uuid<read_v6, v1_datum>(fcinfo);
}

Datum shardid_uuid_v7_lower_bound(PG_FUNCTION_ARGS) {
    const TimestampTz ts = PG_GETARG_TIMESTAMPTZ(0);
    if (TIMESTAMP_NOT_FINITE(ts) || !fits_uuid_v7(ts))
        refuse_time_of_v7(ts);
    return uuid_datum(first_uuid_v7_at(ts));
}

Datum shardid_uuid_v7_timestamp(PG_FUNCTION_ARGS) {
    const UuidBytes bytes = uuid_argument(fcinfo);
    if (!is_uuid_v7(bytes))
        PG_RETURN_NULL();
    PG_RETURN_TIMESTAMPTZ(us_of_uuid_v7(bytes));
}

}  // extern "C"

}  // namespace shardid
