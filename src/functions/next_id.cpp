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

SQL_FUNCTION(shardid_next_id) {
    const Layout layout{{PG_GETARG_INT32(3), PG_GETARG_INT32(4)}, PG_GETARG_TIMESTAMPTZ(2)};
    Generator &generator = use_generator(PG_GETARG_OID(1), "next_id()");
    return next_id<true>(generator, layout, [&] { return PG_GETARG_INT32(0); });
}

// The generator is looked at before the setting: a shard of type bigint, which SQL takes for a
// regclass, then gets the error that says so.
SQL_FUNCTION(shardid_next_id_of_set_shard) {
    const Layout layout{{PG_GETARG_INT32(2), PG_GETARG_INT32(3)}, PG_GETARG_TIMESTAMPTZ(1)};
    Generator &generator = use_generator(PG_GETARG_OID(0), "next_id()");
    return next_id<false>(generator, layout, [&] { return shard_to_draw(generator.bounds); });
}

// The SQL function that draws many ids: next_ids, which returns one id per call (SFRM_ValuePerCall)
// and draws as many at a time as the millisecond has left.

namespace {

// One run of the function, from its first id to its last.
struct Run {
    Layout layout;
    uint64 shard;
    uint64 undrawn;  // how many ids are yet to be drawn
    Ticks drawn;     // what is drawn and not yet given
};

uint64 checked_number_of_ids(int32 count) {
    if (count < 0)
        ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                        errmsg("count must not be negative"), errdetail("The count is %d.", count),
                        errhint("Pass a number of ids, 0 or more.")));
    return static_cast<uint64>(count);
}

pg_noinline Run *begin_run(FunctionCallInfo fcinfo, MemoryContext context) {
    const Layout layout = layout_argument(fcinfo, 3);
    auto *run = static_cast<Run *>(MemoryContextAlloc(context, sizeof(Run)));
    *run = {layout,
            checked_shard(PG_GETARG_INT32(0), layout.widths),
            checked_number_of_ids(PG_GETARG_INT32(1)),
            {0, 0}};
    return run;
}

pg_noinline void draw_more(Run &run, Generator &generator) {
    check_max_value(generator.sequence, max_tick(run.layout.widths));
    if (!is_known(generator.known, run.layout))
        begin_to_know(generator.known, generator.bounds, generator.sequence, run.layout);
    const auto shard = static_cast<int32>(run.shard);
    allowed_shard(generator.bounds, generator.sequence, run.layout, shard);
    run.drawn = draw_ticks(generator, run.layout, run.undrawn);
    allowed_shard(generator.bounds, generator.sequence, run.layout, shard);
    run.undrawn -= run.drawn.count;
}

int64 give_one(Run &run) {
    --run.drawn.count;
    return static_cast<int64>(pack_id(run.layout.widths, run.shard, run.drawn.first++));
}

}  // namespace

// Between two calls the caller can do anything: change the role, alter or drop the sequence. So
// each call looks the generator up, as next_id does.
SQL_FUNCTION(shardid_next_ids) {
    if (SRF_IS_FIRSTCALL()) {
        FuncCallContext *first = SRF_FIRSTCALL_INIT();
        first->user_fctx = begin_run(fcinfo, first->multi_call_memory_ctx);
    }
    FuncCallContext *context = SRF_PERCALL_SETUP();
    auto &run = *static_cast<Run *>(context->user_fctx);
    Generator &generator = use_generator(PG_GETARG_OID(2), "next_ids()");

    if (run.drawn.count == 0) {
        if (run.undrawn == 0)
            SRF_RETURN_DONE(context);
        draw_more(run, generator);
    }
    SRF_RETURN_NEXT(context, Int64GetDatum(give_one(run)));
}

}  // namespace shardid
