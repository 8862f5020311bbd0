// What tells the UUIDs and ObjectIds made in one database from those made in any other: a random
// seed, drawn with the first of them and kept where their generator's storage keeps a layout
// (binding.hpp). A copy of the files has the same seed; so the database's OID and the cluster's
// system identifier are added. Pure arithmetic.
#pragma once

#include <cstdint>

#include "core/binding.hpp"
#include "core/layout.hpp"
#include "core/uuid_v1.hpp"

namespace shardid {

// All that uuid_v1() needs: 47 bits of a node and 14 of a clock sequence.
inline constexpr int node_random_bits = 47;
inline constexpr int uuid_identity_bits = node_random_bits + uuid_clock_seq_bits;

// The database's own bits: always another value for another database of one cluster with one seed,
// and for another seed that differs in its lower `bits`, since an odd factor is a bijection; the
// node is then as random as the seed. REQUIRED: 32 <= bits < 64.
constexpr std::uint64_t own_bits(std::uint64_t seed, std::uint64_t system_identifier,
                                 std::uint32_t database, int bits) {
    constexpr std::uint64_t odd_factor = 0x9E3779B97F4A7C15;
    const std::uint64_t system = system_identifier * odd_factor >> (id_bits - bits);
    return ((seed + database) * odd_factor + system) & max_of(bits);
}

// RFC 9562 section 6.10: a node that is no MAC address has the multicast bit set, the lowest bit of
// its first byte. REQUIRED: bits < 2^47.
constexpr std::uint64_t node_of_random_bits(std::uint64_t bits) {
    constexpr int multicast_bit = 40;
    return bits >> multicast_bit << (multicast_bit + 1) | std::uint64_t{1} << multicast_bit |
           (bits & max_of(multicast_bit));
}

// What a UUID has of its database.
struct UuidIdentity {
    std::uint64_t clock_seq;
    std::uint64_t node;
};

// The clock sequence, by section 5.1: random at first, and changed when the clock may have been set
// back or the node has changed. Here the timestamps of a node never go back, and another node has
// another clock sequence with a probability of 16383 in 16384.
constexpr UuidIdentity uuid_identity_of(std::uint64_t seed, std::uint64_t system_identifier,
                                        std::uint32_t database) {
    const std::uint64_t own = own_bits(seed, system_identifier, database, uuid_identity_bits);
    return {own >> node_random_bits, node_of_random_bits(own & max_of(node_random_bits))};
}

static_assert(node_of_random_bits(0) == 0x010000000000);

}  // namespace shardid
