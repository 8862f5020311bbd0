// What holds for the pure headers with every input, compared with slower arithmetic that is written
// in another way, and for simulated callers of one generator with every kind of clock. Inputs come
// from a Source: random numbers (brute_force.cpp) or a fuzzer's bytes (fuzz.cpp). It has
//     below(limit)   a number less than limit
//     up_to(max)     a number of any size up to max, often close to 0 or max
//     is_empty()     whether there is no more input
#pragma once

#include "core/advance.hpp"
#include "core/binding.hpp"
#include "core/forms.hpp"
#include "core/layout.hpp"
#include "core/objectid.hpp"
#include "core/range.hpp"
#include "core/uuid.hpp"
#include "core/wait.hpp"
#include "core/window.hpp"

#include <algorithm>
#include <cctype>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unordered_map>
#include <vector>

namespace shardid::invariants {

using Wide = __int128;

inline std::uint64_t checks = 0;

inline void require(bool holds, const char *what, int line) {
    ++checks;
    if (holds)
        return;
    std::fprintf(stderr, "%s:%d: %s\n", __FILE__, line, what);
    std::abort();
}

#define REQUIRE(condition) require((condition), #condition, __LINE__)

inline Wide power_of_two(int exponent) {
    return Wide{1} << exponent;
}

template <typename Source>
int int_below(Source &source, int limit) {
    return static_cast<int>(source.below(static_cast<std::uint64_t>(limit)));
}

template <typename Source>
std::int64_t us_below(Source &source, std::uint64_t limit) {
    return static_cast<std::int64_t>(source.below(limit));
}

template <typename Source>
Widths any_widths(Source &source) {
    const int shard_bits = int_below(source, max_field_bits + 1);
    const int room = max_shard_and_sequence_bits - shard_bits;
    const Widths widths{shard_bits,
                        int_below(source, (room < max_field_bits ? room : max_field_bits) + 1)};
    REQUIRE(is_valid(widths));
    return widths;
}

template <typename Source>
void check_widths(Source &source) {
    const Widths l = any_widths(source);
    const std::uint64_t time = source.up_to(max_time(l));
    const std::uint64_t shard = source.up_to(max_shard(l));
    const std::uint64_t sequence = source.up_to(max_sequence(l));

    REQUIRE(Wide{max_time(l)} == power_of_two(64 - l.shard_bits - l.sequence_bits) - 1);
    REQUIRE(Wide{max_shard(l)} == power_of_two(l.shard_bits) - 1);
    REQUIRE(Wide{max_sequence(l)} == power_of_two(l.sequence_bits) - 1);
    REQUIRE(max_tick(l) <= INT64_MAX);

    const std::uint64_t tick = make_tick(l, time, sequence);
    REQUIRE(Wide{tick} == time * power_of_two(l.sequence_bits) + sequence);
    REQUIRE(tick_time(l, tick) == time && tick_sequence(l, tick) == sequence);

    const std::uint64_t id = pack_id(l, shard, tick);
    REQUIRE(Wide{id} ==
            (time * power_of_two(l.shard_bits) + shard) * power_of_two(l.sequence_bits) + sequence);
    REQUIRE(id_time(l, id) == time && id_shard(l, id) == shard && id_sequence(l, id) == sequence);

    const std::uint64_t other = source.up_to(UINT64_MAX);
    REQUIRE((other >= first_id_of(l, time)) == (id_time(l, other) >= time));
    REQUIRE(pack_id(l, id_shard(l, other),
                    make_tick(l, id_time(l, other), id_sequence(l, other))) == other);
}

// Any bits are a layout or none, and the check does not overflow.
template <typename Source>
void check_validity(Source &source) {
    const auto shard_bits = static_cast<int>(source.up_to(UINT32_MAX));
    const auto sequence_bits = static_cast<int>(source.up_to(UINT32_MAX));
    REQUIRE(is_valid({shard_bits, sequence_bits}) ==
            (shard_bits >= 0 && shard_bits <= 31 && sequence_bits >= 0 && sequence_bits <= 31 &&
             Wide{shard_bits} + sequence_bits <= 32));
}

// Any time that timestamptz can show, in its microseconds: from 4714-11-24 BC to the end of 294276.
template <typename Source>
std::int64_t any_timestamp(Source &source) {
    constexpr std::int64_t first = INT64_C(-211813488000000000);
    constexpr std::int64_t last = INT64_C(9223371331199999999);
    constexpr std::uint64_t range =
        static_cast<std::uint64_t>(last) - static_cast<std::uint64_t>(first);
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(first) + source.up_to(range));
}

template <typename Source>
void check_clock(Source &source) {
    const std::int64_t epoch = any_timestamp(source) / us_per_ms * us_per_ms;
    const std::int64_t clock = any_timestamp(source);
    if (clock < epoch)
        return;
    const Wide past = Wide{clock} - epoch;
    REQUIRE(Wide{time_at(epoch, clock)} == past / 1000);
    REQUIRE(Wide{time_not_before(epoch, clock)} == (past + 999) / 1000);
    REQUIRE(Wide{clock_at(epoch, time_at(epoch, clock))} == epoch + past / 1000 * 1000);
}

