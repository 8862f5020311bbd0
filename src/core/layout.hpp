// The layout of an id: the widths of its fields, and the epoch from which its time counts; the
// position of each field, and the values that it can hold.
//
//     id   = time | shard | sequence     64 bits, unsigned
//     tick = time | sequence             the id without its shard; what a generator remembers
//
// To draw a tick is one step of a generator (engine/draw.h); its shard then makes it an id. A
// generator's page also holds the binding of its storage (binding.hpp) and the stamp by which a
// copied page is recognized (engine/sequence_page.h). docs/how-it-works.md has the other terms.
//
// Everything here is pure arithmetic; a time is a count of whole milliseconds since the epoch.
#pragma once

#include <cstdint>

namespace shardid {

inline constexpr int id_bits = 64;

// A shard and a sequence are SQL integers, which have 31 bits without the sign.
inline constexpr int max_field_bits = 31;

// Shard and sequence together leave 32 bits or more: a time field of 49 days is the shortest useful
// one.
inline constexpr int max_shard_and_sequence_bits = 32;

struct Widths {
    int shard_bits;
    int sequence_bits;

    friend constexpr bool operator==(const Widths &, const Widths &) = default;
};

// What SQL calls a layout. The epoch is in microseconds on PostgreSQL's scale, finite and a whole
// millisecond.
struct Layout {
    Widths widths;
    std::int64_t epoch_us;

    friend constexpr bool operator==(const Layout &, const Layout &) = default;
};

// Whether a layout can have these widths; REQUIRED of all that are passed to the functions below.
constexpr bool is_valid(Widths widths) {
    return widths.shard_bits >= 0 && widths.shard_bits <= max_field_bits &&
           widths.sequence_bits >= 0 && widths.sequence_bits <= max_field_bits &&
           widths.shard_bits + widths.sequence_bits <= max_shard_and_sequence_bits;
}

// The largest value of `bits` bits; REQUIRED: 0 <= bits < 64.
constexpr std::uint64_t max_of(int bits) {
    return (std::uint64_t{1} << bits) - 1;
}

constexpr int time_bits(Widths widths) {
    return id_bits - widths.shard_bits - widths.sequence_bits;
}

constexpr int time_shift(Widths widths) {
    return widths.shard_bits + widths.sequence_bits;
}

constexpr std::uint64_t max_shard(Widths widths) {
    return max_of(widths.shard_bits);
}

constexpr std::uint64_t max_sequence(Widths widths) {
    return max_of(widths.sequence_bits);
}

constexpr std::uint64_t max_time(Widths widths) {
    return UINT64_MAX >> time_shift(widths);
}

// REQUIRED: both fit their fields.
constexpr std::uint64_t make_tick(Widths widths, std::uint64_t time, std::uint64_t sequence) {
    return time << widths.sequence_bits | sequence;
}

constexpr std::uint64_t tick_time(Widths widths, std::uint64_t tick) {
    return tick >> widths.sequence_bits;
}

constexpr std::uint64_t tick_sequence(Widths widths, std::uint64_t tick) {
    return tick & max_sequence(widths);
}

// The largest tick that can be drawn: all its bits set. A layout without shard bits has ticks of 64
// bits, of which a sequence, counting in int8, can hold 63; the highest is then never used.
constexpr std::uint64_t max_tick(Widths widths) {
    return UINT64_MAX >> (widths.shard_bits == 0 ? 1 : widths.shard_bits);
}

// The last time in which ids can be drawn.
constexpr std::uint64_t max_drawn_time(Widths widths) {
    return tick_time(widths, max_tick(widths));
}

// REQUIRED: shard <= max_shard(widths), the tick's fields fit theirs.
constexpr std::uint64_t pack_id(Widths widths, std::uint64_t shard, std::uint64_t tick) {
    return tick_time(widths, tick) << time_shift(widths) | shard << widths.sequence_bits |
           tick_sequence(widths, tick);
}

constexpr std::uint64_t id_time(Widths widths, std::uint64_t id) {
    return id >> time_shift(widths);
}

constexpr std::uint64_t id_shard(Widths widths, std::uint64_t id) {
    return id >> widths.sequence_bits & max_shard(widths);
}

constexpr std::uint64_t id_sequence(Widths widths, std::uint64_t id) {
    return id & max_sequence(widths);
}

// The smallest id of a time: shard 0, sequence 0. REQUIRED: time <= max_time(widths).
constexpr std::uint64_t first_id_of(Widths widths, std::uint64_t time) {
    return time << time_shift(widths);
}

// Clock readings and epochs are microseconds on one common scale, whichever it is.
inline constexpr std::int64_t us_per_ms = 1000;

// PostgreSQL's first timestamp on its own scale, whose zero is 2000-01-01 00:00 UTC: 4714-11-24 BC.
inline constexpr std::int64_t first_timestamp_us = INT64_C(-211813488000000) * us_per_ms;

// 1970-01-01 00:00 UTC.
inline constexpr std::int64_t unix_epoch_us = INT64_C(-946684800000) * us_per_ms;

// How long a time lasts, a step of the clock.
constexpr std::int64_t step_us(Widths /*widths*/) {
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

inline constexpr Widths instagram_widths{13, 10};
inline constexpr Widths twitter_widths{10, 12};

}  // namespace shardid
