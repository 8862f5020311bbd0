// What core/scatter.hpp promises, at the ends of its ranges and in the middle.
#include "core/scatter.hpp"

namespace shardid {

namespace {

static_assert(decimal_digits(0) == 1 && decimal_digits(9) == 1 && decimal_digits(10) == 2);
static_assert(decimal_digits(max_scattered) == scattered_digits);

constexpr bool digits_are_counted() {
    for (int n = 1; n < scattered_digits; ++n)
        if (decimal_digits(scatter_detail::ten_to.of[n] - 1) != n ||
            decimal_digits(scatter_detail::ten_to.of[n]) != n + 1)
            return false;
    return true;
}
static_assert(digits_are_counted());

// The first row of TiDB's article, the same with two digits, its row with a last digit 0, and with
// two zeros.
static_assert(scatter_digits(561632371724517376, 1) == 566163237172451737);
static_assert(scatter_digits(561632371724517376, 2) == 576616323717245173);
static_assert(scatter_digits(561632371728711680, 1) == 506163237172871168);
static_assert(scatter_digits(561632371728711600, 2) == 500616323717287116);
static_assert(gather_digits(500616323717287116, 2) == 561632371728711600);
static_assert(scatter_digits(100, 1) == 100 && scatter_digits(120, 1) == 102 &&
              gather_digits(102, 1) == 120);

// The largest that fits, one that does not, and one that is no result of scattering.
static_assert(scatter_digits(9223372036854775772, 1) == 9222337203685477577);
static_assert(scatter_digits(max_scattered, 1) == 9722337203685477580U);
static_assert(gather_digits(9198765432109876543U, 1) > max_scattered);

static_assert(scatter_bits(1, 1) == std::uint64_t{1} << 62 && scatter_bits(2, 1) == 1);
static_assert(scatter_bits(max_scattered, 15) == max_scattered);
static_assert(gather_bits(scatter_bits(0x123456789ABCDEF, 5), 5) == 0x123456789ABCDEF);

}  // namespace

}  // namespace shardid
