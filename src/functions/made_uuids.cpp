// The SQL functions that draw ids of others' kinds: uuid_v1 and objectid, and the one that gives
// the database another identity among those that make them.

#include "core/identity.hpp"
#include "core/objectid.hpp"
#include "core/uuid_ticks.hpp"

#include "engine/draw.h"
#include "engine/own_sequence.h"
#include "engine/sequence.h"
#include "functions/objectid_datum.h"
#include "functions/uuid_parts.h"

extern "C" {
#include "executor/spi.h"
}

namespace shardid {

namespace {

constexpr const char *renewing = "renew_identity()";

// The next tick of the generator of UUIDs, or of ObjectIds.
uint64 next_uuid_tick(Generator &generator) {
    check_max_value(generator, max_tick(uuid_ticks));
    return draw_uuid_tick(generator);
}

uint64 next_objectid_tick(Generator &generator) {
    check_max_value(generator, max_tick(objectid_ticks));
    return draw_objectid_tick(generator);
}

// Gives the sequence a new relfilenode, which has the last value but not the seed. ALTER SEQUENCE
// checks that the sequence is the user's, waits for transactions that draw, and invalidates all
// sessions' relcache entries. This option changes nothing.
void forget_seed(Oid sequence) {
    Relation relation =
        open_sequence(sequence, AccessShareLock, "It was dropped just now: call again.");
    const char *name = qualified_name(sequence);
    relation_close(relation, NoLock);

    SPI_connect();
    const int result = SPI_execute(psprintf("ALTER SEQUENCE %s INCREMENT BY 1", name), false, 0);
    if (result != SPI_OK_UTILITY)
        elog(ERROR, "could not alter sequence: %s", SPI_result_code_string(result));
    SPI_finish();
}

}  // namespace

extern "C" {

PG_FUNCTION_INFO_V1(shardid_uuid_v1);
PG_FUNCTION_INFO_V1(shardid_objectid);
PG_FUNCTION_INFO_V1(shardid_renew_identity);

Datum shardid_uuid_v1(FunctionCallInfo /*fcinfo*/) {
    Generator &generator = use_generator(own_sequence(uuid_sequence), "uuid_v1()");
    const uint64 timestamp = next_uuid_tick(generator);
    const UuidIdentity identity =
        uuid_identity_of(seed_of(generator.known.binding), GetSystemIdentifier(), MyDatabaseId);
    return uuid_datum(pack_uuid_v1({timestamp, identity.clock_seq, identity.node}));
}

Datum shardid_objectid(FunctionCallInfo /*fcinfo*/) {
    Generator &generator = use_generator(own_sequence(objectid_sequence), "objectid()");
    const uint64 tick = next_objectid_tick(generator);
    const uint64 process = own_bits(seed_of(generator.known.binding), GetSystemIdentifier(),
                                    MyDatabaseId, objectid_process_bits);
    return objectid_datum(objectid_of_tick(tick, process));
}

// A new seed is drawn at once, and with it one UUID or ObjectId that nobody sees.
Datum shardid_renew_identity(FunctionCallInfo /*fcinfo*/) {
    const Oid of_uuids = own_sequence(uuid_sequence);
    forget_seed(of_uuids);
    next_uuid_tick(use_generator(of_uuids, renewing));

    const Oid of_objectids = own_sequence(objectid_sequence);
    forget_seed(of_objectids);
    next_objectid_tick(use_generator(of_objectids, renewing));
    PG_RETURN_VOID();
}

}  // extern "C"

}  // namespace shardid
