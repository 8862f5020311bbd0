// The window of times in which a generator with bounds may draw ids, and when a session asks for
// more. Pure arithmetic; a time is a count of whole milliseconds since the epoch of the layout.
#pragma once

#include <cstdint>

#include "core/layout.hpp"

namespace shardid {

// [from, until)
struct Window {
    std::uint64_t from;
    std::uint64_t until;

    friend constexpr bool operator==(const Window &, const Window &) = default;
};

inline constexpr Window any_time{0, UINT64_MAX};
inline constexpr Window no_time{0, 0};

constexpr bool is_in(const Window &window, std::uint64_t time) {
    return window.from <= time && time < window.until;
}

// The time for which a draw in this window takes the clock's: before its beginning the clock does
// not count.
constexpr std::uint64_t clock_in(const Window &window, std::uint64_t now) {
    return now < window.from ? window.from : now;
}

// The time may be later than that of any tick.
constexpr std::uint64_t first_tick_of(Widths widths, std::uint64_t time) {
    return time > max_drawn_time(widths) ? UINT64_MAX : make_tick(widths, time, 0);
}

// A grant or an extension ends a lease after the clock of who asks; but at least this long after
// the window's beginning, or after the last tick, where that is ahead of the clock.
constexpr std::uint64_t step_of(std::uint64_t lease) {
    return lease / 32 < 1000 ? 1000 : lease / 32;
}

// All sessions of a database have one window, and one of them is enough to ask: so each begins at a
// time of its own, within a sixteenth of a lease before half of one is left.
inline constexpr std::uint64_t ask_steps = 16;

// The clock from which a session asks for a longer window while there is no need to wait for it.
constexpr std::uint64_t ask_from(const Window &window, std::uint64_t lease, std::uint64_t session) {
    const std::uint64_t before_half = lease / ask_steps * (session % ask_steps) / ask_steps;
    const std::uint64_t ahead = lease / 2 + before_half;
    return window.until > ahead ? window.until - ahead : 0;
}

// Whether it asks, having drawn at this time: from that clock on, or when a tick that is ahead of
// the clock is near the window's end. REQUIRED: time < until.
constexpr bool asks_at(const Window &window, std::uint64_t lease, std::uint64_t renew_from,
                       std::uint64_t now, std::uint64_t time) {
    return now >= renew_from || window.until - time <= step_of(lease) / 2;
}

// The first tick that a session does not draw without looking at its bounds: from `renew_from` on,
// or after the window. REQUIRED: a tick at or after the window's beginning was drawn.
constexpr std::uint64_t drawn_at_once_below(Widths widths, const Window &window,
                                            std::uint64_t renew_from) {
    return first_tick_of(widths, renew_from < window.until ? renew_from : window.until);
}

}  // namespace shardid
