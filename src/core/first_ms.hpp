// The millisecond of a transaction's first id, as it is noted for other sessions: on a scale of its
// own, so that it can be compared over layouts. Pure arithmetic.
#pragma once

#include <cstdint>

#include "core/layout.hpp"

namespace shardid {

// As many bits as a note has: some 8,900 years.
inline constexpr int first_ms_bits = 48;

// The scale begins before every epoch: with PostgreSQL's first timestamp, 4714-11-24 BC.
inline constexpr std::int64_t scale_epoch_us = INT64_C(-211813488000000000);

constexpr std::uint64_t epoch_on_scale(std::int64_t instant_us) {
    return time_at(scale_epoch_us, instant_us);
}

// A time later than the scale is noted as its end: earlier than it is, which holds readers back
// and loses nothing. REQUIRED: the epoch is finite.
constexpr std::uint64_t first_ms_of(std::int64_t epoch_us, std::uint64_t time) {
    const std::uint64_t epoch = epoch_on_scale(epoch_us);
    const std::uint64_t room = max_of(first_ms_bits) - epoch;
    return epoch < max_of(first_ms_bits) ? epoch + (time < room ? time : room)
                                         : max_of(first_ms_bits);
}

// The time, in a layout with this epoch, of a noted millisecond; 0 if it is before the epoch.
constexpr std::uint64_t time_of_first_ms(std::int64_t epoch_us, std::uint64_t ms) {
    const std::uint64_t epoch = epoch_on_scale(epoch_us);
    return ms < epoch ? 0 : ms - epoch;
}

static_assert(time_of_first_ms(0, first_ms_of(0, 5)) == 5);
static_assert(time_of_first_ms(7000, first_ms_of(5000, 5)) == 3);
static_assert(time_of_first_ms(0, first_ms_of(0, UINT64_MAX)) < max_of(first_ms_bits));

}  // namespace shardid
