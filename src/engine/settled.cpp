#include "engine/settled.h"

#include "core/advance.hpp"
#include "core/binding.hpp"
#include "core/first_ms.hpp"

#include "engine/durable.h"
#include "engine/first_note.h"
#include "engine/refusals.h"
#include "engine/sequence.h"
#include "engine/sequence_page.h"
#include "engine/wait.h"

namespace shardid {

namespace {

// The last tick to which this session has advanced a generator here. No id has its time, so while
// the clock has not passed it there is nothing to be gained by a further advance.
struct Closed {
    Oid relid;
    uint64 tick;
};

Closed closed{InvalidOid, 0};

// What one look at the page has found.
struct Look {
    uint64 last;
    uint64 now;  // the clock's time
    uint64 binding;
    bool is_ours;
    XLogRecPtr covered_by;
};

uint64 time_now(const Layout &layout) {
    const TimestampTz clock = GetCurrentTimestamp();
    return clock < layout.epoch_us ? 0 : time_at(layout.epoch_us, clock);
}

Look look_at(const OpenPage &page, Relation relation, const Layout &layout) {
    return {last_tick_of(page), time_now(layout), binding_of(page),
            is_ours(page, stamp_of(locator_of(relation))),
            RelationNeedsWAL(relation) ? BufferGetLSNAtomic(page.buffer) : InvalidXLogRecPtr};
}

Look look(Relation relation, const Layout &layout) {
    const OpenPage page = lock_page(ReadBuffer(relation, 0), BUFFER_LOCK_SHARE);
    const Look found = look_at(page, relation, layout);
    UnlockReleaseBuffer(page.buffer);
    return found;
}

// Whether the last tick was drawn in this layout. In another one it would be another time: so a
// caller, whose layout is an argument, could move the generator far ahead.
bool is_of(const Look &found, const Layout &layout) {
    return found.is_ours && found.binding == binding_of(layout);
}

Sequence sequence_of(Relation relation) {
    Sequence sequence{};
    sequence.relid = RelationGetRelid(relation);
    sequence.needs_wal = RelationNeedsWAL(relation);
    sequence.max_value = definition_of(sequence.relid).seqmax;
    sequence.locator = locator_of(relation);
    sequence.stamp = stamp_of(sequence.locator);
    return sequence;
}

// A tick of this time from which ids continue as after `last`.
uint64 tick_after(Widths widths, uint64 last, uint64 time) {
    return make_tick(widths, time,
                     tick_sequence(widths, last) & (first_sequence_range(widths) - 1));
}

bool has_room(const Sequence &sequence, Widths widths, uint64 time) {
    return time < max_drawn_time(widths) &&
           tick_after_ms(widths, make_tick(widths, time + 1, 0), logged_ahead_ms) <=
               static_cast<uint64>(sequence.max_value);
}

// Advances the generator to the present if it is still at `last`, and that is earlier; or to the
// next time, if the caller has waited for one. As no id of the time of `last` can follow then, all
// of them are settled as soon as their transactions have ended.
void close_time(Relation relation, const Layout &layout, uint64 last, bool has_waited) {
    const Sequence sequence = sequence_of(relation);
    const Widths widths = layout.widths;
    const OpenPage page = open_page(relation);
    const Look found = look_at(page, relation, layout);
    const uint64 ended = tick_time(widths, last);
    const uint64 time = has_waited ? Max(found.now, ended + 1) : found.now;
    const uint64 tick = tick_after(widths, last, time);
    const bool closes = time > ended && is_of(found, layout) && found.last == last &&
                        has_room(sequence, widths, time);
    XLogRecPtr covered_by = found.covered_by;
    if (closes)
        covered_by = record_tick(
            page, sequence, {found.binding, tick, tick_after_ms(widths, tick, logged_ahead_ms)});
    close_page(page);
    if (!closes)
        return;
    make_durable(covered_by);
    closed = {sequence.relid, tick};
}

// An ALTER SEQUENCE under way is not waited for: then the time stays open.
void try_to_close_time(Relation relation, const Layout &layout, uint64 last, bool has_waited) {
    const Oid relid = RelationGetRelid(relation);
    if (!ConditionalLockRelationOid(relid, RowExclusiveLock))
        return;
    // The lock has brought invalidations, and the relation may have other storage by now.
    if (!has_replaced_storage(relation))
        close_time(relation, layout, last, has_waited);
    UnlockRelationOid(relid, RowExclusiveLock);
}

// A generator that is ahead of the clock gains at most one time for each that really passes, as if
// an id were generated.
void wait_for_a_time() {
    constexpr long ms = 1;
    (void)WaitLatch(MyLatch, WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, ms + 1, PG_WAIT_EXTENSION);
    CHECK_FOR_INTERRUPTS();
}

void close_last_time(Relation relation, const Layout &layout) {
    const Look found = look(relation, layout);
    const uint64 time = tick_time(layout.widths, found.last);
    const bool is_ahead = time > found.now;
    const bool is_closed = closed.relid == RelationGetRelid(relation) && closed.tick == found.last;
    if (!is_of(found, layout) || time == found.now || (is_ahead && is_closed))
        return;
    if (is_ahead)
        wait_for_a_time();
    try_to_close_time(relation, layout, found.last, is_ahead);
}

}  // namespace

bool shows_notes(Relation relation) {
    return !RecoveryInProgress() && !has_new_storage(relation) &&
           definition_of(RelationGetRelid(relation)).seqcache > 1;
}

// The position is read before the notes. A transaction makes its note and moves the position under
// one lock of the page: so if its first id is not after the position that was read here, its note
// is found, unless it has ended. And what is noted later is not before any position read earlier.
Settled settled(Relation relation, const Layout &layout) {
    const Look found = look(relation, layout);
    const uint64 wanted = binding_of(layout);
    if (found.binding != unbound && found.binding != wanted)
        refuse_binding(RelationGetRelid(relation), wanted, found.binding);
    make_durable(found.covered_by);

    const uint64 time = tick_time(layout.widths, found.last);
    const EarliestNote note = earliest_note(RelationGetRelid(relation));
    const uint64 noted = note.exists ? time_of_first_ms(layout.epoch_us, note.ms) : time;
    if (note.exists && noted <= time)
        return {noted, true, note.pid};
    return {time, false, 0};
}

Settled settle(Relation relation, const Layout &layout) {
    close_last_time(relation, layout);
    return settled(relation, layout);
}

}  // namespace shardid
