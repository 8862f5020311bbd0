#include "engine/draw.h"

#include "core/objectid.hpp"
#include "core/uuid.hpp"

#include "engine/refusals.h"
#include "engine/settings.h"

namespace shardid {

namespace {

// Borrowing time: a session that has shardid.max_borrow advances ahead of the clock instead of
// waiting for it. Only ids are borrowed.

// How far ahead of the clock this session may advance. There is room for what is logged ahead.
uint64 most_borrowed_ms() {
    const uint64 drawable = max_lead_ms > logged_ahead_ms ? max_lead_ms - logged_ahead_ms : 0;
    return Min(static_cast<uint64>(max_borrow_ms), drawable);
}

// The tick after `last`, where that takes the generator no further ahead than the session may go,
// and no further than it has said; else the verdict is wait. REQUIRED: the page is ours: another
// may not advance before the clock does (see last_tick).
Advance borrow(const Layout &layout, uint64 last, uint64 now, uint64 said_ms) {
    return advance_or_borrow(layout.widths, last, now, Min(said_ms, most_borrowed_ms()));
}

// Whether this is the first time that the session may borrow so much from the generator. Then the
// log says so, before the session does, and *said_ms is what it has said. REQUIRED: no page is
// locked.
bool begins_to_borrow(Oid relid, uint64 *said_ms) {
    const uint64 most = most_borrowed_ms();
    if (most <= *said_ms)
        return false;
    *said_ms = most;
    mention_borrowing(relid, most);
    return true;
}

Outcome outcome_of(Verdict verdict) {
    if (verdict == Verdict::draw)
        return Outcome::drawn;
    return verdict == Verdict::wait ? Outcome::wait : Outcome::ended;
}

// Whether the storage is bound to what the call draws, or to nothing. Ids need exactly the layout
// that the call asks for; UUIDs and ObjectIds accept any seed. REQUIRED: begin_to_know.
bool fits_binding(uint64 found, const Known &known) {
    return found == unbound || have_one_scale(found, known.binding);
}

// Whether the caller lacks the right to have the storage bound by a draw of this tick. Core asks
// for UPDATE to let a sequence jump (setval). So does a draw that makes a generator of a plain
// sequence; but not one from a generator whose storage has forgotten its layout, in a dump or
// pg_upgrade, nor one from a sequence that is as it was made, unless the layout ends soon. W is
// Widths, or a Count.
template <typename W>
bool may_not_jump(const OpenPage &page, const Sequence &sequence, const W &widths, uint64 tick) {
    if (sequence.may_update || binding_of(page) != unbound)
        return false;
    const bool is_used = page.data->is_called || page.data->last_value != sequence.start_value;
    return ends_soon(widths, tick) || (is_used && is_jump(widths, last_tick_of(page), tick));
}

// The rule applied to this page at this moment. Changes nothing.
template <typename L>
pg_attribute_always_inline Attempt decide(const OpenPage &page, const Generator &generator,
                                          const L &layout, const Waiter &waiter) {
    Attempt attempt{.binding = binding_of(page), .clock = GetCurrentTimestamp()};
    if (unlikely(attempt.clock < layout.epoch_us))
        return attempt;

    const uint64 now = time_at(layout.epoch_us, attempt.clock, step_us(layout.widths));
    const uint32 stamp = generator.sequence.stamp;
    const uint64 rolled_back =
        last_draw_in(generator.replaced.temporary, generator.known.binding).tick;
    const uint64 last = last_tick(page, stamp, rolled_back, layout, waiter, now, &attempt.look);
    const uint64 step_to = earned_time(waiter, tick_time(layout.widths, last), attempt.clock);

    const Window &window = generator.bounds.window;
    Advance next = advance(layout.widths, last, clock_in(window, now), step_to);
    if constexpr (is_of_ids<L>)
        if (next.verdict == Verdict::wait && is_ours(page, stamp))
            next = borrow(layout, last, now, generator.said_borrow_ms);
    attempt.position = next.verdict == Verdict::draw ? next.tick : last;
    attempt.lead_ms = lead_ms_of(layout.widths, attempt.position, now);
    attempt.outcome =
        attempt.lead_ms > max_lead_ms ? Outcome::too_far_ahead : outcome_of(next.verdict);
    if (attempt.outcome == Outcome::drawn &&
        !(is_in(window, tick_time(layout.widths, attempt.position)) &&
          has_window_for(page, generator.bounds, stamp))) {
        attempt.outcome = Outcome::ask;
        attempt.moved_at = is_ours(page, stamp) ? InvalidXLogRecPtr : PageGetLSN(page.page);
    }
    return attempt;
}

// The last tick that is drawn together with this one.
template <typename W>
uint64 last_of_batch(const W &widths, uint64 tick, uint64 max_count) {
    return tick + further_ticks(widths, tick, max_count - 1);
}

// A draw up to this tick, with how far WAL is to be written for it.
template <typename W>
LastDraw draw_up_to(const Known &known, const W &widths, uint64 tick, uint64 lead_ms) {
    return {known.binding, tick, logged_to(widths, tick, lead_ms, max_lead_ms)};
}

// Whether a tick was found, or may be later: no refusal.
bool goes_on(Outcome outcome) {
    return outcome == Outcome::drawn || outcome == Outcome::wait || outcome == Outcome::ask;
}

// Before the tick is on the page: who finds it there finds the note.
void note_first(Known &known, const Sequence &sequence, const Layout &layout, uint64 tick) {
    const uint64 ms = first_ms_of(layout.epoch_us, tick_time(layout.widths, tick));
    if (sequence.notes_first_ids && !is_noted(known.first_note, ms))
        note_first_ms(known.first_note, sequence.relid, ms);
}

// One look at the page, under its lock.
template <typename L>
pg_attribute_always_inline Attempt try_draw(Generator &generator, const L &layout,
                                            const Waiter &waiter, uint64 max_count,
                                            bool was_known) {
    const OpenPage page = open_page(generator.pin, generator.sequence);
    Attempt attempt = decide(page, generator, layout, waiter);
    if (!was_known) {
        if (!fits_binding(attempt.binding, generator.known))
            attempt.outcome = Outcome::other_binding;
        else if (goes_on(attempt.outcome) &&
                 may_not_jump(page, generator.sequence, layout.widths, attempt.position))
            attempt.outcome = Outcome::jump;
        else if (attempt.binding != unbound)
            generator.known.binding =
                attempt.binding;  // of UUIDs and ObjectIds, the storage's seed
    }
    if (attempt.outcome == Outcome::drawn) {
        const uint64 last = last_of_batch(layout.widths, attempt.position, max_count);
        if constexpr (is_of_ids<L>)
            note_first(generator.known, generator.sequence, layout, attempt.position);
        attempt.covered_by =
            record_tick(page, generator.sequence,
                        draw_up_to(generator.known, layout.widths, last, attempt.lead_ms));
        // A lead that is larger than a crash can explain.
        attempt.is_mention_due =
            attempt.lead_ms > logged_ahead_ms && note_mention(page, attempt.clock);
    }
    close_page(generator.pin, page);
    return attempt;
}

// Handles what limit_draws_at_once keeps from being drawn at once.
void look_after(Known &known, Bounds &bounds, Oid relid, uint64 last, TimestampTz clock) {
    if (tick_time(known.layout.widths, last) >= bounds.renew_from)
        renew_window(bounds, relid, last);
    if (last >= known.negative_soon) {
        known.has_warned = true;
        known.negative_soon = UINT64_MAX;
        warn_of_negative_ids(relid, known.layout, clock);
    }
    limit_draws_at_once(known, bounds, last);
}

// What is left to do for ticks that are on the page, before they are returned.
void finish(ReplacedStorages &replaced, const Sequence &sequence, const LastDraw &last,
            const Attempt &attempt) {
    XLogRecPtr covered_by = attempt.covered_by;
    if (sequence.has_replaced_storage) {
        const XLogRecPtr remembered = remember_in_replaced_storage(replaced, sequence, last);
        covered_by = Max(covered_by, remembered);
    }
    make_durable(covered_by);
    if (attempt.is_mention_due)
        mention_lead(sequence.relid, attempt.lead_ms);
}

// A draw in any of the circumstances that it can find.
template <typename L>
pg_noinline Ticks draw_in_any_case(Generator &generator, const L &layout, uint64 max_count) {
    Assert(max_count > 0);
    const bool was_known = is_known(generator.known, layout);
    // Of ids this was done before, to check their shard.
    if constexpr (!is_of_ids<L>)
        if (!was_known)
            begin_to_know(generator.known, generator.sequence, layout);
    Assert(was_known || (generator.known.kind == Kind::none && generator.known.binding != unbound));
    Waiter waiter;
    for (;;) {
        const Attempt attempt = try_draw(generator, layout, waiter, max_count, was_known);
        if (attempt.outcome == Outcome::drawn) {
            if (!was_known)
                learn(generator.known);
            const uint64 last = last_of_batch(layout.widths, attempt.position, max_count);
            finish(generator.replaced, generator.sequence,
                   draw_up_to(generator.known, layout.widths, last, attempt.lead_ms), attempt);
            if constexpr (is_of_ids<L>)
                look_after(generator.known, generator.bounds, generator.sequence.relid, last,
                           attempt.clock);
            return {attempt.position, last - attempt.position + 1};
        }
        if (attempt.outcome == Outcome::ask) {
            wait_for_window(generator.bounds, generator.sequence.relid, attempt);
            if constexpr (is_of_ids<L>)
                if (generator.bounds.state == BoundsState::unknown) {
                    // If it is refused, what is known counts no more.
                    generator.checked.at = 0;
                    allow_shards(generator.bounds, generator.sequence, layout);
                }
            waiter = Waiter{};
            continue;
        }
        if (attempt.outcome != Outcome::wait)
            refuse(generator.sequence.relid, layout, attempt);
        if constexpr (is_of_ids<L>)
            if (attempt.look.starts < 0 &&
                begins_to_borrow(generator.sequence.relid, &generator.said_borrow_ms))
                continue;
        wait_for_next(waiter, layout.epoch_us, tick_time(layout.widths, attempt.position),
                      attempt.clock, step_us(layout.widths));
        waiter.look = attempt.look;
    }
}

template <typename L>
const auto &worked_widths(const Known &known, const L &layout) {
    if constexpr (is_of_ids<L>)
        return known.worked;
    else
        return layout.widths;
}

// The common case of a draw: a page of ours with a tick that is left and covered by WAL, and
// nothing to wait for, to report or to remember. Otherwise returns false, and has drawn
// nothing. REQUIRED: is_known, max_count > 0.
template <typename L>
pg_attribute_always_inline bool draw_at_once(Generator &generator, const L &layout,
                                             uint64 max_count, Ticks *ticks) {
    if (unlikely(generator.sequence.has_replaced_storage))
        return false;
    const auto &widths = worked_widths(generator.known, layout);
    const OpenPage page = open_page(generator.pin, generator.sequence);
    const TimestampTz clock = GetCurrentTimestamp();
    const uint64 now = time_at(layout.epoch_us, clock, step_us(widths));
    const Advance next = advance(widths, last_tick_of(page), now);
    const uint64 last = last_of_batch(widths, next.tick, max_count);
    const uint64 lead_ms = lead_ms_of(widths, next.tick, now);
    const bool may_draw =
        likely(clock >= layout.epoch_us) && likely(next.verdict == Verdict::draw) &&
        likely(lead_ms <= Min(max_lead_ms, logged_ahead_ms)) &&
        likely(last - generator.known.at_once_from < generator.known.at_once_count);
    const XLogRecPtr covered_by =
        likely(may_draw) ? record_logged_tick(page, generator.sequence, last) : InvalidXLogRecPtr;
    close_page(generator.pin, page);
    if (unlikely(covered_by == InvalidXLogRecPtr))
        return false;

    make_durable(covered_by);
    *ticks = {next.tick, last - next.tick + 1};
    return true;
}

// Inlined, so that drawing a single tick does not pay for the choice, nor UUIDs for a division.
template <typename L>
pg_attribute_always_inline Ticks draw_next(Generator &generator, const L &layout,
                                           uint64 max_count) {
    Ticks ticks;
    if (likely(is_known(generator.known, layout)) &&
        likely(draw_at_once(generator, layout, max_count, &ticks)))
        return ticks;
    return draw_in_any_case(generator, layout, max_count);
}

// An unbound page whose last value, read in this layout, is past the end of the layout or too far
// ahead to draw from, is left alone: its values are of another layout.
Attempt try_raise(const OpenPage &page, const Sequence &sequence, const Known &known,
                  const Layout &layout, uint64 tick) {
    Attempt attempt{.binding = binding_of(page), .clock = GetCurrentTimestamp()};
    const uint64 now =
        attempt.clock < layout.epoch_us ? 0 : time_at(layout.epoch_us, attempt.clock);
    attempt.position = Max(tick, last_tick_of(page));
    attempt.lead_ms = lead_ms_of(layout.widths, attempt.position, now);
    if (!fits_binding(attempt.binding, known))
        attempt.outcome = Outcome::other_binding;
    else if (attempt.position >= max_tick(layout.widths))
        attempt.outcome = Outcome::ended;
    else if (attempt.binding == unbound && attempt.lead_ms > max_lead_ms)
        attempt.outcome = Outcome::too_far_ahead;
    else {
        attempt.outcome = Outcome::drawn;
        attempt.covered_by = record_raise(page, sequence, known.binding, tick);
    }
    return attempt;
}

}  // namespace

pg_noinline uint64 draw_id(Generator &generator, const Layout &layout, uint64 shard,
                           bool is_given) {
    const uint64 tick = draw_in_any_case(generator, layout, 1).first;
    const Bounds &bounds = generator.bounds;
    const bool is_of_bounds = !is_given && has_bounds(bounds);
    const int32 present = is_of_bounds ? bounds.shard : static_cast<int32>(shard);
    return pack_id(layout.widths, allowed_shard(bounds, generator.sequence, layout, present), tick);
}

uint64 draw_known_id(Generator &generator, const Layout &layout, uint64 shard, bool is_given) {
    Assert(is_known(generator.known, layout));
    Ticks ticks;
    if (likely(draw_at_once(generator, layout, 1, &ticks)))
        return pack_id(generator.known.worked, layout.widths.shard_bits, shard, ticks.first);
    return draw_id(generator, layout, shard, is_given);
}

uint64 draw_uuid_tick(Generator &generator) {
    Assert(generator.sequence.kind == uuid_layout.kind);
    return draw_next(generator, uuid_layout, 1).first;
}

uint64 draw_objectid_tick(Generator &generator) {
    Assert(generator.sequence.kind == objectid_layout.kind);
    return draw_next(generator, objectid_layout, 1).first;
}

Ticks draw_ticks(Generator &generator, const Layout &layout, uint64 max_count) {
    return draw_next(generator, layout, max_count);
}

// Storage that a rollback may bring back remembers draws only: so one tick is drawn there, which is
// not returned.
uint64 raise_to(Generator &generator, const Layout &layout, uint64 tick) {
    Assert(tick <= max_tick(layout.widths));
    begin_to_know(generator.known, generator.bounds, generator.sequence, layout);
    const OpenPage page = open_page(generator.pin, generator.sequence);
    const Attempt attempt = try_raise(page, generator.sequence, generator.known, layout, tick);
    close_page(generator.pin, page);
    if (attempt.outcome != Outcome::drawn)
        refuse(generator.sequence.relid, layout, attempt);

    learn(generator.known);
    make_durable(attempt.covered_by);
    return generator.sequence.has_replaced_storage ? draw_ticks(generator, layout, 1).first
                                                   : attempt.position;
}

}  // namespace shardid
