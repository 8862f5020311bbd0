// What core/objectid.hpp promises, at the ends of its ranges and in the middle.
#include "core/objectid.hpp"

namespace shardid {

namespace {

// 507f1f77bcf86cd799439011 is of 2012-10-17 21:13:27 UTC: 4673 days and 76407 s after 2000-01-01.
constexpr ObjectIdBytes published{
    {0x50, 0x7f, 0x1f, 0x77, 0xbc, 0xf8, 0x6c, 0xd7, 0x99, 0x43, 0x90, 0x11}};
constexpr ObjectIdParts its_parts{0x507f1f77, 0xbcf86cd799, 0x439011};
static_assert(unpack_objectid(published) == its_parts && pack_objectid(its_parts) == published);
static_assert(us_of_objectid(its_parts.seconds) == (INT64_C(4673) * 86400 + 76407) * us_per_s);
static_assert(objectid_seconds_at(us_of_objectid(0x507f1f77) + 999999) == 0x507f1f77);
static_assert(fits_objectid(unix_epoch_us) && !fits_objectid(unix_epoch_us - 1) &&
              fits_objectid(objectid_end_us - 1) && !fits_objectid(objectid_end_us));

constexpr Count t = objectid_ticks;
static_assert(objectids_per_ms == 16777);
static_assert(objectid_of_tick(make_tick(t, 5999, 16776), 7) ==
              ObjectIdParts{5, 7, 999 * 16777 + 16776});
static_assert(objectid_of_tick(make_tick(t, 6000, 0), 7) == ObjectIdParts{6, 7, 0});
static_assert(objectid_of_tick(make_tick(t, 5999, 16776), 0).counter < 1 << 24);
static_assert(objectid_of_tick(max_tick(t), 0).seconds == 0xFFFFFFFF);
static_assert(make_tick(t, max_drawn_time(t), 16776) == max_tick(t));
static_assert(ticks_of_ms(t, 1000) == 16777000);

}  // namespace

}  // namespace shardid
