#include "engine/settled.h"

#include "engine/draw.h"
#include "engine/refusals.h"
#include "engine/settings.h"

namespace shardid {

namespace {

enum class Closing { stays, waits, closes };

// What one look at the page has found.
struct Look {
    Attempt attempt;  // as of a draw of the page's last tick, its position
    Closing closing;
    uint64 next;     // the first time after that of the last tick, and after all that may have been
                     // drawn
    uint64 used_up;  // the time before
};

// The generator for a reader, who draws nothing: its sequence and bounds. Bounds of another layout,
// or released ones, have no time for the reader.
Generator reader_of(Relation relation, const Layout &layout) {
    Generator reader{};
    Sequence &sequence = reader.sequence;
    sequence.relid = RelationGetRelid(relation);
    sequence.needs_wal = RelationNeedsWAL(relation);
    sequence.max_value = definition_of(sequence.relid).seqmax;
    sequence.locator = relation->rd_locator;
    sequence.stamp = stamp_of(sequence.locator);
    load_bounds(reader.bounds, sequence, true);
    if (has_bounds(reader.bounds) && !(is_limited(reader.bounds) && reader.bounds.layout == layout))
        reader.bounds.window = no_time;
    return reader;
}

// Whether a draw of this time would be allowed.
bool may_be_drawn(const OpenPage &page, const Generator &reader, Widths widths, uint64 time,
                  uint64 now) {
    return time < max_drawn_time(widths) && time <= now + max_lead_ms &&
           max_tick(widths) <= static_cast<uint64>(reader.sequence.max_value) &&
           is_in(reader.bounds.window, time) &&
           has_window_for(page, reader.bounds, reader.sequence.stamp);
}

// What a draw would do if all numbers of the page's last time were used up. Only storage that is
// bound to the layout moves: the layout is the caller's, and in another one the last tick would be
// another time, perhaps far in the future. Where no draw is allowed, until someone moves the
// generator back, the bound would be above the ids that follow, or after the last time of the
// layout none at all.
Look look_at(const OpenPage &page, const Generator &reader, const Waiter &waiter,
             const Layout &layout) {
    const Widths widths = layout.widths;
    const uint64 last = last_tick_of(page);
    Look look{{.binding = binding_of(page), .position = last, .clock = GetCurrentTimestamp()},
              Closing::stays,
              0,
              tick_time(widths, last)};
    Attempt &attempt = look.attempt;
    if (reader.sequence.needs_wal)
        attempt.covered_by = BufferGetLSNAtomic(page.buffer);
    if (attempt.clock < layout.epoch_us)
        return look;
    const uint64 now = time_at(layout.epoch_us, attempt.clock);
    attempt.lead_ms = lead_ms_of(widths, last, now);
    attempt.outcome = attempt.lead_ms > max_lead_ms ? Outcome::too_far_ahead
                      : last > max_tick(widths)     ? Outcome::ended
                                                    : Outcome::drawn;
    if (attempt.binding != binding_of(layout))
        return look;
    const uint32 stamp = reader.sequence.stamp;
    look.used_up = tick_time(widths, last_tick(page, stamp, 0, layout, waiter, now, &attempt.look));
    const uint64 earliest =
        Max(clock_in(reader.bounds.window, now), earned_time(waiter, look.used_up, attempt.clock));
    look.next = Max(earliest, look.used_up + 1);
    const bool is_open = look.used_up == now && is_ours(page, stamp);
    if (!is_open && may_be_drawn(page, reader, widths, look.next, now))
        look.closing = earliest > look.used_up ? Closing::closes : Closing::waits;
    return look;
}

// Looks at the page, and closes the time of its last tick if that is over. As no id of that time
// can follow then, all of them are settled as soon as their transactions have ended.
Look look_and_close(Relation relation, const Generator &reader, const Waiter &waiter,
                    const Layout &layout) {
    const Widths widths = layout.widths;
    const OpenPage page = open_page(relation);
    Look look = look_at(page, reader, waiter, layout);
    Attempt &attempt = look.attempt;
    if (look.closing == Closing::closes) {
        // Ids then continue as after the last one.
        const uint64 sequence = attempt.position & (first_sequence_range(widths) - 1);
        const uint64 now = time_at(layout.epoch_us, attempt.clock);
        attempt.position = make_tick(widths, look.next, sequence);
        attempt.lead_ms = lead_ms_of(widths, attempt.position, now);
        attempt.covered_by =
            record_tick(page, reader.sequence,
                        {attempt.binding, attempt.position,
                         logged_to(widths, attempt.position, attempt.lead_ms, max_lead_ms)});
    }
    close_page(page);
    return look;
}

// Waits as a draw does: a generator that is ahead of the clock gains at most one time for each that
// really passes. If the page has moved on meanwhile, its last time is another one, and no longer
// waited for.
Attempt look_until_closed(Relation relation, const Generator &reader, const Layout &layout) {
    Waiter waiter;
    for (;;) {
        const Look look = look_and_close(relation, reader, waiter, layout);
        if (look.closing != Closing::waits ||
            (waiter.has_waited && waiter.wait.used_up_time != look.used_up))
            return look.attempt;
        wait_for_next(waiter, layout.epoch_us, look.used_up, look.attempt.clock, us_per_ms);
        waiter.look = look.attempt.look;
    }
}

void check_binding(Oid relid, const Layout &layout, uint64 found) {
    if (found == unbound)
        ereport(ERROR,
                (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                 errmsg("generator \"%s\" has generated no id since it was created, altered or "
                        "restored",
                        shown_name(relid)),
                 errdetail("Until then it knows no layout of its ids, and no bound below them."),
                 errhint("Call it again after the next id, or run SELECT raise_generator(%s, 0) "
                         "with the generator's layout.",
                         quote_literal_cstr(qualified_name(relid)))));
    if (found != binding_of(layout))
        refuse_binding(relid, binding_of(layout), found);
}

// The position is read before the notes. A transaction makes its note and moves the position under
// one lock of the page: so if its first id is not after the position that was read, its note is
// found, unless it has ended. And what is noted later is not before any position read earlier.
Settled settled_at(Oid relid, const Layout &layout, uint64 time) {
    const EarliestNote note = earliest_note(relid);
    const uint64 noted = note.exists ? time_of_first_ms(layout.epoch_us, note.ms) : time;
    if (note.exists && noted <= time)
        return {noted, true, note.pid};
    return {time, false, 0};
}

void check_settles(Relation relation) {
    const Oid relid = RelationGetRelid(relation);
    check_privilege(relation, ACL_SELECT, "no SELECT", "SELECT");
    check_session(relation);
    if (RecoveryInProgress())
        ereport(
            ERROR,
            (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE), errmsg("recovery is in progress"),
             errdetail("A standby does not have the locks of transactions on the primary, which "
                       "settled_below() needs for generator \"%s\".",
                       shown_name(relid)),
             errhint("Store its result in a table on the primary, and read that table in the "
                     "statement that reads the rows.")));
    if (has_new_storage(relation))
        ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                        errmsg("generator \"%s\" was created or altered in this transaction",
                               shown_name(relid)),
                        errdetail("Until the commit, other transactions use it as it was before."),
                        errhint("Call settled_below() after the commit.")));
    if (!shows_notes(relation))
        ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                        errmsg("transactions on generator \"%s\" do not note their first ids",
                               shown_name(relid)),
                        errdetail("They do if its CACHE is above 1; it is %lld.",
                                  static_cast<long long>(definition_of(relid).seqcache)),
                        errhint("Run ALTER SEQUENCE %s CACHE 2.", qualified_name(relid))));
    if (!relation->rd_islocaltemp)
        PreventCommandIfReadOnly("settled_below()");
    PreventCommandIfParallelMode("settled_below()");
}

