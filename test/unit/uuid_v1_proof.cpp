// What core/uuid_v1.hpp promises, at the ends of its ranges and in the middle.
#include "core/uuid_v1.hpp"

namespace shardid {

namespace {

// RFC 9562 appendix A.1.
constexpr UuidBytes rfc_bytes{{0xC2, 0x32, 0xAB, 0x00, 0x94, 0x14, 0x11, 0xEC, 0xB3, 0xC8, 0x9F,
                               0x6B, 0xDE, 0xCE, 0xD8, 0x46}};
constexpr UuidParts rfc_parts{0x1EC9414C232AB00, 0x33C8, 0x9F6BDECED846};
static_assert(is_uuid_v1(rfc_bytes));
static_assert(pack_uuid_v1(rfc_parts) == rfc_bytes && unpack_uuid_v1(rfc_bytes) == rfc_parts);
// The appendix's 2022-02-22 19:22:22 UTC is 8088 days and 69742 s after 2000-01-01.
static_assert(us_of_uuid_timestamp(rfc_parts.timestamp) ==
              8088 * us_per_day + INT64_C(69742000000));
// Section 5.1's offset to the Unix epoch, 0x01B21DD213814000.
static_assert(uuid_timestamp_from_us(-10957 * us_per_day, 0) == 0x01B21DD213814000);

constexpr UuidParts all_set{max_uuid_timestamp, max_uuid_clock_seq, max_uuid_node};
static_assert(unpack_uuid_v1(pack_uuid_v1(all_set)) == all_set);
static_assert(unpack_uuid_v1(pack_uuid_v1({})) == UuidParts{});
static_assert(!is_uuid_v1(UuidBytes{}));
static_assert(fits_uuid_timestamp(uuid_epoch_us, 0) && !fits_uuid_timestamp(uuid_epoch_us - 1, 9));
static_assert(fits_uuid_timestamp(max_uuid_us, 5) && !fits_uuid_timestamp(max_uuid_us, 6) &&
              !fits_uuid_timestamp(max_uuid_us + 1, 0));
static_assert(uuid_timestamp_from_us(max_uuid_us, 5) == max_uuid_timestamp);

}  // namespace

}  // namespace shardid
