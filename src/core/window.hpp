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

// All sessions of a database have one window, and one of them is enough to ask: so each begins at a
// time of its own, within a sixteenth of a window's length before half of it is left.
inline constexpr std::uint64_t ask_steps = 16;

// The time from which a session asks for a longer window while there is no need to wait for it. A
// grant is of this length, and windows grow. REQUIRED: length <= until - from.
constexpr std::uint64_t ask_from(const Window &window, std::uint64_t length,
                                 std::uint64_t session) {
    const std::uint64_t before_half = length / ask_steps * (session % ask_steps) / ask_steps;
    const std::uint64_t ahead = length / 2 + before_half;
    return window.until - ahead > window.from ? window.until - ahead : window.from;
}

// The first tick that a session does not draw without looking at its bounds: from `look_at` on, or
// after the window. REQUIRED: a tick at or after the window's beginning was drawn.
constexpr std::uint64_t drawn_at_once_below(Widths widths, const Window &window,
                                            std::uint64_t look_at) {
    return first_tick_of(widths, look_at < window.until ? look_at : window.until);
}

}  // namespace shardid
