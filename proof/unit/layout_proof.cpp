// What core/layout.hpp promises, at the ends of its ranges and in the middle.
#include "core/layout.hpp"

namespace shardid {

namespace {

static_assert(is_valid(instagram_widths) && time_bits(instagram_widths) == 41);
static_assert(is_valid(twitter_widths) && time_bits(twitter_widths) == 42);
static_assert(is_valid({0, 0}) && is_valid({1, 31}) && is_valid({31, 1}) && is_valid({16, 16}));
static_assert(!is_valid({-1, 10}) && !is_valid({13, -1}) && !is_valid({32, 0}) &&
              !is_valid({0, 32}) && !is_valid({17, 16}));

static_assert(max_of(0) == 0 && max_of(1) == 1 && max_of(10) == 1023 && max_of(63) == INT64_MAX);
static_assert(max_shard(instagram_widths) == 8191 && max_sequence(instagram_widths) == 1023);
static_assert(max_tick(instagram_widths) == max_of(51));
static_assert(max_tick({1, 10}) == INT64_MAX && max_tick({0, 10}) == INT64_MAX);
static_assert(max_drawn_time(instagram_widths) == max_time(instagram_widths));
static_assert(max_drawn_time({0, 10}) == max_time({0, 10}) / 2);

// Instagram's own example: 1387263000 << 23 | 1341 << 10 | 5001 % 1024.
static_assert(pack_id(instagram_widths, 1341,
                      make_tick(instagram_widths, 1387263000, 5001 % 1024)) ==
              (std::uint64_t{1387263000} << 23 | 1341 << 10 | 905));
static_assert(id_time(instagram_widths, UINT64_MAX) == max_time(instagram_widths) &&
              id_shard(instagram_widths, UINT64_MAX) == 8191 &&
              id_sequence(instagram_widths, UINT64_MAX) == 1023);
static_assert(make_tick(instagram_widths, 77, 1023) == 77 * 1024 + 1023);
static_assert(tick_time(instagram_widths, 77 * 1024 + 1023) == 77);
static_assert(tick_sequence(instagram_widths, 77 * 1024 + 1023) == 1023);

static_assert(time_at(-5000, -5000) == 0 && time_at(-5000, -4001) == 0 && time_at(-5000, 0) == 5);
static_assert(time_not_before(0, 0) == 0 && time_not_before(0, 1) == 1 &&
              time_not_before(0, 1000) == 1 && time_not_before(-5000, -4999) == 1);
static_assert(time_at(INT64_MIN, INT64_MAX) == UINT64_MAX / 1000);
static_assert(clock_at(-5000, 7) == 2000);

}  // namespace

}  // namespace shardid
