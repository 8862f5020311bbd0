// What the generator of UUIDs counts: the timestamp of RFC 9562 section 5.1, intervals of 100 ns,
// ten in each microsecond of the clock. Pure arithmetic.
#include "core/core_only.hpp"

#pragma once

#include "core/advance.hpp"
#include "core/binding.hpp"
#include "core/count.hpp"
#include "core/uuid_v1.hpp"

namespace shardid {

using UuidTicks = Count<1, hundred_ns_per_us, max_uuid_timestamp>;

constexpr Kind drawn_kind(UuidTicks /*ticks*/) {
    return Kind::uuids;
}

}  // namespace shardid
