// The bits of an id: which field stands where, and what fits into it.
//
//     id   = time | shard | sequence     64 bits, unsigned
//     tick = time | sequence             the id without its shard; what a generator remembers
//
// Everything here is pure arithmetic; a time is a count of whole milliseconds since the epoch.
#include "core/core_only.hpp"

#pragma once

#include <cstdint>

namespace shardid {

inline constexpr int id_bits = 64;

// A shard and a sequence are SQL integers, which have 31 bits without the sign.
inline constexpr int max_field_bits = 31;

// Shard and sequence together leave 32 bits or more: a time field of 49 days is the least of use.
inline constexpr int max_shard_and_sequence_bits = 32;

struct Layout {
    int shard_bits;
    int sequence_bits;
};

constexpr bool fits_a_field(int bits) {
    return bits >= 0 && bits <= max_field_bits;
}

// Whether the layout can be used at all; REQUIRED of every layout passed to the functions below.
constexpr bool is_valid(Layout layout) {
    return fits_a_field(layout.shard_bits) && fits_a_field(layout.sequence_bits) &&
           layout.shard_bits + layout.sequence_bits <= max_shard_and_sequence_bits;
}

// The largest value of `bits` bits; REQUIRED: 0 <= bits < 64.
constexpr std::uint64_t max_of(int bits) {
    return (std::uint64_t{1} << bits) - 1;
}

constexpr int time_bits(Layout layout) {
    return id_bits - layout.shard_bits - layout.sequence_bits;
}

constexpr int time_shift(Layout layout) {
    return layout.shard_bits + layout.sequence_bits;
}

constexpr std::uint64_t max_shard(Layout layout) {
    return max_of(layout.shard_bits);
}

constexpr std::uint64_t max_sequence(Layout layout) {
    return max_of(layout.sequence_bits);
}

constexpr std::uint64_t max_time(Layout layout) {
    return UINT64_MAX >> time_shift(layout);
}

// REQUIRED: both fit their fields.
constexpr std::uint64_t make_tick(Layout layout, std::uint64_t time, std::uint64_t sequence) {
    return time << layout.sequence_bits | sequence;
}

constexpr std::uint64_t tick_time(Layout layout, std::uint64_t tick) {
    return tick >> layout.sequence_bits;
}

constexpr std::uint64_t tick_sequence(Layout layout, std::uint64_t tick) {
    return tick & max_sequence(layout);
}

// The largest tick that can be drawn: all its bits set. A layout without shard bits has ticks of 64
// bits, of which a sequence, counting in int8, can hold 63; the highest is then never used.
constexpr std::uint64_t max_tick(Layout layout) {
    return UINT64_MAX >> (layout.shard_bits == 0 ? 1 : layout.shard_bits);
}

// The last time in which ids can be drawn.
constexpr std::uint64_t max_drawn_time(Layout layout) {
    return tick_time(layout, max_tick(layout));
}

// REQUIRED: shard <= max_shard(layout), the tick's fields fit theirs.
constexpr std::uint64_t pack_id(Layout layout, std::uint64_t shard, std::uint64_t tick) {
    return tick_time(layout, tick) << time_shift(layout) | shard << layout.sequence_bits |
           tick_sequence(layout, tick);
}

constexpr std::uint64_t id_time(Layout layout, std::uint64_t id) {
    return id >> time_shift(layout);
}

constexpr std::uint64_t id_shard(Layout layout, std::uint64_t id) {
    return id >> layout.sequence_bits & max_shard(layout);
}

constexpr std::uint64_t id_sequence(Layout layout, std::uint64_t id) {
    return id & max_sequence(layout);
}

// The smallest id of a time: shard 0, sequence 0. REQUIRED: time <= max_time(layout).
constexpr std::uint64_t first_id_of(Layout layout, std::uint64_t time) {
    return time << time_shift(layout);
}

// Clock readings and epochs are microseconds on one common scale, whichever it is.
inline constexpr std::int64_t us_per_ms = 1000;

// How long a time lasts, a step of the clock.
constexpr std::int64_t step_us(Layout /*layout*/) {
    return us_per_ms;
}

// Whole steps from epoch to a clock reading. REQUIRED: epoch_us <= clock_us. The difference is
// taken unsigned because it may exceed int64 where each of the two does not.
constexpr std::uint64_t time_at(std::int64_t epoch_us, std::int64_t clock_us,
                                std::int64_t step_us = us_per_ms) {
    return (static_cast<std::uint64_t>(clock_us) - static_cast<std::uint64_t>(epoch_us)) /
           static_cast<std::uint64_t>(step_us);
}

// The first time that is not before a clock reading. REQUIRED: epoch_us <= clock_us.
constexpr std::uint64_t time_not_before(std::int64_t epoch_us, std::int64_t clock_us) {
    const std::uint64_t floor = time_at(epoch_us, clock_us);
    const std::uint64_t floor_us = static_cast<std::uint64_t>(epoch_us) + floor * us_per_ms;
    return floor_us == static_cast<std::uint64_t>(clock_us) ? floor : floor + 1;
}

// The clock reading at which a time begins. REQUIRED: time <= time_at(epoch_us, some reading).
constexpr std::int64_t clock_at(std::int64_t epoch_us, std::uint64_t time,
                                std::int64_t step_us = us_per_ms) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(epoch_us) +
                                     time * static_cast<std::uint64_t>(step_us));
}

