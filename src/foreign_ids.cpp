// The SQL functions that draw ids of others' kinds: uuid_v1 and objectid, and the one that gives
// the database another identity among those that make them.
#include "identity.hpp"
#include "objectid.hpp"
#include "uuid_ticks.hpp"

#include "draw.h"
#include "objectid_datum.h"
#include "own_sequence.h"
#include "uuid_parts.h"

extern "C" {
#include "executor/spi.h"
}

namespace shardid {

namespace {

// The next tick of a generator whose sequence comes with the extension.
template <typename Ticks>
uint64 draw(Generator &generator, TimestampTz epoch) {
    constexpr Ticks ticks;
    check_max_value(generator, max_tick(ticks));
    return draw_tick(generator, SchemeOf<Ticks>{ticks, epoch});
}

uint64 random_seed() {
    uint64 bits;
    if (!pg_strong_random(&bits, sizeof(bits)))
        ereport(ERROR, (errcode(ERRCODE_INTERNAL_ERROR), errmsg("could not get random bits")));
    return bits & max_of(seed_bits);
}

// ALTER SEQUENCE checks that the sequence is the user's, waits for transactions that draw, and
// makes all sessions look at it again.
void reseed(Oid sequence) {
    const char *name = quote_qualified_identifier(get_namespace_name(get_rel_namespace(sequence)),
                                                  get_rel_name(sequence));
    const int64 min_value = min_value_of_seed(random_seed());
    SPI_connect();
    const int result = SPI_execute(
        psprintf("ALTER SEQUENCE %s MINVALUE %lld", name, static_cast<long long>(min_value)), false,
        0);
    if (result != SPI_OK_UTILITY)
        elog(ERROR, "could not alter sequence: %s", SPI_result_code_string(result));
    SPI_finish();
}

}  // namespace

}  // namespace shardid

extern "C" {

PG_FUNCTION_INFO_V1(shardid_uuid_v1);
PG_FUNCTION_INFO_V1(shardid_objectid);
PG_FUNCTION_INFO_V1(shardid_renew_identity);

Datum shardid_uuid_v1(PG_FUNCTION_ARGS) {
    shardid::Generator &generator = shardid::use_generator(
        shardid::own_sequence(fcinfo, shardid::uuid_sequence_name), "uuid_v1()");
    const uint64 timestamp = shardid::draw<shardid::UuidTicks>(generator, shardid::uuid_epoch_us);
    const shardid::UuidIdentity identity = shardid::uuid_identity_of(
        shardid::seed_of_min_value(generator.min_value), GetSystemIdentifier(), MyDatabaseId);
    return shardid::uuid_datum(
        shardid::pack_uuid_v1({timestamp, identity.clock_seq, identity.node}));
}

Datum shardid_objectid(PG_FUNCTION_ARGS) {
    shardid::Generator &generator = shardid::use_generator(
        shardid::own_sequence(fcinfo, shardid::objectid_sequence_name), "objectid()");
    const uint64 tick = shardid::draw<shardid::ObjectIdTicks>(generator, shardid::unix_epoch_us);
    const uint64 process =
        shardid::own_bits(shardid::seed_of_min_value(generator.min_value), GetSystemIdentifier(),
                          MyDatabaseId, shardid::objectid_process_bits);
    return shardid::objectid_datum(shardid::objectid_of_tick(tick, process));
}

Datum shardid_renew_identity(PG_FUNCTION_ARGS) {
    shardid::reseed(shardid::find_own_sequence(fcinfo, shardid::uuid_sequence_name));
    shardid::reseed(shardid::find_own_sequence(fcinfo, shardid::objectid_sequence_name));
    PG_RETURN_VOID();
}

}  // extern "C"
