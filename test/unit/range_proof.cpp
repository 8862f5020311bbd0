// What core/range.hpp promises, at the ends of its ranges and in the middle.
#include "core/range.hpp"

namespace shardid {

namespace {

constexpr bool is(Range range, std::int64_t first, std::int64_t last, std::uint64_t steps) {
    return range.first == first && range.last == last && range.steps == steps;
}

constexpr Limits up{1, INT64_MAX, 1};
constexpr Limits tens{1, 100, 10};
constexpr Limits down{-100, -1, -1};
constexpr Limits all_up{INT64_MIN, INT64_MAX, 1};
constexpr Limits all_down{INT64_MIN, INT64_MAX, -1};

static_assert(is(next_range(up, 1, false, 1), 1, 1, 0));
static_assert(is(next_range(up, 1, false, 1000), 1, 1000, 999));
static_assert(is(next_range(up, 1, true, 1000), 2, 1001, 1000));
// 1, 11, ... 91: ten values.
static_assert(values_left(tens, 1, false) == 10 && values_left(tens, 91, true) == 0);
static_assert(is(next_range(tens, 1, false, 10), 1, 91, 9));
static_assert(values_left(down, -1, false) == 100 && values_left(down, -98, true) == 2);
static_assert(is(next_range(down, -98, true, 2), -99, -100, 2));
// The whole of int8.
static_assert(steps_left(all_up, INT64_MIN) == UINT64_MAX);
static_assert(steps_left(all_down, INT64_MAX) == UINT64_MAX);
static_assert(value_after(all_up, INT64_MIN, UINT64_MAX) == INT64_MAX);
static_assert(value_after(all_down, INT64_MAX, UINT64_MAX) == INT64_MIN);
static_assert(values_left(all_up, INT64_MIN, false) == UINT64_MAX);
static_assert(is(next_range(all_up, INT64_MIN, false, INT64_MAX), INT64_MIN, -2, INT64_MAX - 1));
static_assert(steps_left({INT64_MIN, INT64_MAX, INT64_MIN}, INT64_MAX) == 1);
static_assert(value_after({INT64_MIN, INT64_MAX, INT64_MIN}, INT64_MAX, 1) == -1);
static_assert(steps_left({1, INT64_MAX, INT64_MAX}, 1) == 0);
static_assert(steps_left({1, 5, 1}, 7) == 0);

}  // namespace

}  // namespace shardid