// As many ticks at once as are wanted, or up to the end of their time.
template <typename Source>
void check_further_ticks(Source &source, Widths l, std::uint64_t tick) {
    const std::uint64_t wanted = source.up_to(UINT64_MAX);
    const std::uint64_t further = further_ticks(l, tick, wanted);
    const std::uint64_t time = tick_time(l, tick);
    REQUIRE(further <= wanted && tick + further >= tick && tick_time(l, tick + further) == time);
    if (further < wanted)
        REQUIRE(advance(l, tick + further, time).verdict != Verdict::draw);
}

// A time is borrowed only if the last one is used up, one at once, and no further than allowed.
template <typename Source>
void check_borrowing(Source &source, Widths l, std::uint64_t last, std::uint64_t now) {
    const std::uint64_t borrow = source.below(2) == 0 ? source.below(4) : source.up_to(UINT64_MAX);
    const std::uint64_t last_time = tick_time(l, last);
    const Advance next = advance(l, last, now);
    const Advance borrowed = advance_or_borrow(l, last, now, borrow);
    if (next.verdict != Verdict::wait)
        REQUIRE(borrowed.verdict == next.verdict && borrowed.tick == next.tick);
    else if (borrowed.verdict == Verdict::draw)
        REQUIRE(borrowed.tick == make_tick(l, last_time + 1, 0) && last_time + 1 - now <= borrow);
    else
        REQUIRE(borrowed.verdict == Verdict::wait && last_time + 1 - now > borrow);
}

template <typename Source>
void check_advance(Source &source) {
    const Widths l = any_widths(source);
    const std::uint64_t last = source.up_to(source.below(8) == 0 ? INT64_MAX : max_tick(l));
    const std::uint64_t last_time = last >> l.sequence_bits;
    const std::uint64_t now = source.below(3) == 0 ? last_time + source.below(3) - source.below(2)
                                                   : source.up_to(max_time(l));
    const std::uint64_t step_to = source.below(4) == 0 ? last_time + 1 : 0;
    const Advance next = advance(l, last, now, step_to);
    const std::uint64_t clock = now > step_to ? now : step_to;
    check_borrowing(source, l, last, now);

    switch (next.verdict) {
        case Verdict::draw:
            REQUIRE(next.tick > last && next.tick <= max_tick(l));
            REQUIRE(tick_time(l, next.tick) == (clock > last_time ? clock : last_time));
            if (clock > last_time)
                REQUIRE(tick_sequence(l, next.tick) * 4 <= max_sequence(l) + 1);
            else
                REQUIRE(next.tick == last + 1);
            check_further_ticks(source, l, next.tick);
            break;
        case Verdict::wait:
            REQUIRE(clock <= last_time && tick_sequence(l, last) == max_sequence(l));
            REQUIRE(advance(l, last, last_time + 1).verdict == Verdict::draw);
            break;
        case Verdict::ended:
            REQUIRE(clock > max_drawn_time(l) || last >= max_tick(l));
            break;
    }
}

// Whatever the clock, the window and the last tick: a tick that is drawn is not before the window,
// and a tick that is drawn at once is in it.
inline void check_draw_in(Widths l, const Window &window, std::uint64_t last, std::uint64_t now,
                          std::uint64_t step_to, std::uint64_t look_at) {
    const bool begins_later = now < window.from;
    const Advance next = advance(l, last, clock_in(window, now), step_to);
    if (next.verdict == Verdict::draw) {
        const std::uint64_t time = tick_time(l, next.tick);
        REQUIRE(time >= window.from && next.tick > last);
        REQUIRE(is_in(window, time) == (time < window.until));
        REQUIRE(begins_later || next.tick == advance(l, last, now, step_to).tick);
        if (begins_later && tick_time(l, last) < window.from && step_to <= window.from)
            REQUIRE(time == window.from);
    }

    const std::uint64_t limit = drawn_at_once_below(l, window, look_at);
    REQUIRE((last < limit) == (tick_time(l, last) < std::min(window.until, look_at)));
    const Advance at_once = advance(l, last, now);
    if (is_in(window, tick_time(l, last)) && at_once.verdict == Verdict::draw &&
        at_once.tick < limit) {
        const std::uint64_t further = further_ticks(l, at_once.tick, UINT64_MAX);
        REQUIRE(is_in(window, tick_time(l, at_once.tick + further)));
        REQUIRE(at_once.tick + further < limit);
    }
}

// A session asks for the next window half a lease before this one's end, or up to a sixteenth of a
// lease earlier, but never before this one's start.
inline void check_ask_from(const Window &window, std::uint64_t lease, std::uint64_t session) {
    const std::uint64_t at = ask_from(window, lease, session);
    REQUIRE(at >= window.from && at <= window.until);
    REQUIRE(lease < 2 || at < window.until);
    const Wide ahead = Wide{window.until} - at;
    REQUIRE(ahead >= lease / 2 && 16 * ahead <= 9 * Wide{lease});
}