inline constexpr Layout instagram_layout{13, 10};
inline constexpr Layout twitter_layout{10, 12};

static_assert(is_valid(instagram_layout) && time_bits(instagram_layout) == 41);
static_assert(is_valid(twitter_layout) && time_bits(twitter_layout) == 42);
static_assert(is_valid({0, 0}) && is_valid({1, 31}) && is_valid({31, 1}) && is_valid({16, 16}));
static_assert(!is_valid({-1, 10}) && !is_valid({13, -1}) && !is_valid({32, 0}) &&
              !is_valid({0, 32}) && !is_valid({17, 16}));

static_assert(max_of(0) == 0 && max_of(1) == 1 && max_of(10) == 1023 && max_of(63) == INT64_MAX);
static_assert(max_shard(instagram_layout) == 8191 && max_sequence(instagram_layout) == 1023);
static_assert(max_tick(instagram_layout) == max_of(51));
static_assert(max_tick({1, 10}) == INT64_MAX && max_tick({0, 10}) == INT64_MAX);
static_assert(max_drawn_time(instagram_layout) == max_time(instagram_layout));
static_assert(max_drawn_time({0, 10}) == max_time({0, 10}) / 2);

// Instagram's own example: 1387263000 << 23 | 1341 << 10 | 5001 % 1024.
static_assert(pack_id(instagram_layout, 1341,
                      make_tick(instagram_layout, 1387263000, 5001 % 1024)) ==
              (std::uint64_t{1387263000} << 23 | 1341 << 10 | 905));
static_assert(id_time(instagram_layout, UINT64_MAX) == max_time(instagram_layout) &&
              id_shard(instagram_layout, UINT64_MAX) == 8191 &&
              id_sequence(instagram_layout, UINT64_MAX) == 1023);
static_assert(make_tick(instagram_layout, 77, 1023) == 77 * 1024 + 1023);
static_assert(tick_time(instagram_layout, 77 * 1024 + 1023) == 77);
static_assert(tick_sequence(instagram_layout, 77 * 1024 + 1023) == 1023);

static_assert(time_at(-5000, -5000) == 0 && time_at(-5000, -4001) == 0 && time_at(-5000, 0) == 5);
static_assert(time_not_before(0, 0) == 0 && time_not_before(0, 1) == 1 &&
              time_not_before(0, 1000) == 1 && time_not_before(-5000, -4999) == 1);
static_assert(time_at(INT64_MIN, INT64_MAX) == UINT64_MAX / 1000);
static_assert(clock_at(-5000, 7) == 2000);

}  // namespace shardid
