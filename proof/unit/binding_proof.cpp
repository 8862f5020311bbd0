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

}  // namespace

}  // namespace shardid
