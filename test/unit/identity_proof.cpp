// What core/identity.hpp promises, at the ends of its ranges and in the middle.
#include "core/identity.hpp"

namespace shardid {

namespace {

constexpr std::uint64_t top_seed = max_of(seed_bits);

static_assert(node_of_random_bits(0) == 0x010000000000);
static_assert(node_of_random_bits(max_of(node_random_bits)) == max_uuid_node);
static_assert(node_of_random_bits(std::uint64_t{1} << 40) == 0x030000000000);
static_assert(node_of_random_bits(max_of(40)) == 0x01FFFFFFFFFF);
static_assert(own_bits(0, 0, 0, 47) == 0);
static_assert(own_bits(5, 0, 0, 47) != own_bits(6, 0, 0, 47));
static_assert(own_bits(5, 7, 16384, 47) != own_bits(5, 7, 16385, 47));
static_assert(own_bits(5, 7, 16384, 47) != own_bits(5, 8, 16384, 47));
static_assert(uuid_identity_of(top_seed, 7, 5).clock_seq <= max_uuid_clock_seq);
static_assert(uuid_identity_of(top_seed, 7, 5).node <= max_uuid_node);
// Seeds that only differ in bits above the node have other clock sequences.
static_assert(uuid_identity_of(top_seed, 7, 5).clock_seq !=
              uuid_identity_of(max_of(node_random_bits), 7, 5).clock_seq);
static_assert(uuid_identity_of(5, 7, 16384).clock_seq != uuid_identity_of(5, 7, 16385).clock_seq);

}  // namespace

}  // namespace shardid
