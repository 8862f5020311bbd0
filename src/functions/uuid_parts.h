// What the SQL functions for UUIDs of version 1 and 6 have in common: their parts as SQL's types.
#pragma once

#include "core/uuid.hpp"

#include "compat.h"

namespace shardid {

// What checked_parts raises.
[[noreturn]] pg_attribute_cold void refuse_clock_seq(int32 clock_seq);
[[noreturn]] pg_attribute_cold void refuse_time(TimestampTz ts, int32 hundred_ns, int version);

inline uint64 node_of(const macaddr *mac) {
    return uint64{mac->a} << 40 | uint64{mac->b} << 32 | uint64{mac->c} << 24 |
           uint64{mac->d} << 16 | uint64{mac->e} << 8 | uint64{mac->f};
}

// The arguments (ts timestamptz, clkseq int, mac macaddr, hundred_ns int) of a function that builds
// a UUID; `version` is for the message. Raises 22003 and 22008 for what a UUID cannot hold.
inline UuidParts checked_parts(FunctionCallInfo fcinfo, int version) {
    const TimestampTz ts = PG_GETARG_TIMESTAMPTZ(0);
    const int32 clock_seq = PG_GETARG_INT32(1);
    const int32 hundred_ns = PG_GETARG_INT32(3);
    if (clock_seq < 0 || static_cast<uint64>(clock_seq) > max_uuid_clock_seq)
        refuse_clock_seq(clock_seq);
    if (hundred_ns < 0 || hundred_ns >= hundred_ns_per_us || TIMESTAMP_NOT_FINITE(ts) ||
        !fits_uuid_timestamp(ts, hundred_ns))
        refuse_time(ts, hundred_ns, version);
    return {uuid_timestamp_from_us(ts, hundred_ns), static_cast<uint64>(clock_seq),
            node_of(PG_GETARG_MACADDR_P(2))};
}

// The first argument, a UUID.
inline UuidBytes uuid_argument(FunctionCallInfo fcinfo) {
    static_assert(uuid_size == UUID_LEN);
    UuidBytes bytes;
    memcpy(bytes.byte, PG_GETARG_UUID_P(0)->data, UUID_LEN);
    return bytes;
}

// Palloc'd results.
inline Datum uuid_datum(const UuidBytes &bytes) {
    auto *uuid = static_cast<pg_uuid_t *>(palloc(sizeof(pg_uuid_t)));
    memcpy(uuid->data, bytes.byte, UUID_LEN);
    return UUIDPGetDatum(uuid);
}

Datum mac_datum(uint64 node);

}  // namespace shardid
