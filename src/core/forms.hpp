// Other forms of an id, and the way back: scattered, and as short text. Pure arithmetic.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace shardid {

// Scattering: an id's low digits or bits moved up, so that consecutive ids lie far apart. Ids and
// results are 0 .. 2^63-1.
//
//     digits   561632371724517376 -> 566163237172451737    the last behind the first
//     bits     abc...xyz -> xyzabc...                      63 bits rotated
//
// What an int8 that is not negative has.
inline constexpr std::uint64_t max_scattered = INT64_MAX;
inline constexpr int scattered_bits = 63;
inline constexpr int scattered_digits = 19;

// The first digit stays.
inline constexpr int max_moved_digits = scattered_digits - 1;

// As many as TiDB's AUTO_RANDOM and SHARD_ROW_ID_BITS take.
inline constexpr int max_moved_bits = 15;

struct PowersOfTen {
    std::uint64_t of[scattered_digits];
};

constexpr PowersOfTen powers_of_ten() {
    PowersOfTen powers{};
    std::uint64_t power = 1;
    for (std::uint64_t &entry : powers.of) {
        entry = power;
        power *= 10;
    }
    return powers;
}

inline constexpr PowersOfTen ten_to = powers_of_ten();

// How many decimal digits the number has; 0 has one, as 1 has. REQUIRED: number <= max_scattered.
constexpr int decimal_digits(std::uint64_t number) {
    const std::uint64_t odd = number | 1;  // no power of ten above 1 lies between the two
    const int bits = std::numeric_limits<std::uint64_t>::digits - std::countl_zero(odd);
    const int at_least = bits * 1233 >> 12;  // floor(bits * log10(2)), for up to 63 bits
    return odd >= ten_to.of[at_least] ? at_least + 1 : at_least;
}

// The last digits moved, in their order, to behind the first digit; the number of digits stays. May
// exceed max_scattered, which an id of 19 digits that begins with 9 can.
// REQUIRED: id <= max_scattered, 1 <= digits <= max_moved_digits, digits < decimal_digits(id).
constexpr std::uint64_t scatter_digits(std::uint64_t id, int digits) {
    const int behind_first = decimal_digits(id) - 1;
    const std::uint64_t rest = id % ten_to.of[behind_first];
    return id - rest + rest % ten_to.of[digits] * ten_to.of[behind_first - digits] +
           rest / ten_to.of[digits];
}

// The inverse. May exceed max_scattered as well: then no id scatters to this number.
// REQUIRED: as above.
constexpr std::uint64_t gather_digits(std::uint64_t scattered, int digits) {
    const int behind_first = decimal_digits(scattered) - 1;
    const std::uint64_t rest = scattered % ten_to.of[behind_first];
    const std::uint64_t below_moved = ten_to.of[behind_first - digits];
    return scattered - rest + rest % below_moved * ten_to.of[digits] + rest / below_moved;
}

// The low bits moved to below the sign. REQUIRED: id <= max_scattered, 1 <= bits <=
// max_moved_bits.
constexpr std::uint64_t scatter_bits(std::uint64_t id, int bits) {
    return (id << (scattered_bits - bits) & max_scattered) | id >> bits;
}

// The inverse. REQUIRED: as above.
constexpr std::uint64_t gather_bits(std::uint64_t scattered, int bits) {
    return (scattered << bits & max_scattered) | scattered >> (scattered_bits - bits);
}

// 64 bits as 13 characters of Crockford's base 32 (crockford.com/base32.html), in ASCII, sorting
// byte by byte as the numbers do. The first character holds 4 bits, so it is at most F.
inline constexpr int base32_digit_bits = 5;
inline constexpr int base32_size = 13;

// Digits without I, L, O and U; in ASCII's order.
inline constexpr char base32_alphabet[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

struct Base32Text {
    char character[base32_size];
};

constexpr Base32Text base32_of(std::uint64_t number) {
    constexpr std::uint64_t digit_mask = (std::uint64_t{1} << base32_digit_bits) - 1;
    Base32Text text{};
    for (int i = base32_size - 1; i >= 0; --i) {
        text.character[i] = base32_alphabet[number & digit_mask];
        number >>= base32_digit_bits;
    }
    return text;
}

inline constexpr std::int8_t no_digit = -1;
inline constexpr int first_digit_shift = (base32_size - 1) * base32_digit_bits;
inline constexpr std::uint64_t max_first_digit = UINT64_MAX >> first_digit_shift;

struct Digits {
    std::int8_t of[256];
};

// Both cases, O for 0, and I and L for 1.
constexpr Digits digits_of_characters() {
    constexpr int lower = 'a' - 'A';
    Digits digits{};
    for (std::int8_t &digit : digits.of)
        digit = no_digit;
    for (std::int8_t n = 0; n < 1 << base32_digit_bits; ++n) {
        const auto character = static_cast<unsigned char>(base32_alphabet[n]);
        digits.of[character] = n;
        if (character >= 'A')
            digits.of[character + lower] = n;
    }
    for (const unsigned char same : "OoIiLl")
        if (same != '\0')
            digits.of[same] = same == 'O' || same == 'o' ? 0 : 1;
    return digits;
}

inline constexpr Digits base32_digits = digits_of_characters();

enum class Base32Fault { none, character, size, range };

// A number, or why the bytes are none; if a character is wrong, the number of right ones before it.
struct Base32Reading {
    std::uint64_t number;
    Base32Fault fault;
    std::size_t good;
};

// Takes any bytes. Reports a wrong character before a wrong size: so if the size is reported, all
// bytes are ASCII.
constexpr Base32Reading read_base32(const char *bytes, std::size_t size) {
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < size; ++i) {
        const std::int8_t digit = base32_digits.of[static_cast<unsigned char>(bytes[i])];
        if (digit == no_digit)
            return {0, Base32Fault::character, i};
        number = number << base32_digit_bits | static_cast<std::uint64_t>(digit);
    }
    if (size != base32_size)
        return {0, Base32Fault::size, size};
    if (static_cast<std::uint64_t>(base32_digits.of[static_cast<unsigned char>(bytes[0])]) >
        max_first_digit)
        return {0, Base32Fault::range, size};
    return {number, Base32Fault::none, size};
}

}  // namespace shardid
