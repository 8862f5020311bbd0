// The SQL functions that build and read UUIDs of version 1 and 6, and bounds and times of version
// 7, RFC 9562; uuid_v1, which draws them; and the one that gives the database another identity. For
// a UUID of another version or variant, those that read and convert return NULL.
#include "core/uuid.hpp"

#include "engine/arguments.h"
#include "engine/draw.h"

extern "C" {
#include "executor/spi.h"
#include "port/pg_bswap.h"
}

namespace shardid {

namespace {

constexpr Size bytes_before_node = sizeof(uint64) - sizeof(macaddr);

uint64 node_of(const macaddr *mac) {
    uint64 big_endian = 0;
    memcpy(reinterpret_cast<char *>(&big_endian) + bytes_before_node, mac, sizeof(macaddr));
    return pg_ntoh64(big_endian);
}

// The arguments (ts timestamptz, clkseq int, mac macaddr, hundred_ns int) of a function that builds
// a UUID; `what` is for the message. Raises 22003 and 22008 for what a UUID cannot hold.
UuidParts checked_parts(FunctionCallInfo fcinfo, const char *what) {
    const TimestampTz ts = PG_GETARG_TIMESTAMPTZ(0);
    const int clock_seq = checked_number("clkseq", PG_GETARG_INT32(1), 0,
                                         static_cast<int>(max_uuid_clock_seq), "clock sequence");
    const int hundred_ns =
        checked_number("hundred_ns", PG_GETARG_INT32(3), 0, hundred_ns_per_us - 1,
                       "number of 100 ns within the microsecond");
    if (TIMESTAMP_NOT_FINITE(ts) || !fits_uuid_timestamp(ts, hundred_ns))
        refuse_timestamp(
            psprintf("%s, with %d times 100 ns more", timestamptz_to_str(ts), hundred_ns), what,
            "1582-10-15 00:00:00 to 5236-03-31 21:21:00.684697");
    return {uuid_timestamp_from_us(ts, hundred_ns), static_cast<uint64>(clock_seq),
            node_of(PG_GETARG_MACADDR_P(2))};
}

// The first argument, a UUID.
UuidBytes uuid_argument(FunctionCallInfo fcinfo) {
    static_assert(uuid_size == UUID_LEN);
    UuidBytes bytes;
    memcpy(bytes.byte, PG_GETARG_UUID_P(0)->data, UUID_LEN);
    return bytes;
}

// Palloc'd results.
Datum uuid_datum(const UuidBytes &bytes) {
    auto *uuid = static_cast<pg_uuid_t *>(palloc(sizeof(pg_uuid_t)));
    memcpy(uuid->data, bytes.byte, UUID_LEN);
    return UUIDPGetDatum(uuid);
}

// A function of the part, as a result made by `show`, of a first argument that is a UUID of the
// version.
#define SHOW_UUID(name, version, show)                 \
    PG_FUNCTION_INFO_V1(name);                         \
    Datum name(PG_FUNCTION_ARGS) {                     \
        const UuidBytes bytes = uuid_argument(fcinfo); \
        if (!is_uuid(bytes, version))                  \
            PG_RETURN_NULL();                          \
        return show(unpack_uuid_v##version(bytes));    \
    }

Datum timestamp_datum(const UuidParts &parts) {
    return TimestampTzGetDatum(us_of_uuid_timestamp(parts.timestamp));
}

Datum hundred_ns_datum(const UuidParts &parts) {
    return Int32GetDatum(static_cast<int32>(parts.timestamp % hundred_ns_per_us));
}

Datum clock_seq_datum(const UuidParts &parts) {
    return Int32GetDatum(static_cast<int32>(parts.clock_seq));
}

Datum node_datum(const UuidParts &parts) {
    auto *mac = static_cast<macaddr *>(palloc(sizeof(macaddr)));
    const uint64 big_endian = pg_hton64(parts.node);
    memcpy(mac, reinterpret_cast<const char *>(&big_endian) + bytes_before_node, sizeof(macaddr));
    return MacaddrPGetDatum(mac);
}

Datum v1_datum(const UuidParts &parts) {
    return uuid_datum(pack_uuid_v1(parts));
}

Datum v6_datum(const UuidParts &parts) {
    return uuid_datum(pack_uuid_v6(parts));
}

// Gives the sequence a new relfilenode, which has the last value but not the seed. ALTER SEQUENCE
// checks that the sequence is the user's, waits for transactions that draw, and invalidates all
// sessions' relcache entries. This option changes nothing.
void forget_seed(Oid sequence) {
    relation_close(open_sequence(sequence, AccessShareLock, "It was dropped just now: call again."),
                   NoLock);
    const char *command = psprintf("ALTER SEQUENCE %s INCREMENT BY 1", qualified_name(sequence));
    SPI_connect();
    const int result = SPI_execute(command, false, 0);
    if (result != SPI_OK_UTILITY)
        elog(ERROR, "could not alter sequence: %s", SPI_result_code_string(result));
    SPI_finish();
}

}  // namespace

extern "C" {

PG_FUNCTION_INFO_V1(shardid_uuid_v1_from);
Datum shardid_uuid_v1_from(PG_FUNCTION_ARGS) {
    return uuid_datum(pack_uuid_v1(checked_parts(fcinfo, "UUID version 1")));
}

SHOW_UUID(shardid_uuid_v1_timestamp, 1, timestamp_datum)
SHOW_UUID(shardid_uuid_v1_hundred_ns, 1, hundred_ns_datum)
SHOW_UUID(shardid_uuid_v1_clock_seq, 1, clock_seq_datum)
SHOW_UUID(shardid_uuid_v1_node, 1, node_datum)
SHOW_UUID(shardid_uuid_v1_to_v6, 1, v6_datum)

PG_FUNCTION_INFO_V1(shardid_uuid_v6_from);
Datum shardid_uuid_v6_from(PG_FUNCTION_ARGS) {
    return uuid_datum(pack_uuid_v6(checked_parts(fcinfo, "UUID version 6")));
}

SHOW_UUID(shardid_uuid_v6_timestamp, 6, timestamp_datum)
SHOW_UUID(shardid_uuid_v6_hundred_ns, 6, hundred_ns_datum)
SHOW_UUID(shardid_uuid_v6_clock_seq, 6, clock_seq_datum)
SHOW_UUID(shardid_uuid_v6_node, 6, node_datum)
SHOW_UUID(shardid_uuid_v6_to_v1, 6, v1_datum)

PG_FUNCTION_INFO_V1(shardid_uuid_v7_lower_bound);
Datum shardid_uuid_v7_lower_bound(PG_FUNCTION_ARGS) {
    const TimestampTz ts = PG_GETARG_TIMESTAMPTZ(0);
    if (TIMESTAMP_NOT_FINITE(ts) || !fits_uuid_v7(ts))
        refuse_timestamp(timestamptz_to_str(ts), "UUID version 7",
                         "1970-01-01 00:00:00 to 10889-08-02 05:31:50.655999");
    return uuid_datum(first_uuid_v7_at(ts));
}

PG_FUNCTION_INFO_V1(shardid_uuid_v7_timestamp);
Datum shardid_uuid_v7_timestamp(PG_FUNCTION_ARGS) {
    const UuidBytes bytes = uuid_argument(fcinfo);
    if (!is_uuid(bytes, 7))
        PG_RETURN_NULL();
    PG_RETURN_TIMESTAMPTZ(us_of_uuid_v7(bytes));
}

PG_FUNCTION_INFO_V1(shardid_uuid_v1);
Datum shardid_uuid_v1([[maybe_unused]] PG_FUNCTION_ARGS) {
    Generator &generator = use_generator(own_sequence(uuid_sequence), "uuid_v1()");
    const uint64 tick = draw_uuid_tick(generator);
    return uuid_datum(pack_uuid_v1(
        uuid_of_tick(tick, seed_of(generator.known.binding), GetSystemIdentifier(), MyDatabaseId)));
}

// A new seed is drawn at once, and with it one UUID or ObjectId that is not returned.
PG_FUNCTION_INFO_V1(shardid_renew_identity);
Datum shardid_renew_identity([[maybe_unused]] PG_FUNCTION_ARGS) {
    const Oid of_uuids = own_sequence(uuid_sequence);
    forget_seed(of_uuids);
    draw_uuid_tick(use_generator(of_uuids, "renew_identity()"));

    const Oid of_objectids = own_sequence(objectid_sequence);
    forget_seed(of_objectids);
    draw_objectid_tick(use_generator(of_objectids, "renew_identity()"));
    PG_RETURN_VOID();
}

}  // extern "C"

}  // namespace shardid
