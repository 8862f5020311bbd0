// What core/worked_widths.hpp promises, at the ends of its ranges and in the middle.
#include "core/advance.hpp"

namespace shardid {

namespace {

constexpr bool is_alike(Widths l, std::uint64_t last, std::uint64_t now) {
    const Advance one = advance(l, last, now);
    const Advance other = advance(worked_out(l), last, now);
    return one.verdict == other.verdict && one.tick == other.tick;
}

constexpr bool is_alike(Widths l) {
    const std::uint64_t lasts[] = {0, 1 << 20, max_tick(l) - 1, max_tick(l),
                                   make_tick(l, 5, max_sequence(l))};
    const std::uint64_t nows[] = {0, 5, 6, max_drawn_time(l), max_drawn_time(l) + 1};
    for (const std::uint64_t last : lasts)
        for (const std::uint64_t now : nows)
            if (!is_alike(l, last, now))
                return false;
    return true;
}

static_assert(is_alike(instagram_widths) && is_alike(twitter_widths) && is_alike({0, 0}) &&
              is_alike({0, 10}) && is_alike({31, 1}) && is_alike({1, 31}) && is_alike({16, 16}));

}  // namespace

}  // namespace shardid
