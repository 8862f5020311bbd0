// What core/outlook.hpp promises, at the ends of its ranges and in the middle.
#include "core/outlook.hpp"

namespace shardid {

namespace {

constexpr Widths l = instagram_widths;

static_assert(pack_id(l, max_shard(l), last_positive_tick(l)) == INT64_MAX);
static_assert(pack_id(l, 0, last_positive_tick(l) + 1) == std::uint64_t{1} << 63);
// Without shard bits the ticks end where the ids would turn negative.
static_assert(last_positive_tick({0, 10}) == max_tick({0, 10}));
static_assert(last_positive_tick({1, 0}) == max_of(62));

// 25 bits: ids are negative 8.7 years after the epoch, so the warning begins 7.7 years after it.
static_assert(tick_time({13, 12}, negative_soon_from({13, 12})) ==
              (std::uint64_t{1} << 38) - warning_ms);
static_assert(negative_soon_from({16, 16}) == 0 && negative_soon_from({0, 10}) == UINT64_MAX);
static_assert(most_positive_bits(0) == 24 && most_positive_bits(max_of(40)) == 22);

// Ticks that are left: three in the last millisecond; none; all of two milliseconds.
static_assert(ticks_left(l, max_tick(l) - 3, max_time(l), max_tick(l)) == 3);
static_assert(ticks_left(l, max_tick(l), 5, max_tick(l)) == 0);
static_assert(ticks_left(l, 5, max_time(l) - 1, max_tick(l)) == 2048);
static_assert(ticks_left(l, 5, max_time(l) + 1, max_tick(l)) == 0);
// Ahead of the clock, the clock does not matter.
static_assert(ticks_left(l, max_tick(l) - 3, 5, max_tick(l)) == 3);
static_assert(ticks_left({0, 10}, INT64_MAX, 5, max_tick({0, 10})) == 0);
// No more than int8 can hold, and none after the sign bit is set.
static_assert(ticks_left({0, 0}, 0, 0, max_tick({0, 0})) == INT64_MAX);
static_assert(ticks_left(l, last_positive_tick(l) + 1, 5, last_positive_tick(l)) == 0);

}  // namespace

}  // namespace shardid
