// How far a generator can still go: its last ticks, and how many there are before them.
#include "core_only.hpp"

#pragma once

#include <cstdint>

#include "layout.hpp"

namespace shardid {

// The last tick whose ids are positive as int8.
constexpr std::uint64_t last_positive_tick(Layout layout) {
    return UINT64_MAX >> 1 >> layout.shard_bits;
}

// How many ticks up to `end`, itself among them, can at most be drawn after `last`, at clock time
// `now`: those of times that have passed are lost.
constexpr std::uint64_t ticks_left(Layout layout, std::uint64_t last, std::uint64_t now,
                                   std::uint64_t end) {
    if (now > tick_time(layout, end))
        return 0;
    const std::uint64_t next = now > tick_time(layout, last) ? make_tick(layout, now, 0) : last + 1;
    return next > end ? 0 : end - next + 1;
}

namespace outlook_proof {

constexpr Layout l = instagram_layout;

static_assert(pack_id(l, max_shard(l), last_positive_tick(l)) == INT64_MAX);
static_assert(pack_id(l, 0, last_positive_tick(l) + 1) == std::uint64_t{1} << 63);
// Without shard bits the ticks end where the ids would turn negative.
static_assert(last_positive_tick({0, 10}) == max_tick({0, 10}));
static_assert(last_positive_tick({1, 0}) == max_of(62));

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