template <typename Source>
void check_window(Source &source) {
    const Widths l = any_widths(source);
    const std::uint64_t from = source.up_to(source.below(4) == 0 ? UINT64_MAX : max_time(l));
    const std::uint64_t length = source.up_to(UINT64_MAX - from);
    const Window window{from, from + length};
    const std::uint64_t times[] = {from, from + length, from + length / 2,
                                   source.up_to(UINT64_MAX)};
    const std::uint64_t near = times[source.below(4)] + source.below(3) - 1;
    const std::uint64_t last =
        near <= max_drawn_time(l)
            ? make_tick(l, near, source.up_to(max_sequence(l)) & max_sequence(l))
            : source.up_to(max_tick(l));
    if (last > max_tick(l))
        return;
    const std::uint64_t now = times[source.below(4)] + source.below(3) - 1;
    const std::uint64_t step_to = source.below(2) == 0 ? 0 : tick_time(l, last) + 1;
    check_draw_in(l, window, last, now, step_to, times[source.below(4)] + source.below(3) - 1);
    check_ask_from(window, source.up_to(length), source.up_to(UINT64_MAX));
}

// Servers with clocks of their own draw in windows that follow each other, in any order, repeatedly
// from any of their ticks: no tick is repeated.
template <typename Source>
void simulate_windows(Source &source) {
    constexpr int servers = 4;
    const Widths l{13, int_below(source, 4)};
    Window windows[servers];
    std::uint64_t lasts[servers];
    std::uint64_t end = 0;
    for (int i = 0; i < servers; ++i) {
        const std::uint64_t from = end + source.below(3);
        end = from + source.below(6);
        windows[i] = {from, end};
        lasts[i] = source.below(make_tick(l, end + 2, 0));
    }
    std::unordered_map<std::uint64_t, int> drawn;
    for (int draw = 0; draw < 200 && !source.is_empty(); ++draw) {
        const int i = int_below(source, servers);
        const std::uint64_t now = source.below(end + 3);
        const std::uint64_t step_to = source.below(2) == 0 ? 0 : tick_time(l, lasts[i]) + 1;
        const Advance next = advance(l, lasts[i], clock_in(windows[i], now), step_to);
        if (next.verdict != Verdict::draw || !is_in(windows[i], tick_time(l, next.tick)))
            continue;
        lasts[i] = next.tick;
        REQUIRE(drawn.emplace(next.tick, i).second);
    }
}

// The last positive id, and how many ticks are left, counted one by one if they are few.
template <typename Source>
void check_outlook(Source &source) {
    const Widths l = any_widths(source);
    const std::uint64_t positive = last_positive_tick(l);
    REQUIRE(pack_id(l, max_shard(l), positive) <= INT64_MAX);
    REQUIRE(positive == max_tick(l) || pack_id(l, 0, positive + 1) > INT64_MAX);

    const std::uint64_t end = source.below(2) == 0 ? positive : max_tick(l);
    const std::uint64_t back = source.up_to(end);
    const std::uint64_t last = end - back;
    const std::uint64_t now = tick_time(l, last) + source.below(3) - source.below(2);
    const std::uint64_t left = ticks_left(l, last, now, end);
    REQUIRE(left <= INT64_MAX || last == 0);
    std::uint64_t drawable = 0;
    for (std::uint64_t tick = last + 1; back <= 4096 && tick <= end; ++tick)
        drawable += tick_time(l, tick) >= now || now == UINT64_MAX ? 1 : 0;
    REQUIRE(back > 4096 || now == UINT64_MAX || left == drawable);
    REQUIRE(ticks_left(l, last, tick_time(l, last), end) == back);
}

// Ranges of any sequence are within its bounds, and with one value more they would not be.
template <typename Source>
void check_range(Source &source) {
    Limits limits{static_cast<std::int64_t>(source.up_to(UINT64_MAX)),
                  static_cast<std::int64_t>(source.up_to(UINT64_MAX)),
                  static_cast<std::int64_t>(source.up_to(UINT64_MAX))};
    if (limits.min >= limits.max || limits.increment == 0)
        return;
    const std::uint64_t width =
        static_cast<std::uint64_t>(limits.max) - static_cast<std::uint64_t>(limits.min);
    const auto last_value =
        static_cast<std::int64_t>(static_cast<std::uint64_t>(limits.min) + source.up_to(width));
    const bool is_called = source.below(2) == 0;
    const Wide bound = limits.increment > 0 ? limits.max : limits.min;
    const Wide steps = (bound - last_value) / limits.increment;
    REQUIRE(steps_left(limits, last_value) == steps);

    const std::uint64_t left = values_left(limits, last_value, is_called);
    REQUIRE(left == steps + (is_called ? 0 : 1) || left == UINT64_MAX);
    const std::uint64_t count = source.up_to(left < INT64_MAX ? left : INT64_MAX);
    if (count == 0)
        return;
    const Range range = next_range(limits, last_value, is_called, count);
    REQUIRE(range.first == Wide{last_value} + (is_called ? limits.increment : 0));
    REQUIRE(range.last == range.first + Wide{limits.increment} * (Wide{count} - 1));
    REQUIRE(range.last >= limits.min && range.last <= limits.max);
    REQUIRE(range.last == last_value + Wide{limits.increment} * Wide{range.steps});
}

