// What the generator of UUIDs counts: the timestamp of RFC 9562 section 5.1, intervals of 100 ns,
// ten in each microsecond of the clock. Pure arithmetic.
#pragma once

#include "core/advance.hpp"
#include "core/binding.hpp"
#include "core/uuid_v1.hpp"

namespace shardid {

inline constexpr Count uuid_ticks{
    .step_us = 1, .numbers = hundred_ns_per_us, .last_tick = max_uuid_timestamp};
static_assert(is_drawable(uuid_ticks));

inline constexpr OwnLayout uuid_layout{uuid_ticks, uuid_epoch_us, Kind::uuids};

}  // namespace shardid
