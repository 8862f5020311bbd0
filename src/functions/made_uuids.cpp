// The SQL function that draws UUIDs, uuid_v1, and the one that gives the database another identity
// for UUIDs and ObjectIds.

#include "core/uuid.hpp"

#include "engine/draw.h"
#include "engine/sequence.h"
#include "functions/uuid_parts.h"

extern "C" {
#include "executor/spi.h"
}

namespace shardid {

namespace {

constexpr const char *renewing = "renew_identity()";

// Gives the sequence a new relfilenode, which has the last value but not the seed. ALTER SEQUENCE
// checks that the sequence is the user's, waits for transactions that draw, and invalidates all
// sessions' relcache entries. This option changes nothing.
void forget_seed(Oid sequence) {
    relation_close(open_sequence(sequence, AccessShareLock, "It was dropped just now: call again."),
                   NoLock);
    const char *name = qualified_name(sequence);

    SPI_connect();
    const int result = SPI_execute(psprintf("ALTER SEQUENCE %s INCREMENT BY 1", name), false, 0);
    if (result != SPI_OK_UTILITY)
        elog(ERROR, "could not alter sequence: %s", SPI_result_code_string(result));
    SPI_finish();
}

}  // namespace

extern "C" {

PG_FUNCTION_INFO_V1(shardid_uuid_v1);
PG_FUNCTION_INFO_V1(shardid_renew_identity);

Datum shardid_uuid_v1(FunctionCallInfo /*fcinfo*/) {
    Generator &generator = use_generator(own_sequence(uuid_sequence), "uuid_v1()");
    const uint64 timestamp = draw_uuid_tick(generator);
    const UuidIdentity identity =
        uuid_identity_of(seed_of(generator.known.binding), GetSystemIdentifier(), MyDatabaseId);
    return uuid_datum(pack_uuid_v1({timestamp, identity.clock_seq, identity.node}));
}

// A new seed is drawn at once, and with it one UUID or ObjectId that is not returned.
Datum shardid_renew_identity(FunctionCallInfo /*fcinfo*/) {
    const Oid of_uuids = own_sequence(uuid_sequence);
    forget_seed(of_uuids);
    draw_uuid_tick(use_generator(of_uuids, renewing));

    const Oid of_objectids = own_sequence(objectid_sequence);
    forget_seed(of_objectids);
    draw_objectid_tick(use_generator(of_objectids, renewing));
    PG_RETURN_VOID();
}

}  // extern "C"

}  // namespace shardid
