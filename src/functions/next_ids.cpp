// The SQL function that draws many ids: next_ids, which returns one id per call (SFRM_ValuePerCall)
// and draws as many at a time as the millisecond has left.
#include "engine/arguments.h"
#include "engine/draw.h"

namespace shardid {

namespace {

// One run of the function, from its first id to its last.
struct Run {
    Layout layout;
    uint64 shard;
    uint64 undrawn;  // how many ids are yet to be drawn
    Ticks drawn;     // what is drawn and not yet given
};

pg_noinline Run *begin_run(FunctionCallInfo fcinfo, MemoryContext context) {
    const Layout layout = layout_argument(fcinfo, 3);
    const uint64 shard = checked_shard(PG_GETARG_INT32(0), layout.widths);
    const int32 count = PG_GETARG_INT32(1);
    if (count < 0)
        ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                        errmsg("count must not be negative"), errdetail("The count is %d.", count),
                        errhint("Pass a number of ids, 0 or more.")));
    auto *run = static_cast<Run *>(MemoryContextAlloc(context, sizeof(Run)));
    *run = {layout, shard, static_cast<uint64>(count), {0, 0}};
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

extern "C" {

// Between two calls the caller can do anything: change the role, alter or drop the sequence. So
// each call looks the generator up, as next_id does.
PG_FUNCTION_INFO_V1(shardid_next_ids);
Datum shardid_next_ids(PG_FUNCTION_ARGS) {
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

}  // extern "C"

}  // namespace shardid
