// Widths with the masks and bounds that they make, worked out once for many draws. To the rule of
// advance.hpp they are what plain widths are. Pure arithmetic.
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

// REQUIRED: as pack_id; the shard has this many bits.
constexpr std::uint64_t pack_id(const WorkedWidths &widths, int shard_bits, std::uint64_t shard,
                                std::uint64_t tick) {
    const std::uint64_t sequence = tick_sequence(widths, tick);
    return (tick ^ sequence) << shard_bits | shard << widths.sequence_bits | sequence;
}

static_assert(pack_id(worked_out({13, 10}), 13, 5, 1234567) == pack_id({13, 10}, 5, 1234567));

}  // namespace shardid
