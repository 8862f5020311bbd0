#include "advance.hpp"
#include "objectid.hpp"
#include "uuid_ticks.hpp"

#include "draw.h"
#include "durable.h"
#include "replaced_storage.h"
#include "sequence_page.h"
#include "settings.h"
#include "wait.h"

namespace shardid {

namespace {

enum class Outcome { drawn, wait, before_epoch, ended, too_far_ahead };

struct Attempt {
    Outcome outcome;
    bool is_ahead;  // of the clock, by more than a crash can account for
    uint64 tick;    // the first one drawn; or the last one, after which none could be drawn
    TimestampTz clock;
    XLogRecPtr covered_by;  // how far WAL has to be durable before the ticks are shown
};

// What `advance` is to go on from. A generator whose page knows nothing - new, restarted, altered -
// has perhaps drawn ids in this very millisecond, which are forgotten or rolled back. So it goes on
// after the millisecond in which the caller first saw it.
template <typename L>
pg_attribute_always_inline uint64 last_tick(const OpenPage &page, const Generator &generator,
                                            L layout, const Wait &wait, uint64 now) {
    const uint64 last =
        generator.is_temporary ? Max(last_tick_of(page), generator.remembered) : last_tick_of(page);
    if (likely(was_drawn_from(page, generator.stamp)))
        return last;
    const uint64 first_seen = wait.began ? wait.vigil.used_up_time : now;
    return Max(last, make_tick(layout, first_seen, max_sequence(layout)));
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

template <typename L>
pg_attribute_always_inline Attempt decide(const OpenPage &page, const Generator &generator,
                                          const SchemeOf<L> &scheme, const Wait &wait) {
    const TimestampTz clock = GetCurrentTimestamp();
    if (unlikely(clock < scheme.epoch))
        return {Outcome::before_epoch, false, 0, clock, InvalidXLogRecPtr};

    const L layout = scheme.layout;
    const uint64 now = time_at(scheme.epoch, clock, step_us(layout));
    const uint64 last = last_tick(page, generator, layout, wait, now);
    const uint64 step_to =
        unlikely(wait.began) ? earned_time(wait, tick_time(layout, last), clock) : 0;

    const Advance next = advance(layout, last, now, step_to);
    const uint64 reached = likely(next.verdict == Verdict::draw) ? next.tick : last;
    const uint64 lead_ms = ms_of_times(layout, lead_of(tick_time(layout, reached), now));
    const bool is_ahead = lead_ms > logged_ahead_ms;
    if (unlikely(lead_ms > static_cast<uint64>(max_lead_ms)))
        return {Outcome::too_far_ahead, is_ahead, reached, clock, InvalidXLogRecPtr};
    return {outcome_of(next.verdict), is_ahead, reached, clock, InvalidXLogRecPtr};
}

// The last tick that is drawn together with this one.
template <typename L>
uint64 last_drawn(L layout, uint64 tick, uint64 max_count) {
    return tick + further_ticks(layout, tick, max_count - 1);
}

template <typename L>
pg_attribute_always_inline Attempt try_draw(Generator &generator, const SchemeOf<L> &scheme,
                                            const Wait &wait, uint64 max_count) {
    const OpenPage page = open_page(generator);
    Attempt attempt = decide(page, generator, scheme, wait);
    if (likely(attempt.outcome == Outcome::drawn))
        attempt.covered_by = record_tick(page, generator, scheme.layout,
                                         last_drawn(scheme.layout, attempt.tick, max_count));
    close_page(generator, page);
    return attempt;
}

const char *as_text(TimestampTz ts) {
    return pstrdup(timestamptz_to_str(ts));
}

// What else than the clock can be wrong.
struct Advice {
    const char *before_epoch;
    const char *too_far_ahead;
};

Advice advice_of(Layout /*layout*/) {
    return {", or pass an earlier epoch",
            ", pass the epoch and sequence_bits that the generator was used with,"};
}

template <std::int64_t step, std::uint64_t numbers, std::uint64_t last>
Advice advice_of(Count<step, numbers, last> /*count*/) {
    return {"", ""};
}

template <typename L>
[[noreturn]] void refuse_before_epoch(const SchemeOf<L> &scheme, TimestampTz clock) {
    ereport(
        ERROR,
        (errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
         errmsg("clock is before the epoch of the ids"),
         errdetail("The clock is at %s, the epoch is %s.", as_text(clock), as_text(scheme.epoch)),
         errhint("Set the server's clock right%s.", advice_of(scheme.layout).before_epoch)));
}

template <typename L>
unsigned long long lead_ms_of(const Attempt &attempt, const SchemeOf<L> &scheme) {
    const L layout = scheme.layout;
    return ms_of_times(layout, lead_of(tick_time(layout, attempt.tick),
                                       time_at(scheme.epoch, attempt.clock, step_us(layout))));
}

// At most once a minute per session, by a clock that cannot be set.
void mention_lead(const Generator &generator, unsigned long long lead_ms) {
    constexpr double pause_ms = 60 * 1000;
    static instr_time mentioned;
    instr_time now;
    INSTR_TIME_SET_CURRENT(now);
    instr_time since = now;
    INSTR_TIME_SUBTRACT(since, mentioned);
    if (!INSTR_TIME_IS_ZERO(mentioned) && INSTR_TIME_GET_MILLISEC(since) < pause_ms)
        return;
    mentioned = now;
    ereport(LOG, (errmsg("generator %s is %llu ms ahead of the clock", generator_name(generator),
                         lead_ms),
                  errdetail("Its ids say a later time than the clock, which has perhaps been set "
                            "back, until the clock has caught up."),
                  errhint("Check the server's clock.")));
}

template <typename L>
[[noreturn]] void refuse_too_far_ahead(const Generator &generator, const SchemeOf<L> &scheme,
                                       const Attempt &attempt) {
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("generator %s is too far ahead of the clock", generator_name(generator)),
                    errdetail("It is %llu ms ahead, and shardid.max_lead is %d ms.",
                              lead_ms_of(attempt, scheme), max_lead_ms),
                    errhint("Set the server's clock right%s or raise shardid.max_lead.",
                            advice_of(scheme.layout).too_far_ahead)));
}

[[noreturn]] void refuse_ended(const Scheme &scheme, TimestampTz clock) {
    ereport(ERROR,
            (errcode(ERRCODE_SEQUENCE_GENERATOR_LIMIT_EXCEEDED),
             errmsg("time field of the ids is exhausted"),
             errdetail("The clock is at %s, and %d bits of milliseconds since %s hold no later "
                       "time.",
                       as_text(clock), time_bits(scheme.layout), as_text(scheme.epoch)),
             errhint("Use a layout with a later epoch or fewer shard_bits and sequence_bits, and "
                     "a generator of its own.")));
}

template <std::int64_t step, std::uint64_t numbers, std::uint64_t last>
[[noreturn]] void refuse_ended(const SchemeOf<Count<step, numbers, last>> &scheme,
                               TimestampTz clock) {
    const uint64 last_time = max_drawn_time(scheme.layout);
    ereport(ERROR, (errcode(ERRCODE_SEQUENCE_GENERATOR_LIMIT_EXCEEDED),
                    errmsg("time field of the ids is exhausted"),
                    errdetail("The clock is at %s, and the last time that they hold is %s.",
                              as_text(clock), as_text(clock_at(scheme.epoch, last_time, step))),
                    errhint("Set the server's clock right.")));
}

template <typename L>
[[noreturn]] void refuse(const Generator &generator, const SchemeOf<L> &scheme,
                         const Attempt &attempt) {
    if (attempt.outcome == Outcome::before_epoch)
        refuse_before_epoch(scheme, attempt.clock);
    if (attempt.outcome == Outcome::too_far_ahead)
        refuse_too_far_ahead(generator, scheme, attempt);
    refuse_ended(scheme, attempt.clock);
}

// Inlined, so that drawing a single tick does not pay for the choice.
template <typename L>
pg_attribute_always_inline Ticks draw(Generator &generator, const SchemeOf<L> &scheme,
                                      uint64 max_count) {
    Wait wait{};
    for (;;) {
        Attempt attempt = try_draw(generator, scheme, wait, max_count);
        if (likely(attempt.outcome == Outcome::drawn)) {
            const uint64 last = last_drawn(scheme.layout, attempt.tick, max_count);
            if (unlikely(generator.has_replaced_storage)) {
                const XLogRecPtr remembered = remember_in_replaced_storage(
                    generator, last, logged_ahead_of(scheme.layout, last));
                attempt.covered_by = Max(attempt.covered_by, remembered);
            }
            make_durable(attempt.covered_by);
            if (unlikely(attempt.is_ahead))
                mention_lead(generator, lead_ms_of(attempt, scheme));
            return {attempt.tick, last - attempt.tick + 1};
        }
        if (attempt.outcome != Outcome::wait)
            refuse(generator, scheme, attempt);
        wait_for_next(wait, scheme.epoch, tick_time(scheme.layout, attempt.tick), attempt.clock,
                      step_us(scheme.layout));
    }
}

}  // namespace

template <typename L>
uint64 draw_tick(Generator &generator, const SchemeOf<L> &scheme) {
    return draw(generator, scheme, 1).first;
}

Ticks draw_ticks(Generator &generator, const Scheme &scheme, uint64 max_count) {
    return draw(generator, scheme, max_count);
}

template uint64 draw_tick(Generator &, const SchemeOf<Layout> &);
template uint64 draw_tick(Generator &, const SchemeOf<UuidTicks> &);
template uint64 draw_tick(Generator &, const SchemeOf<ObjectIdTicks> &);

}  // namespace shardid
