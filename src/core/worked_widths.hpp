// Widths with the masks and bounds that they make, worked out once for many draws. To the rule of
// advance.hpp they are what plain widths are. Pure arithmetic.
#include "core/core_only.hpp"

#pragma once

#include <cstdint>

#include "core/advance.hpp"
#include "core/layout.hpp"

namespace shardid {

struct WorkedWidths {
    int sequence_bits;
    std::uint64_t max_sequence;
    std::uint64_t max_first_sequence;
    std::uint64_t max_tick;
    std::uint64_t max_drawn_time;
};

// REQUIRED: the widths are valid.
constexpr WorkedWidths worked_out(Widths widths) {
    return {widths.sequence_bits, max_sequence(widths), first_sequence_range(widths) - 1,
            max_tick(widths), max_drawn_time(widths)};
}

constexpr std::int64_t step_us(const WorkedWidths & /*widths*/) {
    return us_per_ms;
}

constexpr std::uint64_t max_sequence(const WorkedWidths &widths) {
    return widths.max_sequence;
}

constexpr std::uint64_t max_tick(const WorkedWidths &widths) {
    return widths.max_tick;
}

constexpr std::uint64_t max_drawn_time(const WorkedWidths &widths) {
    return widths.max_drawn_time;
}

constexpr std::uint64_t make_tick(const WorkedWidths &widths, std::uint64_t time,
                                  std::uint64_t sequence) {
    return time << widths.sequence_bits | sequence;
}

constexpr std::uint64_t tick_time(const WorkedWidths &widths, std::uint64_t tick) {
    return tick >> widths.sequence_bits;
}

constexpr std::uint64_t tick_sequence(const WorkedWidths &widths, std::uint64_t tick) {
    return tick & widths.max_sequence;
}

constexpr std::uint64_t first_sequence_after(const WorkedWidths &widths, std::uint64_t last_tick) {
    return (last_tick + 1) & widths.max_first_sequence;
}

namespace worked_widths_proof {

constexpr bool is_alike(Widths l, std::uint64_t last, std::uint64_t now) {
    const Advance one = advance(l, last, now);
    const Advance other = advance(worked_out(l), last, now);
    return one.verdict == other.verdict && one.tick == other.tick;
}

constexpr bool is_alike(Widths l) {
    const std::uint64_t lasts[] = {0, 1 << 20, max_tick(l) - 1, max_tick(l),
                                   make_tick(l, 5, max_sequence(l))};
    const std::uint64_t nows[] = {0, 5, 6, max_drawn_time(l), max_drawn_time(l) + 1};
    for (const std::uint64_t last : lasts)
        for (const std::uint64_t now : nows)
            if (!is_alike(l, last, now))
                return false;
    return true;
}

static_assert(is_alike(instagram_widths) && is_alike(twitter_widths) && is_alike({0, 0}) &&
              is_alike({0, 10}) && is_alike({31, 1}) && is_alike({1, 31}) && is_alike({16, 16}));

}  // namespace worked_widths_proof

}  // namespace shardid
