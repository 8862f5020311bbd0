// The SQL functions for UUID version 1, RFC 9562.
#include "uuid_v1.hpp"

#include "compat.h"

namespace shardid {

namespace {

static_assert(uuid_size == UUID_LEN);

void check_parts(TimestampTz ts, int32 clock_seq, int32 hundred_ns) {
    if (clock_seq < 0 || static_cast<uint64>(clock_seq) > max_uuid_clock_seq)
        ereport(
            ERROR,
            (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE), errmsg("clock sequence is out of range"),
             errdetail("The clock sequence is %d.", clock_seq),
             errhint("Pass a clock sequence from 0 to %d.", static_cast<int>(max_uuid_clock_seq))));
    if (hundred_ns < 0 || hundred_ns >= hundred_ns_per_us)
        ereport(ERROR,
                (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE), errmsg("hundred_ns is out of range"),
                 errdetail("hundred_ns is %d.", hundred_ns),
                 errhint("Pass the number of 100 ns within the microsecond, 0 to 9.")));
    if (TIMESTAMP_NOT_FINITE(ts) || !fits_uuid_timestamp(ts, hundred_ns))
        ereport(ERROR, (errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
                        errmsg("timestamp is outside the range of UUID version 1"),
                        errdetail("The timestamp is %s, with %d times 100 ns more.",
                                  timestamptz_to_str(ts), hundred_ns),
                        errhint("Pass a timestamp from 1582-10-15 00:00:00 to "
                                "5236-03-31 21:21:00.684697 UTC.")));
}

uint64 node_of(const macaddr *mac) {
    return uint64{mac->a} << 40 | uint64{mac->b} << 32 | uint64{mac->c} << 24 |
           uint64{mac->d} << 16 | uint64{mac->e} << 8 | uint64{mac->f};
}

macaddr *mac_of(uint64 node) {
    auto *mac = static_cast<macaddr *>(palloc(sizeof(macaddr)));
    mac->a = static_cast<unsigned char>(node >> 40);
    mac->b = static_cast<unsigned char>(node >> 32);
    mac->c = static_cast<unsigned char>(node >> 24);
    mac->d = static_cast<unsigned char>(node >> 16);
    mac->e = static_cast<unsigned char>(node >> 8);
    mac->f = static_cast<unsigned char>(node);
    return mac;
}

UuidBytes bytes_of(const pg_uuid_t *uuid) {
    UuidBytes bytes;
    memcpy(bytes.byte, uuid->data, UUID_LEN);
    return bytes;
}

pg_uuid_t *uuid_of(const UuidBytes &bytes) {
    auto *uuid = static_cast<pg_uuid_t *>(palloc(sizeof(pg_uuid_t)));
    memcpy(uuid->data, bytes.byte, UUID_LEN);
    return uuid;
}

// Sets *parts and returns true if the function's first argument is a UUID of version 1.
bool read_uuid_v1(FunctionCallInfo fcinfo, UuidV1 *parts) {
    const UuidBytes bytes = bytes_of(PG_GETARG_UUID_P(0));
    if (!is_uuid_v1(bytes))
        return false;
    *parts = unpack_uuid_v1(bytes);
    return true;
}

}  // namespace

}  // namespace shardid

extern "C" {

PG_FUNCTION_INFO_V1(shardid_uuid_v1_from);
PG_FUNCTION_INFO_V1(shardid_uuid_v1_timestamp);
PG_FUNCTION_INFO_V1(shardid_uuid_v1_hundred_ns);
PG_FUNCTION_INFO_V1(shardid_uuid_v1_clock_seq);
PG_FUNCTION_INFO_V1(shardid_uuid_v1_node);

Datum shardid_uuid_v1_from(PG_FUNCTION_ARGS) {
    const TimestampTz ts = PG_GETARG_TIMESTAMPTZ(0);
    const int32 clock_seq = PG_GETARG_INT32(1);
    const int32 hundred_ns = PG_GETARG_INT32(3);
    shardid::check_parts(ts, clock_seq, hundred_ns);
    PG_RETURN_UUID_P(shardid::uuid_of(shardid::pack_uuid_v1(
        {shardid::uuid_timestamp_from_us(ts, hundred_ns), static_cast<uint64>(clock_seq),
         shardid::node_of(PG_GETARG_MACADDR_P(2))})));
}

Datum shardid_uuid_v1_timestamp(PG_FUNCTION_ARGS) {
    shardid::UuidV1 parts;
    if (!shardid::read_uuid_v1(fcinfo, &parts))
        PG_RETURN_NULL();
    PG_RETURN_TIMESTAMPTZ(shardid::us_of_uuid_timestamp(parts.timestamp));
}

Datum shardid_uuid_v1_hundred_ns(PG_FUNCTION_ARGS) {
    shardid::UuidV1 parts;
    if (!shardid::read_uuid_v1(fcinfo, &parts))
        PG_RETURN_NULL();
    PG_RETURN_INT32(shardid::hundred_ns_of_uuid_timestamp(parts.timestamp));
}

Datum shardid_uuid_v1_clock_seq(PG_FUNCTION_ARGS) {
    shardid::UuidV1 parts;
    if (!shardid::read_uuid_v1(fcinfo, &parts))
        PG_RETURN_NULL();
    PG_RETURN_INT32(static_cast<int32>(parts.clock_seq));
}

Datum shardid_uuid_v1_node(PG_FUNCTION_ARGS) {
    shardid::UuidV1 parts;
    if (!shardid::read_uuid_v1(fcinfo, &parts))
        PG_RETURN_NULL();
    PG_RETURN_MACADDR_P(shardid::mac_of(parts.node));
}

}  // extern "C"
