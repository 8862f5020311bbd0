// When a generator's lead over the clock was last mentioned in the log: the second, in 15 bits,
// where the page of a sequence has 16 that nothing reads (the offset in its tuple's t_ctid). Pure
// arithmetic.
#include "core_only.hpp"

#pragma once

#include <cstdint>

namespace shardid {

inline constexpr std::uint64_t mention_pause_s = 60;
inline constexpr std::uint64_t mention_cycle_s = std::uint64_t{1} << 15;

// What a fresh sequence has there: FirstOffsetNumber.
inline constexpr std::uint16_t never_mentioned = 1;

constexpr std::uint16_t mention_of(std::uint64_t second) {
    return static_cast<std::uint16_t>(never_mentioned + 1 + second % mention_cycle_s);
}

// Whether a minute has passed since; a clock that was set back counts as that.
constexpr bool is_mention_due(std::uint16_t noted, std::uint64_t second) {
    if (noted == never_mentioned)
        return true;
    const std::uint64_t noted_second = std::uint64_t{noted} - (never_mentioned + 1);
    return (second - noted_second) % mention_cycle_s >= mention_pause_s;
}

namespace mention_proof {

constexpr std::uint64_t now = 700000000;

static_assert(is_mention_due(never_mentioned, now));
static_assert(!is_mention_due(mention_of(now), now) && !is_mention_due(mention_of(now), now + 59));
static_assert(is_mention_due(mention_of(now), now + 60) &&
              is_mention_due(mention_of(now), now - 1));
static_assert(mention_of(mention_cycle_s - 1) == mention_cycle_s + 1 && mention_of(0) == 2);
static_assert(!is_mention_due(mention_of(mention_cycle_s - 1), mention_cycle_s + 58) &&
              is_mention_due(mention_of(mention_cycle_s - 1), mention_cycle_s + 59));

}  // namespace mention_proof

}  // namespace shardid
