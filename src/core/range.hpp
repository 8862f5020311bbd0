// Many values of a plain sequence in one step: which they are, and whether there are so many left.
#pragma once

#include <cstdint>

namespace shardid {

// What pg_sequence says. A sequence moves by `increment`, which is not 0, towards one of the
// bounds.
struct Limits {
    std::int64_t min;
    std::int64_t max;
    std::int64_t increment;
};

// How many steps there are from this value to the bound. Differences are taken unsigned: they may
// exceed int64.
constexpr std::uint64_t steps_left(const Limits &limits, std::int64_t value) {
    const auto from = static_cast<std::uint64_t>(value);
    const auto step = static_cast<std::uint64_t>(limits.increment);
    if (limits.increment > 0)
        return value >= limits.max ? 0 : (static_cast<std::uint64_t>(limits.max) - from) / step;
    return value <= limits.min ? 0 : (from - static_cast<std::uint64_t>(limits.min)) / -step;
}

// The value after this number of steps. REQUIRED: steps <= steps_left(limits, value).
constexpr std::int64_t value_after(const Limits &limits, std::int64_t value, std::uint64_t steps) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(value) +
                                     steps * static_cast<std::uint64_t>(limits.increment));
}

// How many values nextval() could still return without wrapping around; of 2^64, one less.
constexpr std::uint64_t values_left(const Limits &limits, std::int64_t last_value, bool is_called) {
    const std::uint64_t steps = steps_left(limits, last_value);
    return is_called || steps == UINT64_MAX ? steps : steps + 1;
}

struct Range {
    std::int64_t first;
    std::int64_t last;
    std::uint64_t steps;  // from last_value to last
};

// The next `count` values. REQUIRED: 0 < count <= values_left(limits, last_value, is_called).
constexpr Range next_range(const Limits &limits, std::int64_t last_value, bool is_called,
                           std::uint64_t count) {
    const std::uint64_t to_first = is_called ? 1 : 0;
    const std::uint64_t steps = to_first + count - 1;
    return {value_after(limits, last_value, to_first), value_after(limits, last_value, steps),
            steps};
}

}  // namespace shardid
