// What core/window.hpp promises, at the ends of its ranges and in the middle.
#include "core/window.hpp"

#include "core/advance.hpp"

namespace shardid {

namespace {

// Half-open: windows that follow each other have no time in common.
constexpr Window first{1000, 2000};
constexpr Window second{2000, 3000};
static_assert(is_in(first, 1000) && is_in(first, 1999) && !is_in(first, 2000) &&
              !is_in(first, 999));
static_assert(is_in(second, 2000) && !is_in(second, 1999));
static_assert(!is_in({7, 7}, 7) && !is_in({8, 7}, 7) && !is_in({8, 7}, 8));
static_assert(is_in(any_time, UINT64_MAX - 1) && !is_in(no_time, UINT64_MAX));

// Before the window, its beginning is used instead of the clock.
static_assert(clock_in(first, 0) == 1000 && clock_in(first, 1000) == 1000);
static_assert(clock_in(first, 1001) == 1001 && clock_in(first, 5000) == 5000);
static_assert(clock_in(any_time, 0) == 0 && clock_in(no_time, 7) == 7);

// An unused generator whose clock is before the window draws the window's first tick; one whose
// clock is after the window draws none of it.
constexpr Widths w = instagram_widths;
constexpr Advance from_behind = advance(w, 0, clock_in(first, 12));
static_assert(tick_time(w, from_behind.tick) == 1000);
static_assert(!is_in(first, tick_time(w, advance(w, 0, clock_in(first, 2000)).tick)));
// The last tick of a window is not followed by the first tick of the next one.
constexpr std::uint64_t last = make_tick(w, 1999, max_sequence(w));
static_assert(advance(w, last, clock_in(first, 1999)).verdict == Verdict::wait);
static_assert(!is_in(first, tick_time(w, advance(w, last, clock_in(first, 1999), 2000).tick)));

// Each session's time to ask is from 9/16 to 1/2 of a lease before until, but not before from.
template <std::uint64_t lease>
constexpr bool asks_in_time(const Window &window) {
    for (std::uint64_t session = 0; session < 3 * ask_steps; ++session) {
        const std::uint64_t at = ask_from(window, lease, session);
        if (at < window.from || at > window.until - lease / 2 ||
            (window.until - at) * 16 > lease * 9 + 16)
            return false;
    }
    return ask_from(window, lease, UINT64_MAX) >= window.from;
}
static_assert(asks_in_time<60000>({0, 60000}) && asks_in_time<60000>({1000, 61000}));
static_assert(asks_in_time<60000>({1000, 3600000}));
static_assert(asks_in_time<1000>({0, 1000}) && asks_in_time<86400000>({5, 86400005}));
static_assert(asks_in_time<0>({5, 5}) && asks_in_time<1>({5, 6}) && asks_in_time<2>({5, 7}));
static_assert(asks_in_time<3>({0, 3}) && asks_in_time<15>({0, 15}) && asks_in_time<16>({0, 16}));
static_assert(asks_in_time<60000>({UINT64_MAX - 60000, UINT64_MAX}));
// Sessions do not ask at the same time.
static_assert(ask_from({0, 60000}, 60000, 0) - ask_from({0, 60000}, 60000, 15) == 3515);

// Ticks are drawn at once up to the time at which the session must check its lease, and never after
// the window's end.
static_assert(drawn_at_once_below(w, first, 1500) == make_tick(w, 1500, 0));
static_assert(drawn_at_once_below(w, first, 2000) == make_tick(w, 2000, 0));
static_assert(drawn_at_once_below(w, first, UINT64_MAX) == make_tick(w, 2000, 0));
static_assert(drawn_at_once_below(w, no_time, UINT64_MAX) == 0);
static_assert(drawn_at_once_below(w, any_time, UINT64_MAX) == UINT64_MAX);
// Times after the last tick.
constexpr std::uint64_t last_time = max_drawn_time(w);
static_assert(drawn_at_once_below(w, {0, last_time}, UINT64_MAX) == make_tick(w, last_time, 0));
static_assert(drawn_at_once_below(w, {0, last_time + 1}, UINT64_MAX) > max_tick(w));
static_assert(first_tick_of(w, UINT64_MAX) == UINT64_MAX);
static_assert(first_tick_of({0, 0}, max_drawn_time({0, 0})) == max_tick({0, 0}));
static_assert(first_tick_of({0, 0}, max_drawn_time({0, 0}) + 1) == UINT64_MAX);

}  // namespace

}  // namespace shardid