// The same rule for ticks that are a plain count.
template <typename Source, Count ticks>
void check_count(Source &source) {
    const std::uint64_t numbers = max_sequence(ticks) + 1;
    const std::uint64_t last_of_all = max_tick(ticks);
    const std::uint64_t time = source.up_to(max_drawn_time(ticks));
    const std::uint64_t number = source.below(numbers);
    REQUIRE(Wide{make_tick(ticks, time, number)} == Wide{time} * numbers + number);
    REQUIRE(tick_time(ticks, make_tick(ticks, time, number)) == time);
    REQUIRE(tick_sequence(ticks, make_tick(ticks, time, number)) == number);

    const std::uint64_t last = source.up_to(source.below(8) == 0 ? INT64_MAX : last_of_all);
    const std::uint64_t now = source.below(3) == 0 ? last / numbers + source.below(3)
                                                   : source.up_to(2 * max_drawn_time(ticks));
    const std::uint64_t step_to = source.below(4) == 0 ? last / numbers + 1 : 0;
    const std::uint64_t clock = now > step_to ? now : step_to;
    const Advance next = advance(ticks, last, now, step_to);
    const bool is_later = clock > last / numbers;
    const bool has_ended =
        is_later ? Wide{clock} * numbers > Wide{last_of_all} : last >= last_of_all;
    const bool is_used_up = !is_later && !has_ended && last % numbers == numbers - 1;
    REQUIRE((next.verdict == Verdict::ended) == has_ended);
    REQUIRE((next.verdict == Verdict::wait) == is_used_up);
    if (next.verdict == Verdict::draw)
        REQUIRE(next.tick == (is_later ? clock * numbers : last + 1) && next.tick > last &&
                next.tick <= last_of_all);
}

// ObjectIds have the right bytes, as printed in hexadecimal, and the order of their ticks; no two
// ticks result in one ObjectId.
template <typename Source>
void check_objectid(Source &source) {
    const ObjectIdParts parts{source.up_to(max_of(32)), source.up_to(max_of(40)),
                              source.up_to(max_of(24))};
    const ObjectIdBytes bytes = pack_objectid(parts);
    REQUIRE(unpack_objectid(bytes) == parts);
    char expected[32];
    char actual[32];
    std::snprintf(expected, sizeof expected, "%08" PRIx64 "%010" PRIx64 "%06" PRIx64, parts.seconds,
                  parts.process, parts.counter);
    char *end = actual;
    for (const std::uint8_t byte : bytes.byte)
        end += std::snprintf(end, 3, "%02x", byte);
    REQUIRE(std::strcmp(expected, actual) == 0);

    constexpr Count ticks = objectid_ticks;
    const std::uint64_t tick = source.up_to(max_tick(ticks));
    const ObjectIdParts drawn = objectid_of_tick(tick, parts.process);
    REQUIRE(drawn.seconds == tick_time(ticks, tick) / 1000 && drawn.seconds <= max_of(32));
    REQUIRE(drawn.process == parts.process && drawn.counter <= max_of(24));
    REQUIRE(drawn.seconds * 16777000 + drawn.counter == tick);
    if (tick < max_tick(ticks))
        REQUIRE(std::memcmp(pack_objectid(objectid_of_tick(tick + 1, parts.process)).byte,
                            pack_objectid(drawn).byte, objectid_size) > 0);
}

// A binding can be read back as its layout, and never as no binding or another kind.
template <typename Source>
void check_binding(Source &source) {
    Widths widths;
    widths.shard_bits = int_below(source, 32);
    widths.sequence_bits = int_below(source, std::min(32, 33 - widths.shard_bits));
    const std::uint64_t span = UINT64_C(9435184819688000);
    const std::int64_t epoch_ms = static_cast<std::int64_t>(source.up_to(span)) - 211813488000000;
    const Layout layout{widths, epoch_ms * 1000};
    const std::uint64_t binding = binding_of(layout);
    REQUIRE(layout_of(binding) == layout);
    REQUIRE(kind_of(binding) == Kind::ids && binding / power_of_two(32) >= 3);

    const std::uint64_t seed = source.up_to(max_of(seed_bits));
    for (const Kind kind : {Kind::uuids, Kind::objectids}) {
        const std::uint64_t other = binding_of(kind, seed);
        REQUIRE(kind_of(other) == kind && seed_of(other) == seed && other / power_of_two(32) >= 3);
    }
}

