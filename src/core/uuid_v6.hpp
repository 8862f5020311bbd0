// UUID version 6, RFC 9562 section 5.6: the parts of version 1 with the timestamp in order, from
// its highest bit, so that UUIDs sort by time. Pure arithmetic.
#pragma once

#include "core/uuid_v1.hpp"

namespace shardid {

namespace uuid_detail {

// Section 5.6's fields of the first half, from its low end: time_low 12, ver 4, time_high and
// time_mid 48.
inline constexpr int v6_time_low_bits = 12;
inline constexpr int v6_time_high_shift = v6_time_low_bits + version_bits;
inline constexpr std::uint64_t version_6 = 6;
static_assert(v6_time_low_bits == version_shift);

}  // namespace uuid_detail

// REQUIRED: each field at most its max_uuid_*.
constexpr UuidBytes pack_uuid_v6(const UuidParts &parts) {
    using namespace uuid_detail;
    return join_halves(parts.timestamp >> v6_time_low_bits << v6_time_high_shift |
                           version_6 << version_shift | low(parts.timestamp, v6_time_low_bits),
                       second_half_of(parts));
}

// Whether the bytes are a UUID of the RFC's variant and of version 6.
constexpr bool is_uuid_v6(const UuidBytes &bytes) {
    return uuid_detail::is_of_version(bytes, uuid_detail::version_6);
}

// REQUIRED: is_uuid_v6(bytes).
constexpr UuidParts unpack_uuid_v6(const UuidBytes &bytes) {
    using namespace uuid_detail;
    const std::uint64_t first = first_half(bytes);
    return with_second_half(
        first >> v6_time_high_shift << v6_time_low_bits | low(first, v6_time_low_bits), bytes);
}

static_assert(unpack_uuid_v6(pack_uuid_v6({0x1EC9414C232AB00, 0x33C8, 0x9F6BDECED846})) ==
              UuidParts{0x1EC9414C232AB00, 0x33C8, 0x9F6BDECED846});

}  // namespace shardid
