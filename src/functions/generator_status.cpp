// The SQL functions that show a generator: id_generator_status its position, id_generator_layout
// the layout of its ids. They read the page without blocking sessions that draw, wait only where
// these do, for an open ALTER SEQUENCE, and need no more than SELECT.
#include "core/advance.hpp"

#include "engine/arguments.h"
#include "engine/sequence_page.h"
#include "engine/settled.h"

extern "C" {
#include "catalog/pg_authid_d.h"
#include "storage/procarray.h"
}

namespace shardid {

namespace {

// What the executor, the buffer manager and the planner check for a SELECT, which this function
// bypasses.
void check_readable(Relation relation) {
    check_privilege(relation, ACL_SELECT, "no SELECT", "SELECT");
    check_session(relation);
    if (RecoveryInProgress() && !RelationIsPermanent(relation))
        ereport(ERROR,
                (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                 errmsg("cannot access temporary or unlogged relations during recovery"),
                 errdetail("Sequence \"%s\" is unlogged.", RelationGetRelationName(relation)),
                 errhint("Ask the primary server.")));
}

// On a standby nothing takes a lock that ALTER SEQUENCE would wait for.
LOCKMODE lock_here() {
    return RecoveryInProgress() ? AccessShareLock : sequence_lockmode;
}

// Locked for the call only.
Relation open_readable(Oid relid, LOCKMODE lock) {
    // Also where the transaction has the lock already.
    AcceptInvalidationMessages();
    Relation relation = open_sequence(relid, lock, "Pass the name of a sequence.");
    check_readable(relation);
    return relation;
}

Position position_of(Relation relation) {
    return read_position(relation, definition_of(RelationGetRelid(relation)).seqincrement);
}

// 'infinity' for a time that no timestamp can show.
TimestampTz start_of(TimestampTz epoch, uint64 time) {
    return time > last_shown_time(epoch) ? DT_NOEND : clock_at(epoch, time);
}

// In whole milliseconds, as ids count them: 0 in the millisecond of the last id.
bool lead_us(TimestampTz last, TimestampTz clock, int64 *us) {
    const int64 past = clock % us_per_ms;
    const TimestampTz now = clock - (past < 0 ? past + us_per_ms : past);
    return !TIMESTAMP_NOT_FINITE(last) && !__builtin_sub_overflow(last, now, us);
}

// Of the columns, last_ts, last_sequence, lead.
void describe_last(ResultRow &row, const Position &position, const Layout &layout,
                   TimestampTz clock) {
    const TimestampTz last =
        start_of(layout.epoch_us, tick_time(layout.widths, position.last_tick));
    row.add(TimestampTzGetDatum(last), !position.is_called);
    row.add(Int32GetDatum(static_cast<int32>(tick_sequence(layout.widths, position.last_tick))),
            !position.is_called);

    // A generator that was set ahead before its first id starts there.
    int64 us = 0;
    const bool has_lead =
        lead_us(last, clock, &us) && (position.is_called || (us > 0 && clock >= layout.epoch_us));
    auto *interval = static_cast<Interval *>(palloc0(sizeof(Interval)));
    interval->day = static_cast<int32>(us / USECS_PER_DAY);
    interval->time = us % USECS_PER_DAY;
    row.add(IntervalPGetDatum(interval), !has_lead);
}

// As pg_stat_activity has it.
bool may_see_session(int pid) {
    const PGPROC *session = BackendPidGetProc(pid);
    return session != nullptr && (has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS) ||
                                  has_privs_of_role(GetUserId(), session->roleId));
}

// settled_before, held_back_by.
void describe_settled(ResultRow &row, Relation relation, uint64 binding, const Layout &layout) {
    Settled found{};
    const bool is_known = shows_notes(relation) && binding == binding_of(layout) &&
                          would_settle(relation, layout, &found);
    row.add(TimestampTzGetDatum(start_of(layout.epoch_us, found.time)), !is_known);
    row.add(Int32GetDatum(found.held_by),
            !found.is_held || (found.held_by != 0 && !may_see_session(found.held_by)));
}

// ids_until_negative, negative_at, ids_until_end, end_at.
void describe_outlook(ResultRow &row, uint64 last, const Layout &layout, TimestampTz clock) {
    const Widths widths = layout.widths;
    const uint64 now = clock < layout.epoch_us ? 0 : time_at(layout.epoch_us, clock);
    const uint64 ends[] = {last_positive_tick(widths), max_tick(widths)};
    for (const uint64 end : ends) {
        row.add(Int64GetDatum(static_cast<int64>(ticks_left(widths, last, now, end))));
        row.add(TimestampTzGetDatum(start_of(layout.epoch_us, tick_time(widths, end) + 1)));
    }
}

}  // namespace

extern "C" {

PG_FUNCTION_INFO_V1(shardid_id_generator_status);
Datum shardid_id_generator_status(PG_FUNCTION_ARGS) {
    const Layout layout = layout_argument(fcinfo, 1);
    const LOCKMODE lock = lock_here();
    Relation relation = open_readable(PG_GETARG_OID(0), lock);
    const Position position = position_of(relation);
    const TimestampTz clock = GetCurrentTimestamp();

    ResultRow row;
    describe_last(row, position, layout, clock);
    const uint64 logged_to = tick_time(layout.widths, position.logged_to);
    row.add(TimestampTzGetDatum(start_of(layout.epoch_us, logged_to)),
            !RelationIsPermanent(relation) || !position.is_called);
    describe_outlook(row, position.last_tick, layout, clock);
    describe_settled(row, relation, position.binding, layout);
    relation_close(relation, lock);
    return make_row(fcinfo, row);
}

// NULL for a sequence of which no id was drawn since it was made, restarted or restored.
PG_FUNCTION_INFO_V1(shardid_id_generator_layout);
Datum shardid_id_generator_layout(PG_FUNCTION_ARGS) {
    const LOCKMODE lock = lock_here();
    Relation relation = open_readable(PG_GETARG_OID(0), lock);
    const uint64 binding = position_of(relation).binding;
    relation_close(relation, lock);
    if (binding == unbound || kind_of(binding) != Kind::ids)
        PG_RETURN_NULL();

    const Layout layout = layout_of(binding);
    ResultRow row;
    row.add(TimestampTzGetDatum(layout.epoch_us));
    row.add(Int32GetDatum(layout.widths.shard_bits));
    row.add(Int32GetDatum(layout.widths.sequence_bits));
    return make_row(fcinfo, row);
}

}  // extern "C"

}  // namespace shardid