// Databases of one cluster never share a node or an ObjectId's process, whatever the seed.
template <typename Source>
void check_identity(Source &source) {
    const std::uint64_t seed = source.up_to(max_of(seed_bits));
    const std::uint64_t system = source.up_to(UINT64_MAX);
    const auto database = static_cast<std::uint32_t>(source.up_to(UINT32_MAX));
    const auto other = static_cast<std::uint32_t>(source.up_to(UINT32_MAX));

    const std::uint64_t tick = source.up_to(max_uuid_timestamp);
    const auto [timestamp, clock_seq, node] = uuid_of_tick(tick, seed, system, database);
    REQUIRE(timestamp == tick && node <= max_uuid_node && (node / power_of_two(40)) % 2 == 1);
    REQUIRE((node == uuid_of_tick(tick, seed, system, other).node) == (database == other));
    REQUIRE((own_bits(seed, system, database, 40) == own_bits(seed, system, other, 40)) ==
            (database == other));
    REQUIRE(own_bits(seed, system, database, 40) <= max_of(40));
    REQUIRE(clock_seq <= max_uuid_clock_seq);

    // Each seed has a node of its own, except for the bits that become the clock sequence.
    const std::uint64_t other_seed = source.up_to(max_of(seed_bits));
    REQUIRE((node == uuid_of_tick(tick, other_seed, system, database).node) ==
            ((seed ^ other_seed) % power_of_two(47) == 0));
}

// A sleep ends, and no wait ends before its millisecond has passed, whatever the wait started with.
template <typename Source>
void check_wait(Source &source) {
    constexpr std::uint64_t latest = INT64_MAX / 4;
    const auto epoch = static_cast<std::int64_t>(source.up_to(latest)) / us_per_ms * us_per_ms;
    std::int64_t shown = epoch + static_cast<std::int64_t>(source.up_to(latest));
    Wait wait = begin_wait(source.up_to(UINT64_MAX), shown);
    for (int look = 0; look < 4; ++look) {
        // A moment later, or at any time.
        shown = source.below(2) == 0 ? shown + us_below(source, 1500)
                                     : epoch + static_cast<std::int64_t>(source.up_to(latest));
        const std::int64_t waited_us = us_below(source, 3000);
        const std::int64_t sleep = sleep_us(wait, epoch, shown);
        REQUIRE(sleep > 0 && sleep <= us_per_ms);
        if (may_step(wait, shown, waited_us))
            REQUIRE(waited_us >= us_per_ms);
        else
            REQUIRE(waited_us < us_per_ms || (shown > wait.latest_clock_us &&
                                              Wide{shown} - wait.start_clock_us < us_per_ms));
        wait = look_again(wait, shown);
        REQUIRE(wait.start_clock_us <= shown && wait.latest_clock_us == shown);
    }
}

struct Digits {
    char text[2 * uuid_size + 1];
};

inline Digits digits_of(const UuidBytes &bytes) {
    Digits digits{};
    char *end = digits.text;
    for (const std::uint8_t byte : bytes.byte)
        end += std::snprintf(end, 3, "%02x", byte);
    return digits;
}

// As in the figure of RFC 9562, section 5.6: the digits of the timestamp in order, with the version
// before the last three. Of two UUIDs, the one with the later timestamp sorts later.
inline void check_uuid_v6(const UuidParts &parts) {
    const UuidBytes bytes = pack_uuid_v6(parts);
    char expected[64];
    std::snprintf(expected, sizeof expected, "%012" PRIx64 "6%03" PRIx64 "%04" PRIx64 "%012" PRIx64,
                  parts.timestamp / 0x1000, parts.timestamp % 0x1000, parts.clock_seq + 0x8000,
                  parts.node);
    REQUIRE(std::strcmp(expected, digits_of(bytes).text) == 0);
    REQUIRE(is_uuid(bytes, 6) && !is_uuid(bytes, 1) && unpack_uuid_v6(bytes) == parts);
    if (parts.timestamp == max_uuid_timestamp)
        return;
    const UuidBytes later = pack_uuid_v6({parts.timestamp + 1, 0, 0});
    REQUIRE(std::memcmp(later.byte, bytes.byte, uuid_size) > 0);
}

template <typename Source>
void check_uuid(Source &source) {
    const UuidParts parts{source.up_to(max_uuid_timestamp), source.up_to(max_uuid_clock_seq),
                          source.up_to(max_uuid_node)};
    const UuidBytes bytes = pack_uuid_v1(parts);

    // As in the figure of RFC 9562, section 5.1, in hexadecimal digits.
    char expected[64];
    std::snprintf(expected, sizeof expected,
                  "%08" PRIx64 "%04" PRIx64 "1%03" PRIx64 "%04" PRIx64 "%012" PRIx64,
                  parts.timestamp % 0x100000000, parts.timestamp / 0x100000000 % 0x10000,
                  parts.timestamp / 0x1000000000000, parts.clock_seq + 0x8000, parts.node);
    REQUIRE(std::strcmp(expected, digits_of(bytes).text) == 0);
    REQUIRE(is_uuid(bytes, 1) && !is_uuid(bytes, 6) && unpack_uuid_v1(bytes) == parts);
    check_uuid_v6(parts);

    const std::int64_t us = us_of_uuid_timestamp(parts.timestamp);
    const int hundred_ns = hundred_ns_of_uuid_timestamp(parts.timestamp);
    REQUIRE(fits_uuid_timestamp(us, hundred_ns));
    REQUIRE(uuid_timestamp_from_us(us, hundred_ns) == parts.timestamp);
}

