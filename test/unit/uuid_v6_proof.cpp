// What core/uuid_v6.hpp promises, at the ends of its ranges and in the middle.
#include "core/uuid_v6.hpp"

namespace shardid {

namespace {

// RFC 9562 appendix A.5; its parts are those of A.1.
constexpr UuidBytes rfc_bytes{{0x1E, 0xC9, 0x41, 0x4C, 0x23, 0x2A, 0x6B, 0x00, 0xB3, 0xC8, 0x9F,
                               0x6B, 0xDE, 0xCE, 0xD8, 0x46}};
constexpr UuidParts rfc_parts{0x1EC9414C232AB00, 0x33C8, 0x9F6BDECED846};
static_assert(is_uuid_v6(rfc_bytes) && !is_uuid_v1(rfc_bytes));
static_assert(!is_uuid_v6(pack_uuid_v1(rfc_parts)));
static_assert(pack_uuid_v6(rfc_parts) == rfc_bytes && unpack_uuid_v6(rfc_bytes) == rfc_parts);

constexpr UuidParts all_set{max_uuid_timestamp, max_uuid_clock_seq, max_uuid_node};
static_assert(unpack_uuid_v6(pack_uuid_v6(all_set)) == all_set);
static_assert(unpack_uuid_v6(pack_uuid_v6({})) == UuidParts{});

}  // namespace

}  // namespace shardid
