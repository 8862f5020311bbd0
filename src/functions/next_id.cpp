// The SQL functions that draw ids: next_id, with the shard given or set.
#include "core/worked_layout.hpp"

#include "functions/arguments.h"
#include "engine/draw.h"
#include "engine/settings.h"

extern "C" {
#include "commands/dbcommands.h"
}

namespace shardid {

namespace {

constexpr const char *function_name = "next_id()";

pg_noinline void check_scheme(const Generator &generator, const Scheme &scheme) {
    checked_scheme(scheme.epoch, scheme.layout.shard_bits, scheme.layout.sequence_bits);
    check_max_value(generator, max_tick(scheme.layout));
}

pg_attribute_always_inline Datum next_id(Generator &generator, int32 shard_argument,
                                         const Scheme &scheme) {
    const bool known = likely(is_known(generator, scheme));
    if (unlikely(!known))
        check_scheme(generator, scheme);
    const uint64 shard = checked_shard(shard_argument, scheme.layout);
    const uint64 tick =
        likely(known) ? draw_known_tick(generator, scheme) : draw_tick(generator, scheme);
    return Int64GetDatum(static_cast<int64>(pack_id(scheme.layout, shard, tick)));
}

int32 configured_shard() {
    if (unlikely(shard_id == unset_shard_id))
        ereport(
            ERROR,
            (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE), errmsg("no shard is set"),
             errdetail("shardid.shard_id is %d.", unset_shard_id),
             errhint("Run SET shardid.shard_id = ... for this session, and ALTER DATABASE %s SET "
                     "shardid.shard_id = ... for those that connect from now on; or pass the "
                     "shard to next_id().",
                     quote_identifier(get_database_name(MyDatabaseId)))));
    return shard_id;
}

}  // namespace

}  // namespace shardid

extern "C" {

PG_FUNCTION_INFO_V1(shardid_next_id);
PG_FUNCTION_INFO_V1(shardid_next_id_of_set_shard);

Datum shardid_next_id(PG_FUNCTION_ARGS) {
    const shardid::Scheme scheme{{PG_GETARG_INT32(3), PG_GETARG_INT32(4)},
                                 PG_GETARG_TIMESTAMPTZ(2)};
    shardid::Generator &generator =
        shardid::use_generator(PG_GETARG_OID(1), shardid::function_name);
    return shardid::next_id(generator, PG_GETARG_INT32(0), scheme);
}

// The generator is looked at before the setting: a shard of type bigint, which SQL takes for a
// regclass, then gets the error that says so.
Datum shardid_next_id_of_set_shard(PG_FUNCTION_ARGS) {
    const shardid::Scheme scheme{{PG_GETARG_INT32(2), PG_GETARG_INT32(3)},
                                 PG_GETARG_TIMESTAMPTZ(1)};
    shardid::Generator &generator =
        shardid::use_generator(PG_GETARG_OID(0), shardid::function_name);
    return shardid::next_id(generator, shardid::configured_shard(), scheme);
}

}  // extern "C"
