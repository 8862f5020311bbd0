// What core/advance.hpp promises, at the ends of its ranges and in the middle.
#include "core/advance.hpp"

namespace shardid {

namespace {

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
// Used up: wait, and after waiting step to the next time, or to the clock if that is later.
static_assert(advance(l, tick(5, 1023), 5).verdict == Verdict::wait);
static_assert(draws(advance(l, tick(5, 1023), 5, 6), tick(6, 0)));
static_assert(draws(advance(l, tick(5, 1023), 9, 6), tick(9, 0)));
// Another caller stepped first: the wait no longer allows a step.
static_assert(draws(advance(l, tick(6, 3), 5, 6), tick(6, 4)));
// Borrowed: only if the time is used up, one time at once, and no further than allowed.
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
// One number per millisecond.
static_assert(draws(advance({10, 0}, 5, 6), 6));
static_assert(advance({10, 0}, 5, 5).verdict == Verdict::wait);

// The small last value of Instagram's PL/pgSQL function; an epoch so young that any value would
// fit; a generator that was restored.
static_assert(is_jump(l, 5001, tick(480000000000, 0)) && is_jump(l, tick(900, 0), tick(1000, 0)));
static_assert(!is_jump(l, tick(470000000000, 9), tick(480000000000, 0)));
static_assert(is_jump(l, tick(86399999, 0), tick(86399999, 1)) &&
              !is_jump(l, tick(86399999, 0), tick(86400000, 0)));

static_assert(!ends_soon(l, tick(max_time(l) - 31536000000, 0)) &&
              ends_soon(l, tick(max_time(l) - 31535999999, 0)) && ends_soon(l, max_tick(l)));

// Many at once: never into the next time, however many are wanted.
static_assert(further_ticks(l, tick(5, 7), 0) == 0 && further_ticks(l, tick(5, 7), 9) == 9);
static_assert(further_ticks(l, tick(5, 7), 1016) == 1016 &&
              further_ticks(l, tick(5, 7), 1017) == 1016 &&
              further_ticks(l, tick(5, 0), UINT64_MAX) == 1023);
static_assert(further_ticks(l, tick(5, 1023), 9) == 0 && further_ticks({10, 0}, 5, 9) == 0);
static_assert(tick_time(l, tick(5, 7) + further_ticks(l, tick(5, 7), UINT64_MAX)) == 5);
static_assert(advance(l, tick(5, 7) + further_ticks(l, tick(5, 7), UINT64_MAX), 5).verdict ==
              Verdict::wait);
static_assert(further_ticks(l, max_tick(l), 9) == 0);

static_assert(tick_after_ms(l, tick(5, 7), 2) == tick(7, 7) &&
              tick_after_ms(l, max_tick(l) - 5, 1) == max_tick(l));
static_assert(lead_ms_of(l, tick(7, 1023), 5) == 2 && lead_ms_of(l, tick(5, 0), 7) == 0);
static_assert(ms_of_times(l, 7) == 7 && ticks_of_ms(l, 1000) == 1024000);

constexpr bool is_alike(Widths l, std::uint64_t last, std::uint64_t now) {
    const Advance one = advance(l, last, now);
    const Advance other = advance(worked_out(l), last, now);
    return one.verdict == other.verdict && one.tick == other.tick;
}

constexpr bool is_alike(Widths l) {
    const std::uint64_t lasts[] = {0, 1 << 20, max_tick(l) - 1, max_tick(l),
                                   make_tick(l, 5, max_sequence(l))};
    const std::uint64_t nows[] = {0, 5, 6, max_drawn_time(l), max_drawn_time(l) + 1};
    for (const std::uint64_t last : lasts)
        for (const std::uint64_t now : nows)
            if (!is_alike(l, last, now))
                return false;
    return true;
}

static_assert(is_alike(instagram_widths) && is_alike(twitter_widths) && is_alike({0, 0}) &&
              is_alike({0, 10}) && is_alike({31, 1}) && is_alike({1, 31}) && is_alike({16, 16}));

}  // namespace

}  // namespace shardid