Settled settle(Relation relation, const Layout &layout) {
    const Oid relid = RelationGetRelid(relation);
    const Attempt attempt = look_until_closed(relation, reader_of(relation, layout), layout);
    check_binding(relid, layout, attempt.binding);
    if (attempt.outcome != Outcome::drawn)
        refuse(relid, layout, attempt);
    make_durable(attempt.covered_by);
    return settled_at(relid, layout, tick_time(layout.widths, attempt.position));
}

}  // namespace

bool shows_notes(Relation relation) {
    return !RecoveryInProgress() && !has_new_storage(relation) &&
           definition_of(RelationGetRelid(relation)).seqcache > 1;
}

int64 settled_bound(Oid generator, const Layout &layout, void (*check_statement)()) {
    // Also where the transaction has the lock already.
    AcceptInvalidationMessages();
    Relation relation = open_sequence(generator, sequence_lockmode, "Pass the name of a sequence.");
    check_settles(relation);
    check_statement();
    const uint64 time = settle(relation, layout).time;
    relation_close(relation, sequence_lockmode);
    return static_cast<int64>(first_id_of(layout.widths, time));
}

bool would_settle(Relation relation, const Layout &layout, Settled *settled) {
    const Generator reader = reader_of(relation, layout);
    const OpenPage page = lock_page(ReadBuffer(relation, 0), BUFFER_LOCK_SHARE);
    const Look look = look_at(page, reader, Waiter{}, layout);
    close_page(page);
    if (look.attempt.outcome != Outcome::drawn)
        return false;
    const uint64 last = tick_time(layout.widths, look.attempt.position);
    *settled = settled_at(RelationGetRelid(relation), layout,
                          look.closing == Closing::stays ? last : look.next);
    return true;
}

}  // namespace shardid
