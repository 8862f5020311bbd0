// The SQL functions that draw, build and read ObjectIds.
#include "core/objectid.hpp"
#include "core/uuid.hpp"

#include "engine/arguments.h"
#include "engine/draw.h"

namespace shardid {

namespace {

// Raises 22003 unless the argument of this name fits the bits.
uint64 checked_part(const char *name, int32 value, int bits) {
    return static_cast<uint64>(
        checked_number(name, value, 0, static_cast<int>(max_of(bits)), "number"));
}

uint64 checked_seconds(TimestampTz ts) {
    if (TIMESTAMP_NOT_FINITE(ts) || !fits_objectid(ts))
        refuse_timestamp(timestamptz_to_str(ts), "ObjectIds",
                         "1970-01-01 00:00:00 to 2106-02-07 06:28:15");
    return time_at(unix_epoch_us, ts, us_per_s);
}

ObjectIdBytes checked_objectid(const bytea *value) {
    const auto length = static_cast<int>(VARSIZE_ANY_EXHDR(value));
    if (length != objectid_size)
        ereport(ERROR,
                (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("not an ObjectId"),
                 errdetail("An ObjectId has %d bytes, and this value %d.", objectid_size, length),
                 errhint("Pass its bytes, not its hexadecimal digits as text.")));
    ObjectIdBytes bytes;
    memcpy(bytes.byte, VARDATA_ANY(value), objectid_size);
    return bytes;
}

// Palloc'd.
inline Datum objectid_datum(const ObjectIdParts &parts) {
    const ObjectIdBytes bytes = pack_objectid(parts);
    auto *result = static_cast<bytea *>(palloc(VARHDRSZ + objectid_size));
    SET_VARSIZE(result, VARHDRSZ + objectid_size);
    memcpy(VARDATA(result), bytes.byte, objectid_size);
    return PointerGetDatum(result);
}

}  // namespace

extern "C" {

PG_FUNCTION_INFO_V1(shardid_objectid);
Datum shardid_objectid([[maybe_unused]] PG_FUNCTION_ARGS) {
    Generator &generator = use_generator(own_sequence(objectid_sequence), "objectid()");
    const uint64 tick = draw_objectid_tick(generator);
    const uint64 process = own_bits(seed_of(generator.known.binding), GetSystemIdentifier(),
                                    MyDatabaseId, objectid_process_bits);
    return objectid_datum(objectid_of_tick(tick, process));
}

PG_FUNCTION_INFO_V1(shardid_objectid_from);
Datum shardid_objectid_from(PG_FUNCTION_ARGS) {
    const uint64 machine = checked_part("machine", PG_GETARG_INT32(1), objectid_machine_bits);
    const uint64 pid = checked_part("pid", PG_GETARG_INT32(2), objectid_pid_bits);
    const uint64 counter = checked_part("counter", PG_GETARG_INT32(3), objectid_counter_bits);
    return objectid_datum(
        {checked_seconds(PG_GETARG_TIMESTAMPTZ(0)), machine << objectid_pid_bits | pid, counter});
}

PG_FUNCTION_INFO_V1(shardid_objectid_timestamp);
Datum shardid_objectid_timestamp(PG_FUNCTION_ARGS) {
    const bytea *value = PG_GETARG_BYTEA_PP(0);
    const ObjectIdParts parts = unpack_objectid(checked_objectid(value));
    PG_RETURN_TIMESTAMPTZ(clock_at(unix_epoch_us, parts.seconds, us_per_s));
}

}  // extern "C"

}  // namespace shardid
