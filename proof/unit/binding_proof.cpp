// What core/binding.hpp promises, at the ends of its ranges and in the middle.
#include "core/binding.hpp"

namespace shardid {

namespace {

constexpr std::int64_t last_epoch_us = INT64_C(9223371331199999000);

constexpr bool survives(Widths widths, std::int64_t epoch_us) {
    constexpr std::uint64_t first_normal_xid = 3;
    const Layout layout{widths, epoch_us};
    const std::uint64_t binding = binding_of(layout);
    return layout_of(binding) == layout && kind_of(binding) == Kind::ids &&
           binding >> 32 >= first_normal_xid;
}

static_assert(survives(instagram_widths, INT64_C(367535221721000)));
static_assert(survives(twitter_widths, 0) && survives({0, 0}, -1000));
static_assert(survives({31, 1}, first_epoch_ms *us_per_ms) && survives({1, 31}, last_epoch_us));
static_assert(survives({31, 0}, last_epoch_us) && survives({0, 31}, last_epoch_us));
static_assert(survives({16, 16}, first_epoch_ms *us_per_ms));

constexpr std::uint64_t bound_ids = binding_of({instagram_widths, 0});
constexpr std::uint64_t bound_uuids = binding_of(Kind::uuids, 5);

static_assert(have_one_scale(bound_ids, bound_ids) && !have_one_scale(bound_ids, bound_uuids));
static_assert(!have_one_scale(bound_ids, binding_of({twitter_widths, 0})));
static_assert(have_one_scale(bound_uuids, binding_of(Kind::uuids, 6)) &&
              !have_one_scale(bound_uuids, binding_of(Kind::objectids, 5)));

static_assert(kind_of(binding_of(Kind::uuids, max_of(seed_bits))) == Kind::uuids);
static_assert(kind_of(binding_of(Kind::objectids, 0)) == Kind::objectids);
static_assert(seed_of(binding_of(Kind::uuids, 5)) == 5);
static_assert(binding_of(Kind::uuids, 0) >> 32 > unbound >> 32);

constexpr std::uint64_t instagram = binding_of({instagram_widths, 0});
constexpr std::uint64_t twitter = binding_of({twitter_widths, 0});
constexpr std::uint64_t uuids = binding_of(Kind::uuids, 5);

// The larger tick with its own log_to, as what was drawn last.
static_assert(merge({instagram, 7, 17}, {instagram, 5, 25}) == LastDraw{instagram, 7, 17});
static_assert(merge({instagram, 5, 15}, {instagram, 7, 17}) == LastDraw{instagram, 7, 17});
static_assert(merge({uuids, 7, 17}, {uuids + 1, 5, 15}) == LastDraw{uuids + 1, 7, 17});

// No tick is taken for one of another scale, however much larger.
constexpr bool are_kept_apart() {
    LastDraws first{{instagram, 5, 5}, nullptr};
    LastDraws second{{twitter, 5000, 5000}, &first};
    LastDraws *list = &second;
    const bool known = merge_into(&list, {instagram, 6, 6}) && !merge_into(&list, {uuids, 1, 1});
    return known && list == &first && first.draw == LastDraw{instagram, 6, 6} &&
           first.next == &second && second.next == nullptr &&
           last_draw_in(list, instagram).tick == 6 &&
           last_draw_in(list, twitter) == LastDraw{twitter, 5000, 5000} &&
           last_draw_in(list, uuids).tick == 0;
}
static_assert(are_kept_apart());

constexpr bool is_brought_to_the_front() {
    LastDraws last{{uuids, 3, 3}, nullptr};
    LastDraws middle{{twitter, 2, 2}, &last};
    LastDraws first{{instagram, 1, 1}, &middle};
    LastDraws *list = &first;
    return merge_into(&list, {twitter, 1, 1}) && list == &middle && middle.next == &first &&
           first.next == &last && middle.draw == LastDraw{twitter, 2, 2} &&
           merge_into(&list, {uuids, 4, 4}) && list == &last && last.next == &middle &&
           first.next == nullptr;
}
static_assert(is_brought_to_the_front());

}  // namespace

}  // namespace shardid
