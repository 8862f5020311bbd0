// What core/uuid_ticks.hpp promises, at the ends of its ranges and in the middle.
#include "core/uuid_ticks.hpp"

namespace shardid {

namespace {

constexpr Count t = uuid_ticks;
constexpr std::int64_t clock = INT64_C(700000000123456);
constexpr std::uint64_t now = time_at(uuid_epoch_us, clock, step_us(t));

constexpr bool draws(Advance a, std::uint64_t tick) {
    return a.verdict == Verdict::draw && a.tick == tick;
}

// A tick is the timestamp; the first tick of a microsecond is without the first 100 ns.
static_assert(make_tick(t, now, 0) == uuid_timestamp_from_us(clock, 0));
static_assert(draws(advance(t, 0, now), uuid_timestamp_from_us(clock, 0)));
// The same or an earlier clock: 100 ns later. The eleventh of a microsecond waits for the next.
static_assert(draws(advance(t, make_tick(t, now, 3), now), uuid_timestamp_from_us(clock, 4)));
static_assert(draws(advance(t, make_tick(t, now, 3), now - 5), uuid_timestamp_from_us(clock, 4)));
static_assert(advance(t, make_tick(t, now, 9), now).verdict == Verdict::wait);
static_assert(draws(advance(t, make_tick(t, now, 9), now - 5, now + 1), make_tick(t, now + 1, 0)));
// The end: the last microsecond has six ticks.
static_assert(draws(advance(t, 7, max_drawn_time(t)), max_uuid_timestamp - 5));
static_assert(draws(advance(t, max_uuid_timestamp - 1, 7), max_uuid_timestamp));
static_assert(advance(t, max_uuid_timestamp, 7).verdict == Verdict::ended);
static_assert(advance(t, 7, max_drawn_time(t) + 1).verdict == Verdict::ended);
static_assert(ticks_of_ms(t, 1000) == 10000000 && ms_of_times(t, 1999) == 1);

}  // namespace

}  // namespace shardid
