// MongoDB's ObjectId, 12 bytes: big-endian seconds since 1970 (unsigned), five bytes for the
// machine and process, a counter of three. And what the generator of ObjectIds counts. Pure
// arithmetic.
#pragma once

#include <cstdint>

#include "core/binding.hpp"

namespace shardid {

inline constexpr int objectid_size = 12;
inline constexpr int objectid_seconds_bits = 32;
inline constexpr int objectid_process_bits = 40;
inline constexpr int objectid_counter_bits = 24;

// Of the process's five bytes, as they were first defined.
inline constexpr int objectid_machine_bits = 24;
inline constexpr int objectid_pid_bits = 16;
static_assert(objectid_machine_bits + objectid_pid_bits == objectid_process_bits);

struct ObjectIdBytes {
    std::uint8_t byte[objectid_size];

    friend constexpr bool operator==(const ObjectIdBytes &, const ObjectIdBytes &) = default;
};

struct ObjectIdParts {
    std::uint64_t seconds;
    std::uint64_t process;
    std::uint64_t counter;

    friend constexpr bool operator==(const ObjectIdParts &, const ObjectIdParts &) = default;
};

constexpr int bits_per_byte = 8;

constexpr void store(std::uint8_t *to, int bits, std::uint64_t value) {
    for (int shift = bits - bits_per_byte; shift >= 0; shift -= bits_per_byte)
        *to++ = static_cast<std::uint8_t>(value >> shift);
}

constexpr std::uint64_t load(const std::uint8_t *from, int bits) {
    std::uint64_t value = 0;
    for (int i = 0; i < bits / bits_per_byte; ++i)
        value = value << bits_per_byte | from[i];
    return value;
}

inline constexpr int process_offset = objectid_seconds_bits / bits_per_byte;
inline constexpr int counter_offset = process_offset + objectid_process_bits / bits_per_byte;
static_assert(counter_offset + objectid_counter_bits / bits_per_byte == objectid_size);

// REQUIRED: each part fits its bits.
constexpr ObjectIdBytes pack_objectid(const ObjectIdParts &parts) {
    ObjectIdBytes bytes{};
    store(bytes.byte, objectid_seconds_bits, parts.seconds);
    store(bytes.byte + process_offset, objectid_process_bits, parts.process);
    store(bytes.byte + counter_offset, objectid_counter_bits, parts.counter);
    return bytes;
}

constexpr ObjectIdParts unpack_objectid(const ObjectIdBytes &bytes) {
    return {load(bytes.byte, objectid_seconds_bits),
            load(bytes.byte + process_offset, objectid_process_bits),
            load(bytes.byte + counter_offset, objectid_counter_bits)};
}

// Timestamps as PostgreSQL counts them: microseconds since 2000-01-01 00:00 UTC.
inline constexpr std::int64_t us_per_s = 1000 * us_per_ms;
inline constexpr std::int64_t objectid_end_us =
    unix_epoch_us + (INT64_C(1) << objectid_seconds_bits) * us_per_s;

// Whether an ObjectId can carry the second in which this microsecond lies.
constexpr bool fits_objectid(std::int64_t us) {
    return us >= unix_epoch_us && us < objectid_end_us;
}

// The counter's values are divided among the milliseconds of a second, 16777 for each: so the
// generator's step is a millisecond, as for ids, and ObjectIds of one second do not collide.
inline constexpr std::uint64_t ms_per_s = us_per_s / us_per_ms;
inline constexpr std::uint64_t objectids_per_ms =
    (std::uint64_t{1} << objectid_counter_bits) / ms_per_s;
inline constexpr Count objectid_ticks{
    .step = us_per_ms,
    .numbers = objectids_per_ms,
    .last_tick = (std::uint64_t{1} << objectid_seconds_bits) * ms_per_s * objectids_per_ms - 1};
static_assert(is_drawable(objectid_ticks));

inline constexpr OwnLayout objectid_layout{objectid_ticks, unix_epoch_us, Kind::objectids};

// A tick counts on within a second from 0, so the counter is what is left of it.
constexpr ObjectIdParts objectid_of_tick(std::uint64_t tick, std::uint64_t process) {
    constexpr std::uint64_t per_s = ms_per_s * objectids_per_ms;
    return {tick / per_s, process, tick % per_s};
}

}  // namespace shardid