// By the digits of RFC 9562, section 5.7: twelve of milliseconds, then a 7.
inline void check_uuid_v7_at(std::int64_t us) {
    const Wide since_1970 = Wide{us} + Wide{10957} * 24 * 60 * 60 * 1000000;
    REQUIRE(fits_uuid_v7(us) == (since_1970 >= 0 && since_1970 < power_of_two(48) * 1000));
    if (!fits_uuid_v7(us))
        return;
    const UuidBytes first = first_uuid_v7_at(us);
    char expected[64];
    std::snprintf(expected, sizeof expected, "%012" PRIx64 "70008000000000000000",
                  static_cast<std::uint64_t>(since_1970 / 1000));
    REQUIRE(std::strcmp(expected, digits_of(first).text) == 0);
    REQUIRE(is_uuid(first, 7) && us - us_of_uuid_v7(first) == since_1970 % 1000);
}

inline void check_any_uuid_v7(const UuidBytes &any) {
    REQUIRE(is_uuid(any, 7) == (any.byte[6] / 16 == 7 && any.byte[8] / 64 == 2));
    UuidBytes of_v7 = any;
    of_v7.byte[6] = static_cast<std::uint8_t>(0x70 + any.byte[6] % 16);
    of_v7.byte[8] = static_cast<std::uint8_t>(0x80 + any.byte[8] % 64);
    const std::int64_t us = us_of_uuid_v7(of_v7);
    const UuidBytes first = first_uuid_v7_at(us);
    REQUIRE(std::memcmp(first.byte, of_v7.byte, 6) == 0);
    REQUIRE(std::memcmp(first.byte, of_v7.byte, uuid_size) <= 0);
    check_uuid_v7_at(us - 1);
    check_uuid_v7_at(us + std::int64_t{any.byte[15]} * 4);
}

template <typename Source>
void check_any_uuid(Source &source) {
    UuidBytes any;
    for (std::uint8_t &byte : any.byte)
        byte = static_cast<std::uint8_t>(source.below(256));
    const bool is_v1 = any.byte[6] / 16 == 1 && any.byte[8] / 64 == 2;
    REQUIRE(is_uuid(any, 1) == is_v1);
    if (is_v1)
        REQUIRE(pack_uuid_v1(unpack_uuid_v1(any)) == any);
    const bool is_v6 = any.byte[6] / 16 == 6 && any.byte[8] / 64 == 2;
    REQUIRE(is_uuid(any, 6) == is_v6);
    if (is_v6)
        REQUIRE(pack_uuid_v6(unpack_uuid_v6(any)) == any);
    check_any_uuid_v7(any);

    const auto us = static_cast<std::int64_t>(source.up_to(UINT64_MAX));
    const int hundred_ns = int_below(source, 10);
    const Wide counted = (Wide{us} + Wide{152384} * 24 * 60 * 60 * 1000000) * 10 + hundred_ns;
    REQUIRE(fits_uuid_timestamp(us, hundred_ns) == (counted >= 0 && counted < power_of_two(60)));
    if (fits_uuid_timestamp(us, hundred_ns))
        REQUIRE(Wide{uuid_timestamp_from_us(us, hundred_ns)} == counted);
    check_uuid_v7_at(us);
}

// In text, as TiDB's article does it.
inline Wide number_of(const std::string &digits) {
    Wide number = 0;
    for (const char digit : digits)
        number = number * 10 + (digit - '0');
    return number;
}

template <typename Source>
void check_scattered_digits(Source &source) {
    const std::uint64_t id = source.up_to(max_scattered);
    const int digits = 1 + int_below(source, max_moved_digits);
    const auto moved = static_cast<std::size_t>(digits);
    const std::string text = std::to_string(id);
    REQUIRE(static_cast<std::size_t>(decimal_digits(id)) == text.size());
    REQUIRE(has_digits_to_move(id, digits) == (text.size() > moved));
    if (text.size() <= moved)
        return;
    const std::string first = text.substr(0, 1);
    const std::size_t kept = text.size() - moved;

    const std::uint64_t scattered = scatter_digits(id, digits);
    REQUIRE(Wide{scattered} == number_of(first + text.substr(kept) + text.substr(1, kept - 1)));
    if (scattered <= max_scattered)
        REQUIRE(gather_digits(scattered, digits) == id);

    const std::uint64_t gathered = gather_digits(id, digits);
    REQUIRE(Wide{gathered} == number_of(first + text.substr(1 + moved) + text.substr(1, moved)));
    if (gathered <= max_scattered)
        REQUIRE(scatter_digits(gathered, digits) == id);
}

template <typename Source>
void check_scattered_bits(Source &source) {
    const std::uint64_t id = source.up_to(max_scattered);
    const int bits = 1 + int_below(source, max_moved_bits);
    const auto moved = static_cast<std::uint64_t>(power_of_two(bits));
    const std::uint64_t scattered = scatter_bits(id, bits);
    REQUIRE(Wide{scattered} == id % moved * power_of_two(63 - bits) + id / moved);
    REQUIRE(scattered <= max_scattered);
    REQUIRE(gather_bits(scattered, bits) == id);
    REQUIRE(scatter_bits(gather_bits(id, bits), bits) == id);
}

