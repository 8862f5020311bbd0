// UUIDs of RFC 9562: packing and unpacking versions 1 and 6, bounds and times of version 7; what
// the generator of UUIDs counts, and what tells those of one database from all others. Pure
// arithmetic.
#pragma once

#include <bit>
#include <cstdint>

#include "core/binding.hpp"

namespace shardid {

// A timestamp counts intervals of 100 ns since 1582-10-15 00:00 UTC.
inline constexpr int uuid_timestamp_bits = 60;
inline constexpr int uuid_clock_seq_bits = 14;
inline constexpr int uuid_node_bits = 48;
inline constexpr std::uint64_t max_uuid_timestamp = max_of(uuid_timestamp_bits);
inline constexpr std::uint64_t max_uuid_clock_seq = max_of(uuid_clock_seq_bits);
inline constexpr std::uint64_t max_uuid_node = max_of(uuid_node_bits);

inline constexpr int uuid_size = 16;

struct UuidBytes {
    std::uint8_t byte[uuid_size];

    friend constexpr bool operator==(const UuidBytes &, const UuidBytes &) = default;
};

// Of version 1, and of version 6.
struct UuidParts {
    std::uint64_t timestamp;
    std::uint64_t clock_seq;
    std::uint64_t node;

    friend constexpr bool operator==(const UuidParts &, const UuidParts &) = default;
};

// From their low ends, the fields of version 1 (section 5.1): of the first half time_high 12, ver
// 4, time_mid 16, time_low 32; of the second half node 48, clock_seq 14, var 2. Version 6 (section
// 5.6) has time_low 12, ver 4, time_high and time_mid 48; version 7 (section 5.7) anything 12, ver
// 4, the milliseconds since 1970-01-01 00:00 UTC 48, and another second half but for var.
inline constexpr int time_low_bits = 32;
inline constexpr int time_mid_bits = 16;
inline constexpr int time_high_bits = uuid_timestamp_bits - time_low_bits - time_mid_bits;
inline constexpr int version_bits = 4;
inline constexpr int version_shift = time_high_bits;
inline constexpr int time_mid_shift = version_shift + version_bits;
inline constexpr int time_low_shift = time_mid_shift + time_mid_bits;
inline constexpr int clock_seq_shift = uuid_node_bits;
inline constexpr int variant_shift = clock_seq_shift + uuid_clock_seq_bits;
inline constexpr std::uint64_t variant_rfc = 2;  // section 4.1: binary 10

struct Halves {
    std::uint64_t first;
    std::uint64_t second;
};

constexpr std::uint64_t big_endian(std::uint64_t value) {
    return std::endian::native == std::endian::big ? value : __builtin_bswap64(value);
}

constexpr Halves halves_of(const UuidBytes &bytes) {
    const auto halves = std::bit_cast<Halves>(bytes);
    return {big_endian(halves.first), big_endian(halves.second)};
}

constexpr UuidBytes join_halves(std::uint64_t first, std::uint64_t version, std::uint64_t second) {
    return std::bit_cast<UuidBytes>(Halves{big_endian(first | version << version_shift),
                                           big_endian(second | variant_rfc << variant_shift)});
}

constexpr std::uint64_t second_half_of(const UuidParts &parts) {
    return parts.clock_seq << clock_seq_shift | parts.node;
}

constexpr UuidParts with_second_half(std::uint64_t timestamp, std::uint64_t second) {
    return {timestamp, second >> clock_seq_shift & max_uuid_clock_seq, second & max_uuid_node};
}

// Whether the bytes are a UUID of the RFC's variant and of this version.
constexpr bool is_uuid(const UuidBytes &bytes, std::uint64_t version) {
    const Halves halves = halves_of(bytes);
    return (halves.first >> version_shift & max_of(version_bits)) == version &&
           halves.second >> variant_shift == variant_rfc;
}

// REQUIRED: each field at most its max_uuid_*.
constexpr UuidBytes pack_uuid_v1(const UuidParts &parts) {
    const std::uint64_t time_low = parts.timestamp & max_of(time_low_bits);
    const std::uint64_t time_mid = parts.timestamp >> time_low_bits & max_of(time_mid_bits);
    const std::uint64_t time_high = parts.timestamp >> (time_low_bits + time_mid_bits);
    return join_halves(time_low << time_low_shift | time_mid << time_mid_shift | time_high, 1,
                       second_half_of(parts));
}

// REQUIRED: is_uuid(bytes, 1).
constexpr UuidParts unpack_uuid_v1(const UuidBytes &bytes) {
    const auto [first, second] = halves_of(bytes);
    return with_second_half((first & max_of(time_high_bits)) << (time_low_bits + time_mid_bits) |
                                (first >> time_mid_shift & max_of(time_mid_bits)) << time_low_bits |
                                first >> time_low_shift,
                            second);
}

// Version 6 has the timestamp in order, so that UUIDs sort by time. REQUIRED: as pack_uuid_v1.
constexpr UuidBytes pack_uuid_v6(const UuidParts &parts) {
    return join_halves(parts.timestamp >> version_shift << time_mid_shift |
                           (parts.timestamp & max_of(version_shift)),
                       6, second_half_of(parts));
}

// REQUIRED: is_uuid(bytes, 6).
constexpr UuidParts unpack_uuid_v6(const UuidBytes &bytes) {
    const auto [first, second] = halves_of(bytes);
    return with_second_half(
        first >> time_mid_shift << version_shift | (first & max_of(version_shift)), second);
}

// Timestamps as PostgreSQL counts them: microseconds since 2000-01-01 00:00 UTC.
inline constexpr std::int64_t hundred_ns_per_us = 10;
inline constexpr std::int64_t us_per_day = INT64_C(86400000000);
inline constexpr std::int64_t days_1582_to_2000 = 152384;
inline constexpr std::int64_t uuid_epoch_us = -days_1582_to_2000 * us_per_day;
inline constexpr std::int64_t max_uuid_us =
    uuid_epoch_us + static_cast<std::int64_t>(max_uuid_timestamp / hundred_ns_per_us);

// Whether a UUID v1 can carry this microsecond and the 100 ns counted within it.
// REQUIRED: 0 <= hundred_ns <= 9.
constexpr bool fits_uuid_timestamp(std::int64_t us, int hundred_ns) {
    return us >= uuid_epoch_us &&
           (us < max_uuid_us ||
            (us == max_uuid_us &&
             hundred_ns <= static_cast<int>(max_uuid_timestamp % hundred_ns_per_us)));
}

// REQUIRED: fits_uuid_timestamp(us, hundred_ns).
constexpr std::uint64_t uuid_timestamp_from_us(std::int64_t us, int hundred_ns) {
    return static_cast<std::uint64_t>((us - uuid_epoch_us) * hundred_ns_per_us + hundred_ns);
}

// The microsecond in which the timestamp lies; exact, whatever its size.
constexpr std::int64_t us_of_uuid_timestamp(std::uint64_t timestamp) {
    return uuid_epoch_us + static_cast<std::int64_t>(timestamp / hundred_ns_per_us);
}

inline constexpr int uuid_v7_ms_bits = 48;

// Whether a UUID of version 7 can carry the millisecond of this microsecond.
constexpr bool fits_uuid_v7(std::int64_t us) {
    return us >= unix_epoch_us && time_at(unix_epoch_us, us) <= max_of(uuid_v7_ms_bits);
}

// The smallest one of the millisecond in which this microsecond lies. REQUIRED: fits_uuid_v7(us).
constexpr UuidBytes first_uuid_v7_at(std::int64_t us) {
    return join_halves(time_at(unix_epoch_us, us) << time_mid_shift, 7, 0);
}

// The first microsecond of its millisecond. REQUIRED: is_uuid(bytes, 7).
constexpr std::int64_t us_of_uuid_v7(const UuidBytes &bytes) {
    return clock_at(unix_epoch_us, halves_of(bytes).first >> time_mid_shift);
}

// What the generator of UUIDs counts: the timestamp of section 5.1, intervals of 100 ns, ten in
// each microsecond of the clock.
inline constexpr Count uuid_ticks{
    .step = 1, .numbers = hundred_ns_per_us, .last_tick = max_uuid_timestamp};
static_assert(is_drawable(uuid_ticks));

inline constexpr OwnLayout uuid_layout{uuid_ticks, uuid_epoch_us, Kind::uuids};

// What tells the UUIDs and ObjectIds made in one database from those made in any other: a random
// seed, drawn with the first of them and kept where their generator's storage keeps a layout
// (binding.hpp). A copy of the files has the same seed; so the database's OID and the cluster's
// system identifier are added.
//
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

// Section 6.10: a node that is no MAC address has the multicast bit set, the lowest bit of
// its first byte. REQUIRED: bits < 2^47.
constexpr std::uint64_t node_of_random_bits(std::uint64_t bits) {
    constexpr int multicast_bit = 40;
    return bits >> multicast_bit << (multicast_bit + 1) | std::uint64_t{1} << multicast_bit |
           (bits & max_of(multicast_bit));
}

// The UUID of a tick in a database. The clock sequence, by section 5.1: random at first, and
// changed when the clock may have been set back or the node has changed. Here the timestamps of a
// node never go back, and another node has another clock sequence with a probability of 16383 in
// 16384.
constexpr UuidParts uuid_of_tick(std::uint64_t tick, std::uint64_t seed,
                                 std::uint64_t system_identifier, std::uint32_t database) {
    const std::uint64_t own = own_bits(seed, system_identifier, database, uuid_identity_bits);
    return {tick, own >> node_random_bits, node_of_random_bits(own & max_of(node_random_bits))};
}

}  // namespace shardid
