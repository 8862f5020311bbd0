// What tells the UUIDs and ObjectIds made in one database from those made in any other: random
// bits, drawn when the extension is created, and kept where a dump leaves them out, in the MINVALUE
// of the generator's sequence. A copy of the files has the same random bits; so the database's OID
// and the cluster's system identifier are added. Pure arithmetic.
#include "core_only.hpp"

#pragma once

#include <cstdint>

#include "layout.hpp"
#include "uuid_v1.hpp"

namespace shardid {

// Random bits of a seed: all that uuid_v1() needs, 47 of a node and 14 of a clock sequence.
inline constexpr int node_random_bits = 47;
inline constexpr int seed_bits = node_random_bits + uuid_clock_seq_bits;

// A MINVALUE below zero does nothing to a sequence that counts upwards from 1.
// REQUIRED: seed < 2^63.
constexpr std::int64_t min_value_of_seed(std::uint64_t seed) {
    return -1 - static_cast<std::int64_t>(seed);
}

constexpr std::uint64_t seed_of_min_value(std::int64_t min_value) {
    return ~static_cast<std::uint64_t>(min_value);
}

// The database's own bits: as random as the seed, and always another value for another database of
// one cluster, since an odd factor is a bijection. REQUIRED: 32 <= bits < 64.
constexpr std::uint64_t own_bits(std::uint64_t seed, std::uint64_t system_identifier,
                                 std::uint32_t database, int bits) {
    constexpr std::uint64_t odd_factor = 0x9E3779B97F4A7C15;
    return (seed + (system_identifier * odd_factor >> (id_bits - bits)) + database * odd_factor) &
           max_of(bits);
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
// another clock sequence, but for one in 16384.
constexpr UuidIdentity uuid_identity_of(std::uint64_t seed, std::uint64_t system_identifier,
                                        std::uint32_t database) {
    const std::uint64_t own = own_bits(seed, system_identifier, database, seed_bits);
    return {own >> node_random_bits, node_of_random_bits(own & max_of(node_random_bits))};
}

namespace identity_proof {

static_assert(seed_of_min_value(min_value_of_seed(0)) == 0 && min_value_of_seed(0) == -1);
static_assert(seed_of_min_value(min_value_of_seed(max_of(seed_bits))) == max_of(seed_bits));
static_assert(node_of_random_bits(0) == 0x010000000000);
static_assert(node_of_random_bits(max_of(node_random_bits)) == max_uuid_node);
static_assert(node_of_random_bits(std::uint64_t{1} << 40) == 0x030000000000);
static_assert(node_of_random_bits(max_of(40)) == 0x01FFFFFFFFFF);
static_assert(own_bits(0, 0, 0, 47) == 0 && own_bits(5, 0, 0, 47) == 5);
static_assert(own_bits(5, 7, 16384, 47) != own_bits(5, 7, 16385, 47));
static_assert(own_bits(5, 7, 16384, 47) != own_bits(5, 8, 16384, 47));
static_assert(uuid_identity_of(max_of(seed_bits), 0, 0).clock_seq == max_uuid_clock_seq);
static_assert(uuid_identity_of(max_of(seed_bits), 0, 0).node == max_uuid_node);
static_assert(uuid_identity_of(5, 7, 16384).clock_seq != uuid_identity_of(5, 7, 16385).clock_seq);

}  // namespace identity_proof

}  // namespace shardid
