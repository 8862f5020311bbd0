// What core/drawn.hpp promises.
#include "core/drawn.hpp"

namespace shardid {

namespace {

constexpr std::uint64_t instagram = binding_of({instagram_widths, 0});
constexpr std::uint64_t twitter = binding_of({twitter_widths, 0});
constexpr std::uint64_t uuids = binding_of(Kind::uuids, 5);
constexpr std::uint64_t objectids = binding_of(Kind::objectids, 5);

// The larger tick, as what was drawn last.
static_assert(merge({instagram, 7}, {instagram, 5}) == Drawn{instagram, 7});
static_assert(merge({instagram, 5}, {instagram, 7}) == Drawn{instagram, 7});
static_assert(merge({uuids, 7}, {uuids + 1, 5}) == Drawn{uuids + 1, 7});

// Each tick in its own unit, and none beyond its end.
static_assert(tick_after_ms({instagram, 7}, 1000) == 7 + (1000 << 10));
static_assert(tick_after_ms({twitter, 7}, 1000) == 7 + (1000 << 12));
static_assert(tick_after_ms({uuids, 7}, 1000) == 7 + 10'000'000);
static_assert(tick_after_ms({objectids, 7}, 1000) == 7 + 1000 * objectids_per_ms);
static_assert(tick_after_ms({instagram, max_tick(instagram_widths) - 1}, 1000) ==
              max_tick(instagram_widths));
static_assert(tick_after_ms({uuids, max_uuid_timestamp}, 1000) == max_uuid_timestamp);

// No tick is taken for one of another scale, however much larger.
constexpr bool are_kept_apart() {
    DrawnInScale first{{instagram, 5}, nullptr};
    DrawnInScale second{{twitter, 5000}, &first};
    DrawnInScale *list = &second;
    const bool known = merge_into(&list, {instagram, 6}) && !merge_into(&list, {uuids, 1});
    return known && list == &first && first.drawn == Drawn{instagram, 6} && first.next == &second &&
           second.next == nullptr && tick_in(list, instagram) == 6 &&
           tick_in(list, twitter) == 5000 && tick_in(list, uuids) == 0;
}
static_assert(are_kept_apart());

constexpr bool is_brought_to_the_front() {
    DrawnInScale last{{uuids, 3}, nullptr};
    DrawnInScale middle{{twitter, 2}, &last};
    DrawnInScale first{{instagram, 1}, &middle};
    DrawnInScale *list = &first;
    return merge_into(&list, {twitter, 1}) && list == &middle && middle.next == &first &&
           first.next == &last && middle.drawn == Drawn{twitter, 2} &&
           merge_into(&list, {uuids, 4}) && list == &last && last.next == &middle &&
           first.next == nullptr;
}
static_assert(is_brought_to_the_front());

}  // namespace

}  // namespace shardid
