// Ticks that are a plain count, without fields of bits: so many numbers in each step of time, one
// after the other. It is to the rule of advance.hpp what layout.hpp is for ids. Pure arithmetic.
#include "core/core_only.hpp"

#pragma once

#include <cstdint>

namespace shardid {

// tick = time * numbers + number
template <std::int64_t step, std::uint64_t numbers, std::uint64_t last>
struct Count {
    static_assert(step > 0 && numbers > 0 && last <= INT64_MAX);
};

template <std::int64_t step, std::uint64_t numbers, std::uint64_t last>
constexpr std::int64_t step_us(Count<step, numbers, last> /*count*/) {
    return step;
}

template <std::int64_t step, std::uint64_t numbers, std::uint64_t last>
constexpr std::uint64_t max_sequence(Count<step, numbers, last> /*count*/) {
    return numbers - 1;
}

template <std::int64_t step, std::uint64_t numbers, std::uint64_t last>
constexpr std::uint64_t max_tick(Count<step, numbers, last> /*count*/) {
    return last;
}

template <std::int64_t step, std::uint64_t numbers, std::uint64_t last>
constexpr std::uint64_t max_drawn_time(Count<step, numbers, last> /*count*/) {
    return last / numbers;
}

template <std::int64_t step, std::uint64_t numbers, std::uint64_t last>
constexpr std::uint64_t make_tick(Count<step, numbers, last> /*count*/, std::uint64_t time,
                                  std::uint64_t number) {
    return time * numbers + number;
}

template <std::int64_t step, std::uint64_t numbers, std::uint64_t last>
constexpr std::uint64_t tick_time(Count<step, numbers, last> /*count*/, std::uint64_t tick) {
    return tick / numbers;
}

template <std::int64_t step, std::uint64_t numbers, std::uint64_t last>
constexpr std::uint64_t tick_sequence(Count<step, numbers, last> /*count*/, std::uint64_t tick) {
    return tick % numbers;
}

// A new time begins at 0: the tick is then the time itself, in the finer unit.
template <std::int64_t step, std::uint64_t numbers, std::uint64_t last>
constexpr std::uint64_t first_sequence_after(Count<step, numbers, last> /*count*/,
                                             std::uint64_t /*last_tick*/) {
    return 0;
}

}  // namespace shardid
