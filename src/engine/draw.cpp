#include "core/advance.hpp"
#include "core/binding.hpp"
#include "core/objectid.hpp"
#include "core/outlook.hpp"
#include "core/page_notes.hpp"
#include "core/uuid_ticks.hpp"
#include "core/worked_widths.hpp"

#include "engine/draw.h"
#include "engine/durable.h"
#include "engine/refusals.h"
#include "engine/replaced_storage.h"
#include "engine/sequence_page.h"
#include "engine/settings.h"
#include "engine/wait.h"

namespace shardid {

namespace {

enum class Outcome { drawn, wait, before_epoch, ended, too_far_ahead, other_binding, jump };

struct Attempt {
    Outcome outcome;
    bool is_ahead;  // of the clock, by more than a crash can account for
    bool is_mention_due;
    uint64 tick;  // the first one drawn; or the last one, after which none could be drawn
    TimestampTz clock;
    FirstLook look;         // at the page, if it is not ours
    XLogRecPtr covered_by;  // how far WAL has to be durable before the ticks are shown
};

template <std::int64_t step, std::uint64_t numbers, std::uint64_t last>
bool is_known(const Generator &generator, const LayoutOf<Count<step, numbers, last>> &layout) {
    return generator.known.kind == drawn_kind(layout.widths);
}

Kind drawn_kind(Widths /*widths*/) {
    return Kind::ids;
}

// What storage that is not bound yet is to be bound to.
uint64 new_binding(const Layout &layout) {
    return binding_of(layout);
}

template <std::int64_t step, std::uint64_t numbers, std::uint64_t last>
pg_noinline uint64 new_binding(const LayoutOf<Count<step, numbers, last>> &layout) {
    uint64 random;
    if (!pg_strong_random(&random, sizeof(random)))
        ereport(ERROR, (errcode(ERRCODE_INTERNAL_ERROR), errmsg("could not get random bits")));
    return binding_of(drawn_kind(layout.widths), random & max_of(seed_bits));
}

// To be called where nothing is known of the storage. What the extension makes from a sequence of
// its own is not only what its storage remembers, which a dump or pg_upgrade forgets.
template <typename W>
pg_noinline void begin_to_know(Generator &generator, const LayoutOf<W> &layout) {
    const uint64 wanted = new_binding(layout);
    if (drawn_kind(layout.widths) == Kind::ids && generator.makes != Kind::ids)
        refuse_binding(generator, wanted, binding_of(generator.makes, 0));
    generator.known = nothing_known(wanted);
}

// Whether the storage is what the call takes it for, or can become it. Ids have exactly the layout
// that they ask for; what else is drawn takes the seed that is there.
pg_noinline bool is_right(const OpenPage &page, Generator &generator) {
    const uint64 wanted = generator.known.binding;
    const uint64 found = binding_of(page);
    if (found == unbound)
        return true;
    generator.known.binding = found;
    return have_one_scale(found, wanted);
}

// Core asks for UPDATE to let a sequence jump (setval). So does a draw that makes a generator of a
// plain sequence; but not one that goes on with a generator whose storage has forgotten its layout,
// in a dump or pg_upgrade, nor one from a sequence that is as it was made, if it stays of use.
template <typename W>
pg_noinline bool may_not_jump(const OpenPage &page, const Generator &generator, W widths,
                              uint64 tick) {
    if (generator.may_update || binding_of(page) != unbound)
        return false;
    const bool is_used = page.data->is_called || page.data->last_value != generator.start_value;
    return ends_soon(widths, tick) || (is_used && is_jump(widths, last_tick_of(page), tick));
}

// REQUIRED: the storage is bound to generator.known.binding.
pg_noinline void learn(Generator &generator) {
    Known &known = generator.known;
    known.kind = kind_of(known.binding);
    known.negative_soon = UINT64_MAX;
    if (known.kind != Kind::ids)
        return;
    known.layout = layout_of(known.binding);
    known.worked = worked_out(known.layout.widths);
    if (!generator.has_warned)
        known.negative_soon = negative_soon_from(known.layout.widths);
}

// What `advance` is to go on from. A page that is not ours knows nothing of this very millisecond:
// ids were perhaps drawn in it that are forgotten or rolled back. So it goes on after the
// millisecond in which the caller first saw it so. Between two looks others can draw, and somebody
// can move the page again: then the wait begins anew. But moves alone do not keep anybody waiting.
// A page that was ahead of the clock at the first look may be moved back before the next one, once
// the clock has caught up: then it is the page's time that must be over.
template <typename W>
pg_attribute_always_inline uint64 last_tick(const OpenPage &page, const Generator &generator,
                                            W widths, const Wait &wait, uint64 now,
                                            FirstLook *look) {
    const uint64 last =
        generator.is_temporary ? Max(last_tick_of(page), generator.remembered) : last_tick_of(page);
    if (likely(is_ours(page, generator.stamp)))
        return last;
    look->takings = notes_of(page).takings;
    const bool none_drawn = wait.look.takings == look->takings && wait.waited_us < takings_last_us;
    look->time = none_drawn ? wait.look.time : now;
    look->page_time = none_drawn ? wait.look.page_time : tick_time(widths, last);
    const uint64 used_up = look->page_time > now ? look->time : Max(look->time, look->page_time);
    return Max(last, make_tick(widths, used_up, max_sequence(widths)));
}

// How far ahead of the clock this session may step instead of waiting. A crash takes the generator
// a second further: from there it must still be drawn from.
uint64 most_borrowed_ms() {
    const uint64 drawable = max_lead_ms > logged_ahead_ms ? max_lead_ms - logged_ahead_ms : 0;
    return Min(static_cast<uint64>(max_borrow_ms), drawable);
}

// Instead of a wait. On a page that is not ours there is none: it may not go on before the clock
// does (see last_tick).
pg_noinline Advance borrow(const OpenPage &page, const Generator &generator, Widths widths,
                           uint64 last, uint64 now) {
    const uint64 said = is_ours(page, generator.stamp) ? generator.said_borrow_ms : 0;
    return advance_or_borrow(widths, last, now, Min(said, most_borrowed_ms()));
}

// Whether this is the first time that the session may borrow so much from the generator: it says so
// in the log, outside every lock, before it does.
pg_noinline bool begins_to_borrow(Generator &generator, Widths /*widths*/, const FirstLook &look) {
    const bool is_page_ours = look.takings == no_look.takings;
    const uint64 most = most_borrowed_ms();
    if (most <= generator.said_borrow_ms || !is_page_ours)
        return false;
    generator.said_borrow_ms = most;
    mention_borrowing(generator, most);
    return true;
}

// Only ids are borrowed.
template <std::int64_t step, std::uint64_t numbers, std::uint64_t last>
Advance borrow(const OpenPage & /*page*/, const Generator & /*generator*/,
               Count<step, numbers, last> /*count*/, uint64 /*last*/, uint64 /*now*/) {
    return {Verdict::wait, 0};
}

template <std::int64_t step, std::uint64_t numbers, std::uint64_t last>
bool begins_to_borrow(Generator & /*generator*/, Count<step, numbers, last> /*count*/,
                      const FirstLook & /*look*/) {
    return false;
}

uint64 lead_of(uint64 time, uint64 now) {
    return time > now ? time - now : 0;
}

Outcome outcome_of(Verdict verdict) {
    switch (verdict) {
        case Verdict::draw:
            return Outcome::drawn;
        case Verdict::wait:
            return Outcome::wait;
        default:
            return Outcome::ended;
    }
}

template <typename W>
pg_attribute_always_inline Attempt decide(const OpenPage &page, const Generator &generator,
                                          const LayoutOf<W> &layout, const Wait &wait) {
    const TimestampTz clock = GetCurrentTimestamp();
    Attempt attempt{Outcome::before_epoch, false, false, 0, clock, no_look, InvalidXLogRecPtr};
    if (unlikely(clock < layout.epoch_us))
        return attempt;

    const W widths = layout.widths;
    const uint64 now = time_at(layout.epoch_us, clock, step_us(widths));
    const uint64 last = last_tick(page, generator, widths, wait, now, &attempt.look);
    const uint64 step_to =
        unlikely(wait.began) ? earned_time(wait, tick_time(widths, last), clock) : 0;

    Advance next = advance(widths, last, now, step_to);
    if (unlikely(next.verdict == Verdict::wait))
        next = borrow(page, generator, widths, last, now);
    attempt.tick = likely(next.verdict == Verdict::draw) ? next.tick : last;
    const uint64 lead_ms = ms_of_times(widths, lead_of(tick_time(widths, attempt.tick), now));
    attempt.is_ahead = lead_ms > logged_ahead_ms;
    attempt.outcome =
        unlikely(lead_ms > max_lead_ms) ? Outcome::too_far_ahead : outcome_of(next.verdict);
    return attempt;
}

// The last tick that is drawn together with this one.
template <typename W>
uint64 last_drawn(W widths, uint64 tick, uint64 max_count) {
    return tick + further_ticks(widths, tick, max_count - 1);
}

template <typename W>
pg_attribute_always_inline Attempt try_draw(Generator &generator, const LayoutOf<W> &layout,
                                            const Wait &wait, uint64 max_count, bool known) {
    const OpenPage page = open_page(generator);
    Attempt attempt = decide(page, generator, layout, wait);
    if (unlikely(!known)) {
        if (!is_right(page, generator))
            attempt.outcome = Outcome::other_binding;
        else if (may_not_jump(page, generator, layout.widths, attempt.tick))
            attempt.outcome = Outcome::jump;
    }
    if (likely(attempt.outcome == Outcome::drawn)) {
        const uint64 last = last_drawn(layout.widths, attempt.tick, max_count);
        attempt.covered_by =
            record_tick(page, generator, last, logged_ahead_of(layout.widths, last));
        attempt.is_mention_due = unlikely(attempt.is_ahead) && note_mention(page, attempt.clock);
    }
    close_page(generator, page);
    return attempt;
}

template <typename W>
uint64 lead_ms_of(const Attempt &attempt, const LayoutOf<W> &layout) {
    const W widths = layout.widths;
    const uint64 now = attempt.clock < layout.epoch_us
                           ? 0
                           : time_at(layout.epoch_us, attempt.clock, step_us(widths));
    return ms_of_times(widths, lead_of(tick_time(widths, attempt.tick), now));
}

[[noreturn]] void refuse_end(const Layout &layout, TimestampTz clock) {
    refuse_ended(layout, clock);
}

template <std::int64_t step, std::uint64_t numbers, std::uint64_t last>
[[noreturn]] void refuse_end(const LayoutOf<Count<step, numbers, last>> &layout,
                             TimestampTz clock) {
    refuse_ended(clock_at(layout.epoch_us, max_drawn_time(layout.widths), step), clock);
}

template <typename W>
[[noreturn]] pg_noinline void refuse(const Generator &generator, const LayoutOf<W> &layout,
                                     const Attempt &attempt) {
    const Kind kind = drawn_kind(layout.widths);
    switch (attempt.outcome) {
        case Outcome::other_binding:
            refuse_binding(generator, new_binding(layout), generator.known.binding);
        case Outcome::jump:
            refuse_jump(generator, attempt.tick);
        case Outcome::before_epoch:
            refuse_before_epoch(kind, layout.epoch_us, attempt.clock);
        case Outcome::too_far_ahead:
            refuse_too_far_ahead(generator, kind, lead_ms_of(attempt, layout));
        default:
            refuse_end(layout, attempt.clock);
    }
}

// Only ids can be negative.
pg_noinline void warn_once(Generator &generator, const Layout &layout, TimestampTz clock) {
    generator.has_warned = true;
    generator.known.negative_soon = UINT64_MAX;
    warn_of_negative_ids(generator, layout, clock);
}

template <std::int64_t step, std::uint64_t numbers, std::uint64_t last>
void warn_once(Generator & /*generator*/, const LayoutOf<Count<step, numbers, last>> & /*widths*/,
               TimestampTz /*clock*/) {}

// Everything that a draw may meet.
template <typename W>
pg_noinline Ticks draw_in_any_case(Generator &generator, const LayoutOf<W> &layout,
                                   uint64 max_count) {
    const bool known = is_known(generator, layout);
    if (!known)
        begin_to_know(generator, layout);
    Wait wait = no_wait;
    for (;;) {
        Attempt attempt = try_draw(generator, layout, wait, max_count, known);
        if (attempt.outcome == Outcome::drawn) {
            if (!known)
                learn(generator);
            const uint64 last = last_drawn(layout.widths, attempt.tick, max_count);
            if (generator.has_replaced_storage) {
                const XLogRecPtr remembered = remember_in_replaced_storage(
                    generator, last, logged_ahead_of(layout.widths, last));
                attempt.covered_by = Max(attempt.covered_by, remembered);
            }
            make_durable(attempt.covered_by);
            if (attempt.is_mention_due)
                mention_lead(generator, lead_ms_of(attempt, layout));
            if (last >= generator.known.negative_soon)
                warn_once(generator, layout, attempt.clock);
            return {attempt.tick, last - attempt.tick + 1};
        }
        if (attempt.outcome != Outcome::wait)
            refuse(generator, layout, attempt);
        if (begins_to_borrow(generator, layout.widths, attempt.look))
            continue;
        wait_for_next(wait, layout.epoch_us, tick_time(layout.widths, attempt.tick), attempt.clock,
                      step_us(layout.widths));
        wait.look = attempt.look;
    }
}

const WorkedWidths &worked_widths(const Generator &generator, const Layout & /*widths*/) {
    return generator.known.worked;
}

template <std::int64_t step, std::uint64_t numbers, std::uint64_t last>
Count<step, numbers, last> worked_widths(const Generator & /*generator*/,
                                         const LayoutOf<Count<step, numbers, last>> &layout) {
    return layout.widths;
}

// What nearly every draw meets: a page of ours with a tick that is left and that WAL covers, and
// nothing to wait for, to say or to remember elsewhere. Else returns false, and has drawn nothing.
// REQUIRED: is_known.
template <typename W>
pg_attribute_always_inline bool draw_at_once(Generator &generator, const LayoutOf<W> &layout,
                                             uint64 max_count, Ticks *drawn) {
    const auto &widths = worked_widths(generator, layout);
    const OpenPage page = open_page(generator);
    const TimestampTz clock = GetCurrentTimestamp();
    const uint64 now = time_at(layout.epoch_us, clock, step_us(widths));
    const Advance next = advance(widths, last_tick_of(page), now);
    const uint64 last = last_drawn(widths, next.tick, max_count);
    const uint64 lead_ms = ms_of_times(widths, lead_of(tick_time(widths, next.tick), now));
    const bool is_drawn = likely(clock >= layout.epoch_us) &&
                          likely(next.verdict == Verdict::draw) &&
                          likely(lead_ms <= Min(max_lead_ms, logged_ahead_ms)) &&
                          likely(last < generator.known.negative_soon) &&
                          likely(record_logged_tick(page, generator, last));
    const XLogRecPtr covered_by = PageGetLSN(page.page);
    close_page(generator, page);
    if (unlikely(!is_drawn))
        return false;

    make_durable(covered_by);
    *drawn = {next.tick, last - next.tick + 1};
    return true;
}

// Inlined, so that drawing a single tick does not pay for the choice.
template <typename W>
pg_attribute_always_inline Ticks draw_known(Generator &generator, const LayoutOf<W> &layout,
                                            uint64 max_count) {
    Ticks drawn;
    if (likely(!generator.has_replaced_storage) &&
        likely(draw_at_once(generator, layout, max_count, &drawn)))
        return drawn;
    return draw_in_any_case(generator, layout, max_count);
}

template <typename W>
pg_attribute_always_inline Ticks draw(Generator &generator, const LayoutOf<W> &layout,
                                      uint64 max_count) {
    return likely(is_known(generator, layout)) ? draw_known(generator, layout, max_count)
                                               : draw_in_any_case(generator, layout, max_count);
}

// A sequence that would bind a layout in which it has ended, or is further ahead than may be drawn
// from, is left alone: it is another layout's.
Attempt try_raise(const OpenPage &page, Generator &generator, const Layout &layout, uint64 tick) {
    const TimestampTz clock = GetCurrentTimestamp();
    Attempt attempt{Outcome::drawn,   false, false, Max(tick, last_tick_of(page)), clock, no_look,
                    InvalidXLogRecPtr};
    const bool is_unbound = binding_of(page) == unbound;
    if (!is_right(page, generator))
        attempt.outcome = Outcome::other_binding;
    else if (attempt.tick >= max_tick(layout.widths))
        attempt.outcome = Outcome::ended;
    else if (is_unbound && lead_ms_of(attempt, layout) > max_lead_ms)
        attempt.outcome = Outcome::too_far_ahead;
    else
        attempt.covered_by = record_raise(page, generator, tick);
    return attempt;
}

}  // namespace

template <typename W>
uint64 draw_tick(Generator &generator, const LayoutOf<W> &layout) {
    return draw(generator, layout, 1).first;
}

uint64 draw_known_tick(Generator &generator, const Layout &layout) {
    return draw_known(generator, layout, 1).first;
}

Ticks draw_ticks(Generator &generator, const Layout &layout, uint64 max_count) {
    return draw(generator, layout, max_count);
}

// What a rollback may bring back knows of draws only: so one is drawn there, which nobody sees.
uint64 raise(Generator &generator, const Layout &layout, uint64 tick) {
    begin_to_know(generator, layout);
    const OpenPage page = open_page(generator);
    const Attempt attempt = try_raise(page, generator, layout, tick);
    close_page(generator, page);
    if (attempt.outcome != Outcome::drawn)
        refuse(generator, layout, attempt);

    learn(generator);
    make_durable(attempt.covered_by);
    return generator.has_replaced_storage ? draw_tick(generator, layout) : attempt.tick;
}

template uint64 draw_tick(Generator &, const LayoutOf<Widths> &);
template uint64 draw_tick(Generator &, const LayoutOf<UuidTicks> &);
template uint64 draw_tick(Generator &, const LayoutOf<ObjectIdTicks> &);

}  // namespace shardid
