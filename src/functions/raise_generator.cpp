// The SQL function raise_generator, which raises a generator past an id that another one has
// generated, and unlike setval never lowers it.
#include "engine/arguments.h"
#include "engine/draw.h"
#include "engine/settings.h"

namespace shardid {

namespace {

// All shards of the generator share its milliseconds, so it has to leave the id's own behind.
uint64 last_tick_of_ms(Widths widths, int64 id) {
    const uint64 time = id_time(widths, static_cast<uint64>(id));
    if (time >= max_drawn_time(widths))
        ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
                        errmsg("no id can be generated after this one"),
                        errdetail("The id is %lld.", static_cast<long long>(id)),
                        errhint("Pass an id of the layout, before the end of its time.")));
    return make_tick(widths, time, max_sequence(widths));
}

// Otherwise no session could draw from the generator afterwards.
void check_lead(const Layout &layout, uint64 tick) {
    const TimestampTz clock = GetCurrentTimestamp();
    const uint64 now = clock < layout.epoch_us ? 0 : time_at(layout.epoch_us, clock);
    const uint64 lead_ms = lead_ms_of(layout.widths, tick, now);
    if (lead_ms <= max_lead_ms)
        return;
    ereport(
        ERROR,
        (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
         errmsg("id is too far ahead of the clock"),
         errdetail("It is %llu ms ahead, and shardid.max_lead is %llu ms.",
                   static_cast<unsigned long long>(lead_ms),
                   static_cast<unsigned long long>(max_lead_ms)),
         errhint(
             "Set the server's clock right, pass the layout that the id was generated "
             "with, or raise shardid.max_lead, as a superuser or with SET on this parameter.")));
}

}  // namespace

extern "C" {

PG_FUNCTION_INFO_V1(shardid_raise_generator);
Datum shardid_raise_generator(PG_FUNCTION_ARGS) {
    const Layout layout = layout_argument(fcinfo, 2);
    const uint64 tick = last_tick_of_ms(layout.widths, PG_GETARG_INT64(1));
    Generator &generator = use_generator(PG_GETARG_OID(0), "raise_generator()");
    if (!generator.sequence.may_update)
        refuse_privilege(generator.sequence.relid, "no UPDATE", "UPDATE");
    check_max_value(generator.sequence, max_tick(layout.widths));
    check_lead(layout, tick);

    const uint64 last = raise_to(generator, layout, tick);
    return Int64GetDatum(static_cast<int64>(pack_id(layout.widths, 0, last + 1)));
}

}  // extern "C"

}  // namespace shardid
