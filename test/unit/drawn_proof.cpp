// What core/drawn.hpp promises.
#include "core/drawn.hpp"

namespace shardid {

namespace {

constexpr std::uint64_t instagram = binding_of({instagram_widths, 0});
constexpr std::uint64_t twitter = binding_of({twitter_widths, 0});
constexpr std::uint64_t uuids = binding_of(Kind::uuids, 5);
constexpr std::uint64_t objectids = binding_of(Kind::objectids, 5);

// Each tick in its own unit, and none beyond its end.
static_assert(tick_after_ms({instagram, 7}, 1000) == 7 + (1000 << 10));
static_assert(tick_after_ms({twitter, 7}, 1000) == 7 + (1000 << 12));
static_assert(tick_after_ms({uuids, 7}, 1000) == 7 + 10'000'000);
static_assert(tick_after_ms({objectids, 7}, 1000) == 7 + 1000 * objectids_per_ms);
static_assert(tick_after_ms({instagram, max_tick(instagram_widths) - 1}, 1000) ==
              max_tick(instagram_widths));
static_assert(tick_after_ms({uuids, max_uuid_timestamp}, 1000) == max_uuid_timestamp);

}  // namespace

}  // namespace shardid
