// What core/base32.hpp promises, at the ends of its ranges and in the middle.
#include "core/base32.hpp"

namespace shardid {

namespace {

constexpr bool alphabet_is_in_order() {
    for (int n = 1; n < 1 << base32_digit_bits; ++n)
        if (base32_alphabet[n - 1] >= base32_alphabet[n])
            return false;
    return true;
}
static_assert(sizeof base32_alphabet == (1 << base32_digit_bits) + 1 && alphabet_is_in_order());
static_assert(base32_detail::max_first_digit == 15);

template <std::size_t size>
constexpr bool reads(const char (&text)[size], std::uint64_t number) {
    const Base32Reading reading = read_base32(text, size - 1);
    return reading.fault == Base32Fault::none && reading.number == number;
}

template <std::size_t size>
constexpr bool fails(const char (&text)[size], Base32Fault fault) {
    return read_base32(text, size - 1).fault == fault;
}

template <std::size_t size>
constexpr bool is_written(std::uint64_t number, const char (&text)[size]) {
    const Base32Text written = base32_of(number);
    for (int i = 0; i < base32_size; ++i)
        if (written.character[i] != text[i])
            return false;
    return size - 1 == base32_size;
}

static_assert(is_written(0, "0000000000000") && is_written(UINT64_MAX, "FZZZZZZZZZZZZ") &&
              is_written(INT64_MAX, "7ZZZZZZZZZZZZ"));
// The ULID project's examples of a time, in the same alphabet.
static_assert(is_written(1469918176385, "00001ARYZ6S41") &&
              is_written(281474976710655, "0007ZZZZZZZZZ"));
static_assert(reads("00001aryz6s41", 1469918176385) && reads("oOOoiAryz6s4L", 1469918176385) &&
              reads("fzzzzzzzzzzzz", UINT64_MAX));
static_assert(fails("", Base32Fault::size) && fails("000000000000", Base32Fault::size) &&
              fails("00000000000000", Base32Fault::size) &&
              fails("G000000000000", Base32Fault::range) &&
              fails("U000000000000", Base32Fault::character) &&
              fails("000000-000000", Base32Fault::character));

}  // namespace

}  // namespace shardid
