// Ticks that are a plain count, without fields of bits: so many numbers in each step of time, one
// after the other. To the rule of advance.hpp a Count is what Widths are for ids. Pure arithmetic.
#pragma once

#include <cstdint>

#include "core/binding.hpp"

namespace shardid {

// tick = time * numbers + number
struct Count {
    std::int64_t step_us;
    std::uint64_t numbers;
    std::uint64_t last_tick;
};

// REQUIRED of every Count that is drawn.
constexpr bool is_drawable(const Count &count) {
    return count.step_us > 0 && count.numbers > 0 && count.last_tick <= INT64_MAX;
}

// What one of the extension's own sequences counts, since when, and what is made of it.
struct OwnLayout {
    Count widths;
    std::int64_t epoch_us;
    Kind kind;
};

// Whether a layout is that of ids, of which the caller chooses the widths: else it is an OwnLayout.
template <typename L>
inline constexpr bool is_of_ids = false;
template <>
inline constexpr bool is_of_ids<Layout> = true;

constexpr std::int64_t step_us(const Count &count) {
    return count.step_us;
}

constexpr std::uint64_t max_sequence(const Count &count) {
    return count.numbers - 1;
}

constexpr std::uint64_t max_tick(const Count &count) {
    return count.last_tick;
}

constexpr std::uint64_t max_drawn_time(const Count &count) {
    return count.last_tick / count.numbers;
}

constexpr std::uint64_t make_tick(const Count &count, std::uint64_t time, std::uint64_t number) {
    return time * count.numbers + number;
}

constexpr std::uint64_t tick_time(const Count &count, std::uint64_t tick) {
    return tick / count.numbers;
}

constexpr std::uint64_t tick_sequence(const Count &count, std::uint64_t tick) {
    return tick % count.numbers;
}

// A new time begins at 0: the tick is then the time itself, in the finer unit.
constexpr std::uint64_t first_sequence_after(const Count & /*count*/, std::uint64_t /*last_tick*/) {
    return 0;
}

}  // namespace shardid
