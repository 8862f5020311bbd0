// The SQL functions that draw an id: next_id, with the shard given or set.
#include "engine/arguments.h"
#include "engine/draw.h"
#include "engine/settings.h"

extern "C" {
#include "commands/dbcommands.h"
}

namespace shardid {

namespace {

pg_noinline void check_layout(Generator &generator, const Layout &layout) {
    checked_layout(layout.epoch_us, layout.widths.shard_bits, layout.widths.sequence_bits);
    check_max_value(generator.sequence, max_tick(layout.widths));
    begin_to_know(generator.known, generator.bounds, generator.sequence, layout);
}

template <bool is_given, typename ShardOf>
pg_attribute_always_inline Datum next_id(Generator &generator, const Layout &layout,
                                         ShardOf shard_of) {
    const bool was_known = likely(is_known(generator.known, layout));
    if (unlikely(!was_known))
        check_layout(generator, layout);
    const uint64 shard = allowed_shard(generator.bounds, generator.sequence, layout, shard_of());
    const uint64 id = likely(was_known) ? draw_known_id(generator, layout, shard, is_given)
                                        : draw_id(generator, layout, shard, is_given);
    return Int64GetDatum(static_cast<int64>(id));
}

// A generator with bounds has one shard only.
int32 shard_to_draw(const Bounds &bounds) {
    if (unlikely(has_bounds(bounds)))
        return bounds.shard;
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
Datum shardid_next_id(PG_FUNCTION_ARGS) {
    const Layout layout{{PG_GETARG_INT32(3), PG_GETARG_INT32(4)}, PG_GETARG_TIMESTAMPTZ(2)};
    Generator &generator = use_generator(PG_GETARG_OID(1), "next_id()");
    return next_id<true>(generator, layout, [&] { return PG_GETARG_INT32(0); });
}

// The generator is looked at before the setting: a shard of type bigint, which SQL takes for a
// regclass, then gets the error that says so.
PG_FUNCTION_INFO_V1(shardid_next_id_of_set_shard);
Datum shardid_next_id_of_set_shard(PG_FUNCTION_ARGS) {
    const Layout layout{{PG_GETARG_INT32(2), PG_GETARG_INT32(3)}, PG_GETARG_TIMESTAMPTZ(1)};
    Generator &generator = use_generator(PG_GETARG_OID(0), "next_id()");
    return next_id<false>(generator, layout, [&] { return shard_to_draw(generator.bounds); });
}

}  // extern "C"

}  // namespace shardid
