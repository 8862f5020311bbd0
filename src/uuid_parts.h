// What the SQL functions for UUIDs of version 1 and 6 have in common: their parts as SQL's types.
#pragma once

#include "uuid_v1.hpp"

#include "compat.h"

namespace shardid {

// The arguments (ts timestamptz, clkseq int, mac macaddr, hundred_ns int) of a function that builds
// a UUID; `version` is for the message. Raises 22003 and 22008 for what a UUID cannot hold.
UuidParts checked_parts(FunctionCallInfo fcinfo, int version);

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
