// UUID version 6, RFC 9562 section 5.6: the parts of version 1 with the timestamp in order, from
// its highest bit, so that UUIDs sort by time. Pure arithmetic.
#include "core/core_only.hpp"

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

namespace uuid_v6_proof {

// RFC 9562 appendix A.5; its parts are those of A.1.
constexpr UuidBytes rfc_bytes{{0x1E, 0xC9, 0x41, 0x4C, 0x23, 0x2A, 0x6B, 0x00, 0xB3, 0xC8, 0x9F,
                               0x6B, 0xDE, 0xCE, 0xD8, 0x46}};
static_assert(is_uuid_v6(rfc_bytes) && !is_uuid_v1(rfc_bytes));
static_assert(!is_uuid_v6(uuid_proof::rfc_bytes));
static_assert(pack_uuid_v6(uuid_proof::rfc_parts) == rfc_bytes);
static_assert(unpack_uuid_v6(rfc_bytes) == uuid_proof::rfc_parts);
static_assert(unpack_uuid_v6(pack_uuid_v6(uuid_proof::all_set)) == uuid_proof::all_set);
static_assert(unpack_uuid_v6(pack_uuid_v6({})) == UuidParts{});

}  // namespace uuid_v6_proof

}  // namespace shardid
