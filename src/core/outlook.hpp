// How far a generator can still go: its last ticks, and how many there are before them.
#include "core/core_only.hpp"

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

namespace outlook_proof {

constexpr Widths l = instagram_widths;

static_assert(pack_id(l, max_shard(l), last_positive_tick(l)) == INT64_MAX);
static_assert(pack_id(l, 0, last_positive_tick(l) + 1) == std::uint64_t{1} << 63);
// Without shard bits the ticks end where the ids would turn negative.
static_assert(last_positive_tick({0, 10}) == max_tick({0, 10}));
static_assert(last_positive_tick({1, 0}) == max_of(62));

// 25 bits: negative 8.7 years after the epoch, and so 7.7 years after it there is a warning.
static_assert(tick_time({13, 12}, negative_soon_from({13, 12})) ==
              (std::uint64_t{1} << 38) - warning_ms);
static_assert(negative_soon_from({16, 16}) == 0 && negative_soon_from({0, 10}) == UINT64_MAX);
static_assert(most_positive_bits(0) == 24 && most_positive_bits(max_of(40)) == 22);

// Three left in the last millisecond; none; all of two.
static_assert(ticks_left(l, max_tick(l) - 3, max_time(l), max_tick(l)) == 3);
static_assert(ticks_left(l, max_tick(l), 5, max_tick(l)) == 0);
static_assert(ticks_left(l, 5, max_time(l) - 1, max_tick(l)) == 2048);
static_assert(ticks_left(l, 5, max_time(l) + 1, max_tick(l)) == 0);
// Ahead of the clock, the clock does not matter.
static_assert(ticks_left(l, max_tick(l) - 3, 5, max_tick(l)) == 3);
static_assert(ticks_left({0, 10}, INT64_MAX, 5, max_tick({0, 10})) == 0);
// No more than int8 can show, and past the sign bit none.
static_assert(ticks_left({0, 0}, 0, 0, max_tick({0, 0})) == INT64_MAX);
static_assert(ticks_left(l, last_positive_tick(l) + 1, 5, last_positive_tick(l)) == 0);

}  // namespace outlook_proof

}  // namespace shardid