// Digit by digit, from the last.
inline std::string slow_base32(std::uint64_t number) {
    std::string text;
    for (int i = 0; i < 13; ++i, number /= 32)
        text.insert(text.begin(), "0123456789ABCDEFGHJKMNPQRSTVWXYZ"[number % 32]);
    return text;
}

template <typename Source>
void check_base32(Source &source) {
    const std::uint64_t number = source.up_to(UINT64_MAX);
    const std::uint64_t other =
        source.below(2) == 0 ? number ^ (std::uint64_t{1} << source.below(64)) : number + 1;
    const Base32Text text = base32_of(number);
    const Base32Text other_text = base32_of(other);
    REQUIRE(std::string(text.character, base32_size) == slow_base32(number));
    REQUIRE((std::memcmp(text.character, other_text.character, base32_size) < 0) ==
            (number < other));

    const Base32Reading reading = read_base32(text.character, base32_size);
    REQUIRE(reading.fault == Base32Fault::none && reading.number == number);
}

// The digit of Crockford's base 32 as which a character is read.
inline char read_alike(char character) {
    if (character == 'O')
        return '0';
    return character == 'I' || character == 'L' ? '1' : character;
}

// After O, I and L are replaced, a text is read as the number that is written so, or as none.
template <typename Source>
void check_any_base32(Source &source) {
    const std::size_t size = source.below(4) == 0 ? source.below(30) : 13;
    std::string text;
    std::string upper;
    for (std::size_t i = 0; i < size; ++i) {
        const auto any = static_cast<char>(source.below(256));
        const bool is_usual = source.below(16) != 0;
        text += is_usual ? "0123456789ABCDEFGHIJKLMNOPQRSTVWXYZabcdefghijklmnopqrstvwxyz"
                               [static_cast<unsigned char>(any) % 61]
                         : any;
        const auto character = static_cast<char>(std::toupper(static_cast<unsigned char>(text[i])));
        upper += read_alike(character);
    }
    if (size > 0 && source.below(4) != 0)
        text[0] = upper[0] = "0123456789ABCDEFGH"[source.below(18)];

    const Base32Reading reading = read_base32(text.data(), text.size());
    const std::size_t bad = upper.find_first_not_of("0123456789ABCDEFGHJKMNPQRSTVWXYZ");
    if (bad != std::string::npos)
        REQUIRE(reading.fault == Base32Fault::character && reading.good == bad);
    else if (size != 13)
        REQUIRE(reading.fault == Base32Fault::size);
    else if (upper[0] > 'F')
        REQUIRE(reading.fault == Base32Fault::range);
    else
        REQUIRE(reading.fault == Base32Fault::none && slow_base32(reading.number) == upper);
}

// A wall clock, by real microseconds: it runs at some speed, and is set now and then.
class Clock {
  public:
    template <typename Source>
    std::int64_t read(Source &source, std::int64_t real_us) {
        shown_ += static_cast<std::int64_t>(static_cast<double>(real_us - read_at_) * speed_);
        read_at_ = real_us;
        if (source.below(3000) == 0)
            set(source);
        return shown_;
    }

    int times_set() const { return times_set_; }

  private:
    template <typename Source>
    void set(Source &source) {
        constexpr double speeds[] = {0, 0.5, 0.999, 1, 1, 1.001, 3};
        ++times_set_;
        speed_ = speeds[source.below(7)];
        if (source.below(2) == 0)
            shown_ += us_below(source, 20000);
        else if (source.below(2) == 0)
            shown_ -= us_below(source, 20000);
        shown_ = std::max<std::int64_t>(shown_, 0);
    }

    double speed_ = 1;
    std::int64_t shown_ = 1000000;
    std::int64_t read_at_ = 0;
    int times_set_ = 0;
};

// This number of microseconds if a step is a millisecond, and proportionally fewer if not.
inline std::uint64_t part_of(std::int64_t step, std::int64_t us) {
    return static_cast<std::uint64_t>(us * step / us_per_ms + 1);
}

struct Caller {
    std::uint64_t borrow;
    std::int64_t wakes_at;
    bool waits;
    Wait wait;
    std::int64_t since;
};

// A try and a wait of a caller, as in draw.cpp and wait.cpp.
template <typename W>
Advance try_to_advance(const Caller &caller, W l, std::uint64_t last, std::int64_t shown,
                       std::int64_t real) {
    const std::uint64_t last_time = tick_time(l, last);
    const bool earned = caller.waits && last_time == caller.wait.used_up_time &&
                        may_step(caller.wait, shown, real - caller.since);
    const std::uint64_t now = time_at(0, shown, step_us(l));
    const Advance next = advance(l, last, now, earned ? last_time + 1 : 0);
    return next.verdict == Verdict::wait ? advance_or_borrow(l, last, now, caller.borrow) : next;
}

inline std::int64_t begin_to_wait(Caller &caller, std::uint64_t last_time, std::int64_t shown,
                                  std::int64_t real, std::int64_t step) {
    if (caller.waits && caller.wait.used_up_time == last_time)
        caller.wait = look_again(caller.wait, shown);
    else {
        caller.waits = true;
        caller.wait = begin_wait(last_time, shown, step);
        caller.since = real;
    }
    const std::int64_t sleep = sleep_us(caller.wait, 0, shown);
    REQUIRE(sleep > 0 && sleep <= step);
    return sleep;
}

