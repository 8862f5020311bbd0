// 64 bits as 13 characters of Crockford's base 32 (crockford.com/base32.html), sorting byte by byte
// as the numbers do. The first character holds 4 bits, so it is at most F. Pure arithmetic on
// ASCII.
#pragma once

#include <cstddef>
#include <cstdint>

namespace shardid {

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

namespace base32_detail {

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

inline constexpr Digits digits = digits_of_characters();

}  // namespace base32_detail

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
    using namespace base32_detail;
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < size; ++i) {
        const std::int8_t digit = digits.of[static_cast<unsigned char>(bytes[i])];
        if (digit == no_digit)
            return {0, Base32Fault::character, i};
        number = number << base32_digit_bits | static_cast<std::uint64_t>(digit);
    }
    if (size != base32_size)
        return {0, Base32Fault::size, size};
    if (static_cast<std::uint64_t>(digits.of[static_cast<unsigned char>(bytes[0])]) >
        max_first_digit)
        return {0, Base32Fault::range, size};
    return {number, Base32Fault::none, size};
}

static_assert(base32_of(32).character[base32_size - 2] == '1' &&
              read_base32("000000000001L", base32_size).number == 33);

}  // namespace shardid
