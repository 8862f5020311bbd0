// The SQL functions that draw ids: next_id, with the shard given or set.

#include "core/layout.hpp"

#include "engine/arguments.h"
#include "engine/draw.h"
#include "engine/settings.h"

extern "C" {
#include "commands/dbcommands.h"
}

namespace shardid {

namespace {

constexpr const char *function_name = "next_id()";

pg_noinline void check_layout(Generator &generator, const Layout &layout) {
    checked_layout(layout.epoch_us, layout.widths.shard_bits, layout.widths.sequence_bits);
    check_max_value(generator.sequence, max_tick(layout.widths));
    begin_to_know(generator.known, generator.lease, generator.sequence, layout);
}

template <bool is_given, typename ShardOf>
pg_attribute_always_inline Datum next_id(Generator &generator, const Layout &layout,
                                         ShardOf shard_of) {
    const bool known = likely(is_known(generator.known, layout));
    if (unlikely(!known))
        check_layout(generator, layout);
    const uint64 shard = allowed_shard(generator.lease, generator.sequence, layout, shard_of());
    if (likely(known))
        return Int64GetDatum(static_cast<int64>(draw_known_id<is_given>(generator, layout, shard)));
    return Int64GetDatum(static_cast<int64>(draw_id<is_given>(generator, layout, shard)));
}

// A generator with a lease has one shard only.
int32 shard_to_draw(const Lease &lease) {
    if (unlikely(has_lease(lease)))
        return lease.shard;
    if (unlikely(shard_id == unset_shard_id))
        ereport(
            ERROR,
            (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE), errmsg("no shard is set"),
             errdetail("shardid.shard_id is %d.", unset_shard_id),
             errhint("With a number that no other database has, run SET shardid.shard_id = ... for "
                     "this session, and ALTER DATABASE %s SET shardid.shard_id = ... for those "
                     "that connect from now on. In a new session, first call id_shard(0), which "
                     "loads the library.",
                     quote_identifier(get_database_name(MyDatabaseId)))));
    return shard_id;
}

}  // namespace

extern "C" {

PG_FUNCTION_INFO_V1(shardid_next_id);
PG_FUNCTION_INFO_V1(shardid_next_id_of_set_shard);

Datum shardid_next_id(PG_FUNCTION_ARGS) {
    const Layout layout{{PG_GETARG_INT32(3), PG_GETARG_INT32(4)}, PG_GETARG_TIMESTAMPTZ(2)};
    Generator &generator = use_generator(PG_GETARG_OID(1), function_name);
    return next_id<true>(generator, layout, [&] { return PG_GETARG_INT32(0); });
}

// The generator is looked at before the setting: a shard of type bigint, which SQL takes for a
// regclass, then gets the error that says so.
Datum shardid_next_id_of_set_shard(PG_FUNCTION_ARGS) {
    const Layout layout{{PG_GETARG_INT32(2), PG_GETARG_INT32(3)}, PG_GETARG_TIMESTAMPTZ(1)};
    Generator &generator = use_generator(PG_GETARG_OID(0), function_name);
    return next_id<false>(generator, layout, [&] { return shard_to_draw(generator.lease); });
}

}  // extern "C"

}  // namespace shardid
