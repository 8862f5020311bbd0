// How far a generator can still go: its last ticks, and how many there are before them.
#pragma once

#include <bit>
#include <cstdint>

#include "core/layout.hpp"

namespace shardid {

// The last tick whose ids are positive as int8.
constexpr std::uint64_t last_positive_tick(Widths widths) {
    return UINT64_MAX >> 1 >> widths.shard_bits;
}

// Two spans of milliseconds: how long before ids turn negative there is a warning, and how long a
// layout that is proposed instead shall last.
inline constexpr std::uint64_t warning_ms = std::uint64_t{365} * 24 * 60 * 60 * 1000;
inline constexpr std::uint64_t proposed_ms = 10 * warning_ms;

// The first tick after which ids turn negative within a year, if they do at all: without shard bits
// the ticks end first.
constexpr std::uint64_t negative_soon_from(Widths widths) {
    if (widths.shard_bits == 0)
        return UINT64_MAX;
    const std::uint64_t first_negative = last_positive_tick(widths) + 1;
    const std::uint64_t year = make_tick(widths, warning_ms, 0);
    return first_negative > year ? first_negative - year : 0;
}

// How many bits shard and sequence can have together so that ids stay positive for another ten
// years, if the epoch was so many milliseconds ago; less than 0 if there are none.
constexpr int most_positive_bits(std::uint64_t now) {
    return id_bits - 1 - static_cast<int>(std::bit_width(now + proposed_ms));
}

// How many ticks up to `end`, itself among them, can at most be drawn after `last`, at clock time
// `now`: those of times that have passed are lost.
constexpr std::uint64_t ticks_left(Widths widths, std::uint64_t last, std::uint64_t now,
                                   std::uint64_t end) {
    if (now > tick_time(widths, end))
        return 0;
    const std::uint64_t next = now > tick_time(widths, last) ? make_tick(widths, now, 0) : last + 1;
    return next > end ? 0 : end - next + 1;
}

static_assert(pack_id(instagram_widths, max_shard(instagram_widths),
                      last_positive_tick(instagram_widths)) == INT64_MAX);

}  // namespace shardid
