// The rule by which a generator moves from one tick to the next, and the rule for waiting when it
// cannot. Pure: every caller reads its clock itself and passes what it read. L is a Widths, or a
// Count (count.hpp).
#include "core/core_only.hpp"

#pragma once

#include <cstdint>

#include "core/layout.hpp"

namespace shardid {

enum class Verdict {
    draw,   // take `tick`
    wait,   // every sequence number of the last time is used: wait, then ask again
    ended,  // the time field has no value left
};

struct Advance {
    Verdict verdict;
    std::uint64_t tick;
};

// How many sequence numbers a new time may begin at: it goes on from the last number, modulo a
// quarter of the range. From 0 every time, `id % n` would be skewed at low rates; through the whole
// range, a bulk insert would have to wait at every wrap.
constexpr std::uint64_t first_sequence_range(Widths widths) {
    return widths.sequence_bits < 2 ? 1 : std::uint64_t{1} << (widths.sequence_bits - 2);
}

constexpr std::uint64_t first_sequence_after(Widths widths, std::uint64_t last_tick) {
    return (last_tick + 1) & (first_sequence_range(widths) - 1);
}

// The tick after `last`, which is strictly greater, at clock time `now`. `step_to` is the earliest
// time that the caller may use although the clock is behind it, earned by waiting (see may_step);
// 0 when nothing was earned.
template <typename W = Widths>
constexpr Advance advance(W widths, std::uint64_t last, std::uint64_t now,
                          std::uint64_t step_to = 0) {
    const std::uint64_t time = now > step_to ? now : step_to;
    if (time > tick_time(widths, last)) {
        if (time > max_drawn_time(widths))
            return {Verdict::ended, 0};
        return {Verdict::draw, make_tick(widths, time, first_sequence_after(widths, last))};
    }
    if (last >= max_tick(widths))
        return {Verdict::ended, 0};
    if (tick_sequence(widths, last) == max_sequence(widths))
        return {Verdict::wait, 0};
    return {Verdict::draw, last + 1};
}

// As advance, for a caller that may borrow time: where every number of the last time is used up, it
// steps on at once, if that takes it no further ahead of the clock than `borrow` times.
template <typename W = Widths>
constexpr Advance advance_or_borrow(W widths, std::uint64_t last, std::uint64_t now,
                                    std::uint64_t borrow) {
    const Advance next = advance(widths, last, now);
    const std::uint64_t step_to = tick_time(widths, last) + 1;
    if (next.verdict != Verdict::wait || step_to - now > borrow)
        return next;
    return advance(widths, last, now, step_to);
}

// How many of the `wanted` ticks after this one are of the same time, and can be drawn with it.
template <typename W = Widths>
constexpr std::uint64_t further_ticks(W widths, std::uint64_t tick, std::uint64_t wanted) {
    const std::uint64_t rest = max_sequence(widths) - tick_sequence(widths, tick);
    return wanted < rest ? wanted : rest;
}

// So many times, in whole milliseconds.
template <typename W = Widths>
constexpr std::uint64_t ms_of_times(W widths, std::uint64_t times) {
    return step_us(widths) >= us_per_ms ? times * (step_us(widths) / us_per_ms)
                                        : times / (us_per_ms / step_us(widths));
}

// The ticks of so many milliseconds.
template <typename W = Widths>
constexpr std::uint64_t ticks_of_ms(W widths, std::uint64_t ms) {
    return make_tick(widths, ms * us_per_ms / static_cast<std::uint64_t>(step_us(widths)), 0);
}

// Whether the first tick of a used sequence, which its storage does not know for a generator, would
// be a jump that its last value does not account for: to more than twice as far, or by an epoch so
// young that the last value could double within a day.
template <typename W = Widths>
constexpr bool is_jump(W widths, std::uint64_t last, std::uint64_t tick) {
    constexpr std::uint64_t day_ms = std::uint64_t{24} * 60 * 60 * 1000;
    return tick / 2 > last || tick < ticks_of_ms(widths, day_ms);
}

// Whether the ticks end within a year of this one, and with them the sequence.
template <typename W = Widths>
constexpr bool ends_soon(W widths, std::uint64_t tick) {
    constexpr std::uint64_t year_ms = std::uint64_t{365} * 24 * 60 * 60 * 1000;
    const std::uint64_t left = max_drawn_time(widths) - tick_time(widths, tick);
    return ms_of_times(widths, left) < year_ms;
}

// What a waiting caller remembers: the time it found used up, how long a time lasts, the clock from
// which it waits for that long, and the clock at its latest look.
struct Vigil {
    std::uint64_t used_up_time;
    std::int64_t step_us;
    std::int64_t start_clock_us;
    std::int64_t latest_clock_us;
};

constexpr Vigil begin_vigil(std::uint64_t used_up_time, std::int64_t clock_us,
                            std::int64_t step_us = us_per_ms) {
    return {used_up_time, step_us, clock_us, clock_us};
}

// The vigil after a further look. If the clock was set back, the wait starts again from there: it
// may be hours before the clock comes by its old start.
constexpr Vigil look_again(const Vigil &vigil, std::int64_t clock_us) {
    return {vigil.used_up_time, vigil.step_us,
            clock_us < vigil.start_clock_us ? clock_us : vigil.start_clock_us, clock_us};
}

// Whether the caller may now step past the time it found used up, even if the clock has not. A step
// must really have passed (waited_us, by a clock that cannot be set); and if the wall clock runs at
// all, a step of it too, so that a slow clock is not overtaken. A clock that has not moved forward
// since the latest look stands still or was set back: no use waiting for it.
constexpr bool may_step(const Vigil &vigil, std::int64_t clock_us, std::int64_t waited_us) {
    return waited_us >= vigil.step_us &&
           (clock_us <= vigil.latest_clock_us || clock_us - vigil.start_clock_us >= vigil.step_us);
}

// How long to sleep before the next look, in (0, step_us]: to the next boundary of a step when the
// clock is in the time that is used up (or past it), else a step less what the clock has moved
// during this vigil. REQUIRED: epoch_us <= clock_us.
constexpr std::int64_t sleep_us(const Vigil &vigil, std::int64_t epoch_us, std::int64_t clock_us) {
    const std::int64_t step = vigil.step_us;
    const std::uint64_t now = time_at(epoch_us, clock_us, step);
    if (now >= vigil.used_up_time)
        return clock_at(epoch_us, now, step) + step - clock_us;
    const std::int64_t moved = clock_us - vigil.start_clock_us;
    return moved > 0 && moved < step ? step - moved : step;
}

namespace advance_proof {

constexpr Widths l = instagram_widths;

constexpr std::uint64_t tick(std::uint64_t time, std::uint64_t sequence) {
    return make_tick(l, time, sequence);
}

constexpr bool draws(Advance a, std::uint64_t tick) {
    return a.verdict == Verdict::draw && a.tick == tick;
}

static_assert(first_sequence_range(l) == 256 && first_sequence_range({10, 2}) == 1 &&
              first_sequence_range({10, 1}) == 1 && first_sequence_range({10, 0}) == 1);
// A later clock: the clock's time, the next number modulo 256.
static_assert(draws(advance(l, tick(5, 7), 6), tick(6, 8)));
static_assert(draws(advance(l, tick(5, 255), 6), tick(6, 0)));
static_assert(draws(advance(l, tick(5, 1023), 900), tick(900, 0)));
// The same or an earlier clock: the same time, the next number.
static_assert(draws(advance(l, tick(5, 7), 5), tick(5, 8)));
static_assert(draws(advance(l, tick(5, 7), 4), tick(5, 8)));
static_assert(draws(advance(l, tick(5, 255), 5), tick(5, 256)));
// Used up: wait, and after waiting step one time on, or to the clock if that is later.
static_assert(advance(l, tick(5, 1023), 5).verdict == Verdict::wait);
static_assert(draws(advance(l, tick(5, 1023), 5, 6), tick(6, 0)));
static_assert(draws(advance(l, tick(5, 1023), 9, 6), tick(9, 0)));
// Another caller stepped first: what was earned by waiting is worth nothing any more.
static_assert(draws(advance(l, tick(6, 3), 5, 6), tick(6, 4)));
// Borrowed: only where the time is used up, one time at once, and no further than allowed.
static_assert(draws(advance_or_borrow(l, tick(5, 1022), 5, 9), tick(5, 1023)) &&
              draws(advance_or_borrow(l, tick(5, 1023), 5, 9), tick(6, 0)) &&
              draws(advance_or_borrow(l, tick(5, 1023), 9, 9), tick(9, 0)));
static_assert(draws(advance_or_borrow(l, tick(13, 1023), 5, 9), tick(14, 0)) &&
              advance_or_borrow(l, tick(14, 1023), 5, 9).verdict == Verdict::wait &&
              draws(advance_or_borrow(l, tick(14, 1023), 6, 9), tick(15, 0)));
static_assert(advance_or_borrow(l, tick(5, 1023), 5, 0).verdict == Verdict::wait &&
              draws(advance_or_borrow(l, tick(5, 1023), 5, 1), tick(6, 0)) &&
              draws(advance_or_borrow(l, tick(5, 1023), 0, UINT64_MAX), tick(6, 0)));
// The end of the field.
static_assert(draws(advance(l, tick(5, 7), max_time(l)), tick(max_time(l), 8)));
static_assert(advance(l, tick(5, 7), max_time(l) + 1).verdict == Verdict::ended);
static_assert(advance(l, max_tick(l), 5).verdict == Verdict::ended);
static_assert(advance_or_borrow(l, max_tick(l), max_time(l), UINT64_MAX).verdict == Verdict::ended);
static_assert(advance({0, 10}, INT64_MAX, 5).verdict == Verdict::ended);
// One number a millisecond.
static_assert(draws(advance({10, 0}, 5, 6), 6));
static_assert(advance({10, 0}, 5, 5).verdict == Verdict::wait);

// A recipe's small last value, and a young epoch that would fit any; a generator that was restored.
static_assert(is_jump(l, 5001, tick(480000000000, 0)) && is_jump(l, tick(900, 0), tick(1000, 0)));
static_assert(!is_jump(l, tick(470000000000, 9), tick(480000000000, 0)));
static_assert(is_jump(l, tick(86399999, 0), tick(86399999, 1)) &&
              !is_jump(l, tick(86399999, 0), tick(86400000, 0)));

static_assert(!ends_soon(l, tick(max_time(l) - 31536000000, 0)) &&
              ends_soon(l, tick(max_time(l) - 31535999999, 0)) && ends_soon(l, max_tick(l)));

// Many at once: never into the next time, whatever is wanted.
static_assert(further_ticks(l, tick(5, 7), 0) == 0 && further_ticks(l, tick(5, 7), 9) == 9);
static_assert(further_ticks(l, tick(5, 7), 1016) == 1016 &&
              further_ticks(l, tick(5, 7), 1017) == 1016 &&
              further_ticks(l, tick(5, 0), UINT64_MAX) == 1023);
static_assert(further_ticks(l, tick(5, 1023), 9) == 0 && further_ticks({10, 0}, 5, 9) == 0);
static_assert(tick_time(l, tick(5, 7) + further_ticks(l, tick(5, 7), UINT64_MAX)) == 5);
static_assert(advance(l, tick(5, 7) + further_ticks(l, tick(5, 7), UINT64_MAX), 5).verdict ==
              Verdict::wait);
static_assert(further_ticks(l, max_tick(l), 9) == 0);

constexpr Vigil v = begin_vigil(5, 5400);
static_assert(!may_step(v, 5400, 999) && may_step(v, 5400, 1000));
static_assert(may_step(v, 4000, 1000) && may_step(v, 6400, 1000));
static_assert(!may_step(v, 5900, 1000) && !may_step(v, 5900, 50000));
static_assert(sleep_us(v, 0, 5400) == 600 && sleep_us(v, 0, 5000) == 1000);
constexpr Vigil ahead = begin_vigil(9, 5400);
static_assert(sleep_us(ahead, 0, 5400) == 1000 && sleep_us(ahead, 0, 5900) == 500 &&
              sleep_us(ahead, 0, 2000) == 1000);
// Set back in the middle of a wait: a millisecond from there is enough.
constexpr Vigil set_back = look_again(ahead, 2000);
static_assert(!may_step(set_back, 2900, 1900) && may_step(set_back, 3000, 2000));
// Steps of another length.
constexpr Vigil short_one = begin_vigil(5, 5, 1);
static_assert(sleep_us(short_one, 0, 5) == 1 && sleep_us(short_one, 0, 2) == 1);
static_assert(!may_step(short_one, 5, 0) && may_step(short_one, 5, 1));
static_assert(ms_of_times(l, 7) == 7 && ticks_of_ms(l, 1000) == 1024000);

}  // namespace advance_proof

}  // namespace shardid
