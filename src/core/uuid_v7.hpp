// UUID version 7, RFC 9562 section 5.7: milliseconds since 1970-01-01 00:00 UTC from the highest
// bit, then the version, the variant and whatever distinguishes UUIDs of one millisecond. Pure
// arithmetic.
#pragma once

#include "core/layout.hpp"
#include "core/uuid_v1.hpp"

namespace shardid {

inline constexpr int uuid_v7_ms_bits = 48;

namespace uuid_detail {

inline constexpr int v7_ms_shift = version_shift + version_bits;
inline constexpr std::uint64_t version_7 = 7;
static_assert(v7_ms_shift + uuid_v7_ms_bits == 64);

}  // namespace uuid_detail

// Whether a UUID of version 7 can carry the millisecond of this microsecond.
constexpr bool fits_uuid_v7(std::int64_t us) {
    return us >= unix_epoch_us && time_at(unix_epoch_us, us) <= max_of(uuid_v7_ms_bits);
}

// The smallest one of the millisecond in which this microsecond lies. REQUIRED: fits_uuid_v7(us).
constexpr UuidBytes first_uuid_v7_at(std::int64_t us) {
    using namespace uuid_detail;
    return join_halves(time_at(unix_epoch_us, us) << v7_ms_shift | version_7 << version_shift,
                       variant_rfc << variant_shift);
}

// Whether the bytes are a UUID of the RFC's variant and of version 7.
constexpr bool is_uuid_v7(const UuidBytes &bytes) {
    return uuid_detail::is_of_version(bytes, uuid_detail::version_7);
}

// The first microsecond of its millisecond. REQUIRED: is_uuid_v7(bytes).
constexpr std::int64_t us_of_uuid_v7(const UuidBytes &bytes) {
    return clock_at(unix_epoch_us, uuid_detail::first_half(bytes) >> uuid_detail::v7_ms_shift);
}

// Appendix A.6: 2022-02-22 14:22:22 -05:00, 19:22:22 UTC.
static_assert(us_of_uuid_v7({{0x01, 0x7F, 0x22, 0xE2, 0x79, 0xB0, 0x7C, 0xC3, 0x98, 0xC4, 0xDC,
                              0x0C, 0x0C, 0x07, 0x39, 0x8F}}) ==
              unix_epoch_us + INT64_C(1645557742000) * us_per_ms);

}  // namespace shardid