// Several callers draw from one generator as fast as they can; some of them may borrow time.
template <typename Source, typename W>
void simulate_callers(Source &source, W l) {
    const std::int64_t step = step_us(l);
    Clock clock;
    std::vector<Caller> callers(1 + source.below(6));
    for (Caller &caller : callers)
        caller.borrow = source.below(4) == 0 ? source.below(30) : 0;
    std::unordered_map<std::uint64_t, std::uint64_t> drawn_in;
    std::uint64_t last = 0;
    std::int64_t drawn_at = 0;     // real time of the last draw
    int times_set = 0;             // how often the clock had been set by then
    std::int64_t stepped_at = -1;  // real time of the last step ahead of the clock
    std::int64_t real = 0;

    for (int look = 0; look < 4000 && !source.is_empty(); ++look) {
        Caller *caller = callers.data();
        for (Caller &other : callers)
            if (other.wakes_at < caller->wakes_at)
                caller = &other;
        real = caller->wakes_at > real ? caller->wakes_at : real;

        const std::int64_t shown = clock.read(source, real);
        const std::uint64_t last_time = tick_time(l, last);
        const Advance next = try_to_advance(*caller, l, last, shown, real);

        if (next.verdict == Verdict::wait) {
            const std::int64_t sleep = begin_to_wait(*caller, last_time, shown, real, step);
            caller->wakes_at = real + sleep + us_below(source, part_of(step, 60));
            // Whatever the clock does, some caller draws within some milliseconds, and some more
            // for each time that the clock is set.
            REQUIRE(real - drawn_at < (20 + 5 * (clock.times_set() - times_set)) * step);
            continue;
        }

        REQUIRE(next.verdict == Verdict::draw && next.tick > last);
        const std::uint64_t time = tick_time(l, next.tick);
        REQUIRE(++drawn_in[time] <= max_sequence(l) + 1);
        const std::uint64_t now = time_at(0, shown, step);
        if (time > last_time && time > now) {
            // Ahead of the clock: borrowed, or at most one step for each step of real time.
            REQUIRE(stepped_at < 0 || real - stepped_at >= step || time - now <= caller->borrow);
            stepped_at = real;
        }
        last = next.tick;
        drawn_at = real;
        times_set = clock.times_set();
        caller->waits = false;
        caller->wakes_at = real + us_below(source, part_of(step, 40));
    }
}

template <typename Source>
void simulate(Source &source) {
    simulate_callers(source, Widths{13, int_below(source, 5)});
}

template <typename Source>
void simulate_uuids(Source &source) {
    simulate_callers(source, uuid_ticks);
}

// One caller, by nanoseconds, and a clock of microseconds that runs like real time: no UUID has a
// later microsecond than the clock.
template <typename Source>
void simulate_steady_uuids(Source &source) {
    constexpr Count ticks = uuid_ticks;
    const std::uint64_t phase = source.below(1000);
    std::uint64_t last = 0;
    std::uint64_t real_ns = 0;
    Caller caller{};
    for (int look = 0; look < 500 && !source.is_empty(); ++look) {
        const auto shown = static_cast<std::int64_t>((real_ns + phase) / 1000) + 5000;
        const auto real = static_cast<std::int64_t>(real_ns);
        const bool earned = caller.waits && tick_time(ticks, last) == caller.wait.used_up_time &&
                            may_step(caller.wait, shown, (real - caller.since) / 1000);
        const std::uint64_t now = time_at(0, shown, 1);
        const Advance next = advance(ticks, last, now, earned ? tick_time(ticks, last) + 1 : 0);
        if (next.verdict == Verdict::draw) {
            REQUIRE(next.tick > last && tick_time(ticks, next.tick) <= now);
            last = next.tick;
            caller.waits = false;
            real_ns += source.below(60);
            continue;
        }
        begin_to_wait(caller, tick_time(ticks, last), shown, real, 1);
        real_ns += source.below(1200);
    }
}

// A clock that runs forward, at any constant speed but zero, is never overtaken.
template <typename Source>
void simulate_steady(Source &source) {
    const Widths l{13, int_below(source, 5)};
    const double speed = 0.05 + static_cast<double>(source.below(300)) / 100;
    std::uint64_t last = 0;
    std::int64_t real = 0;
    Caller caller{};
    for (int look = 0; look < 500 && !source.is_empty(); ++look) {
        const auto shown = static_cast<std::int64_t>(static_cast<double>(real) * speed) + 5000;
        const Advance next = try_to_advance(caller, l, last, shown, real);
        if (next.verdict == Verdict::draw) {
            REQUIRE(tick_time(l, next.tick) <= time_at(0, shown));
            last = next.tick;
            caller.waits = false;
            real += us_below(source, 100);
            continue;
        }
        // The clock shows microseconds; during a sleep of some of them even a slow clock moves.
        real += begin_to_wait(caller, tick_time(l, last), shown, real, us_per_ms) + 25;
    }
}

#undef REQUIRE

}  // namespace shardid::invariants
