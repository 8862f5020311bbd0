// Brute force over the pure headers, compared with slower arithmetic that is written in another
// way, and simulated callers of one generator with every kind of clock: millions of random inputs,
// small, large and at the ends of their ranges. Built with UBSan, which ends it at undefined
// behaviour. Usage: brute_force [seed]
#include "core/advance.hpp"
#include "core/binding.hpp"
#include "core/layout.hpp"
#include "core/notes.hpp"
#include "core/objectid.hpp"
#include "core/range.hpp"
#include "core/uuid.hpp"
#include "core/wait.hpp"
#include "core/window.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <iterator>
#include <unordered_map>
#include <vector>

namespace shardid {

namespace {

using Wide = __int128;

std::uint64_t checks = 0;

void require(bool holds, const char *what, int line) {
    ++checks;
    if (holds)
        return;
    std::fprintf(stderr, "%s:%d: %s\n", __FILE__, line, what);
    std::abort();
}

#define REQUIRE(...) require((__VA_ARGS__), #__VA_ARGS__, __LINE__)

Wide power_of_two(int exponent) {
    return Wide{1} << exponent;
}

class Random {
  public:
    explicit Random(std::uint64_t seed) : state_(seed) {}

    std::uint64_t below(std::uint64_t limit) { return bits() % limit; }

    std::uint64_t up_to(std::uint64_t max) {
        switch (below(8)) {
            case 0:
                return max - below(max < 3 ? max + 1 : 3);
            case 1:
                return below(max < 3 ? max + 1 : 3);
            default: {
                const std::uint64_t value = bits() >> below(64);
                return max == UINT64_MAX ? value : value % (max + 1);
            }
        }
    }

  private:
    // splitmix64: <random> takes a fifth of the time to compile this.
    std::uint64_t bits() {
        std::uint64_t mixed = state_ += UINT64_C(0x9e3779b97f4a7c15);
        mixed = (mixed ^ mixed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
        return mixed ^ mixed >> 31;
    }

    std::uint64_t state_;
};

int int_below(Random &source, int limit) {
    return static_cast<int>(source.below(static_cast<std::uint64_t>(limit)));
}

std::int64_t us_below(Random &source, std::uint64_t limit) {
    return static_cast<std::int64_t>(source.below(limit));
}

Widths any_widths(Random &source) {
    const int shard_bits = int_below(source, max_field_bits + 1);
    const int room = max_shard_and_sequence_bits - shard_bits;
    const Widths widths{shard_bits,
                        int_below(source, (room < max_field_bits ? room : max_field_bits) + 1)};
    REQUIRE(is_valid(widths));
    return widths;
}

void check_widths(Random &source) {
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

// Any time that timestamptz can show, in its microseconds: from 4714-11-24 BC to the end of 294276.
std::int64_t any_timestamp(Random &source) {
    constexpr std::int64_t first = INT64_C(-211813488000000000);
    constexpr std::int64_t last = INT64_C(9223371331199999999);
    constexpr std::uint64_t range =
        static_cast<std::uint64_t>(last) - static_cast<std::uint64_t>(first);
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(first) + source.up_to(range));
}

void check_clock(Random &source) {
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
void check_further_ticks(Random &source, Widths l, std::uint64_t tick) {
    const std::uint64_t wanted = source.up_to(UINT64_MAX);
    const std::uint64_t further = further_ticks(l, tick, wanted);
    const std::uint64_t time = tick_time(l, tick);
    REQUIRE(further <= wanted && tick + further >= tick && tick_time(l, tick + further) == time);
    if (further < wanted)
        REQUIRE(advance(l, tick + further, time).verdict != Verdict::draw);
}

// A time is borrowed only if the last one is used up, one at once, and no further than allowed.
void check_borrowing(Random &source, Widths l, std::uint64_t last, std::uint64_t now) {
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

bool is_same(const Advance &a, const Advance &b) {
    return a.verdict == b.verdict && a.tick == b.tick;
}

// What advance() must answer, by division. A later time begins at the number after the last one,
// modulo `firsts`.
template <typename W>
Advance slow_advance(W w, std::uint64_t last, std::uint64_t time, Wide numbers, Wide firsts) {
    const bool is_later = time > last / numbers;
    const Wide tick = is_later ? time * numbers + (Wide{last} + 1) % firsts : Wide{last} + 1;
    if ((is_later ? time * numbers : tick) > max_tick(w))
        return {Verdict::ended, 0};
    if (!is_later && tick % numbers == 0)
        return {Verdict::wait, 0};
    return {Verdict::draw, static_cast<std::uint64_t>(tick)};
}

void check_advance(Random &source) {
    const Widths l = any_widths(source);
    const std::uint64_t last = source.up_to(source.below(8) == 0 ? INT64_MAX : max_tick(l));
    const std::uint64_t last_time = last >> l.sequence_bits;
    const std::uint64_t now = source.below(3) == 0 ? last_time + source.below(3) - source.below(2)
                                                   : source.up_to(max_time(l));
    const std::uint64_t step_to = source.below(4) == 0 ? last_time + 1 : 0;
    const Advance next = advance(l, last, now, step_to);
    const Wide numbers = power_of_two(l.sequence_bits);
    REQUIRE(is_same(next, slow_advance(l, last, std::max(now, step_to), numbers,
                                       numbers < 4 ? 1 : numbers / 4)));
    REQUIRE(is_same(next, advance(worked_out(l), last, now, step_to)));
    REQUIRE(next.verdict != Verdict::draw || (next.tick > last && next.tick <= max_tick(l)));
    check_borrowing(source, l, last, now);
    if (next.verdict == Verdict::draw)
        check_further_ticks(source, l, next.tick);
}

// A lead and what is logged ahead in milliseconds, the year before the end, and what is a jump: by
// days, each of so many times.
template <typename W>
void check_spans(Random &source, W w) {
    const Wide numbers = Wide{max_sequence(w)} + 1;
    const Wide day = Wide{86400} * 1000 * 1000 / step_us(w);
    const Wide edges[] = {day * numbers, (max_drawn_time(w) - 365 * day) * numbers};
    const Wide edge = edges[source.below(2)] + source.below(3) - 1;
    const bool is_at_edge = source.below(4) == 0 && edge >= 0 && edge <= max_tick(w);
    const std::uint64_t tick =
        is_at_edge ? static_cast<std::uint64_t>(edge) : source.up_to(max_tick(w));
    const Wide time = tick / numbers;
    REQUIRE(ends_soon(w, tick) == (max_drawn_time(w) - time < 365 * day));
    const std::uint64_t now = source.up_to(max_drawn_time(w));
    REQUIRE(lead_ms_of(w, tick, now) == std::max<Wide>(0, time - now) * step_us(w) / 1000);
    const std::uint64_t last = source.below(2) == 0 ? tick / 2 - source.below(2) : now;
    REQUIRE(is_jump(w, last, tick) == (tick >= Wide{last} * 2 + 2 || tick < day * numbers));
    const std::uint64_t ms = source.up_to(86400000);
    const Wide later = tick + Wide{ms} * 1000 / step_us(w) * numbers;
    REQUIRE(tick_after_ms(w, tick, ms) == std::min<Wide>(later, max_tick(w)));
    // Of a tick that is 20 ms ahead at most, and of one further ahead, with room to max_lead, and
    // without.
    const std::uint64_t little = source.below(21);
    const std::uint64_t lead = 900 + source.below(100000);
    REQUIRE(logged_to(w, tick, little, 1000 + ms) == tick_after_ms(w, tick, 1000 - little));
    REQUIRE(logged_to(w, tick, lead, lead + 100 + ms) == tick_after_ms(w, tick, 100));
    const std::uint64_t any = source.below(1000);
    REQUIRE(logged_to(w, tick, any, any + little) == tick_after_ms(w, tick, little));
}

void check_spans(Random &source) {
    check_spans(source, any_widths(source));
    check_spans(source, uuid_ticks);
    check_spans(source, objectid_ticks);
}

// Whatever the clock, the window and the last tick: a tick that is drawn is not before the window,
// and a tick that is drawn at once is in it.
void check_draw_in(Widths l, const Window &window, std::uint64_t last, std::uint64_t now,
                   std::uint64_t step_to, std::uint64_t renew_from) {
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

    const std::uint64_t limit = drawn_at_once_below(l, window, renew_from);
    REQUIRE((last < limit) == (tick_time(l, last) < std::min(window.until, renew_from)));
    const Advance at_once = advance(l, last, now);
    if (is_in(window, tick_time(l, last)) && at_once.verdict == Verdict::draw &&
        at_once.tick < limit) {
        const std::uint64_t further = further_ticks(l, at_once.tick, UINT64_MAX);
        REQUIRE(is_in(window, tick_time(l, at_once.tick + further)));
        REQUIRE(at_once.tick + further < limit);
    }
}

// A session asks half a lease before the window's end, or up to a sixteenth of a lease earlier; and
// before a tick that is ahead of the clock comes to the end. Only then does it gain by it.
void check_ask_from(const Window &window, std::uint64_t lease, std::uint64_t session,
                    std::uint64_t now, std::uint64_t time) {
    const std::uint64_t at = ask_from(window, lease, session);
    REQUIRE(at <= window.until);
    const Wide ahead = Wide{window.until} - at;
    REQUIRE((ahead >= lease / 2 || at == 0) && 16 * ahead <= 9 * Wide{lease});
    // Sessions do not ask at the same time.
    if (lease >= ask_steps * ask_steps && window.until >= lease)
        REQUIRE(at != ask_from(window, lease, session + 1));
    const Wide extended = std::max(Wide{now} + lease, Wide{time} + step_of(lease));
    if (asks_at(window, lease, at, now, time))
        REQUIRE(lease == 0 || extended > window.until);
    else
        REQUIRE(Wide{now} + lease / 2 < window.until &&
                Wide{time} + step_of(lease) / 2 < window.until);
}

void check_ask(Random &source) {
    const std::uint64_t until = source.up_to(UINT64_MAX - 1) + 1;
    check_ask_from({source.below(until), until}, source.up_to(until), source.up_to(UINT64_MAX),
                   source.up_to(UINT64_MAX), source.below(until));
}

// The last positive id, and how many ticks are left, counted one by one if they are few.
void check_outlook(Random &source) {
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
void check_range(Random &source) {
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
template <Count ticks>
void check_count(Random &source) {
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
    REQUIRE(is_same(advance(ticks, last, now, step_to),
                    slow_advance(ticks, last, std::max(now, step_to), numbers, 1)));
}

// ObjectIds have the right bytes, as printed in hexadecimal, and the order of their ticks; no two
// ticks result in one ObjectId.
void check_objectid(Random &source) {
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
void check_binding(Random &source) {
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

// Draws are remembered for each scale, the scale of the last one first, as in a vector.
void check_last_draws(Random &source) {
    const std::uint64_t bindings[] = {binding_of(Layout{instagram_widths, 0}),  // each a scale
                                      binding_of(Layout{instagram_widths, 1000}),
                                      binding_of(Layout{twitter_widths, 0}),
                                      binding_of(Kind::uuids, 5),  // two bindings of a scale
                                      binding_of(Kind::uuids, 6),
                                      binding_of(Kind::objectids, 5),
                                      binding_of(Kind::objectids, 6)};
    const auto scale_of = [&](std::uint64_t binding) {
        const auto number = std::find(bindings, std::end(bindings), binding) - bindings;
        return number < 3 ? number : (number + 3) / 2;
    };
    std::vector<LastDraw> expected;
    LastDraws entries[5];
    LastDraws *list = nullptr;
    for (int i = 0; i < 12; ++i) {
        const LastDraw draw{bindings[source.below(7)], source.below(20), source.below(20)};
        const auto known = std::find_if(expected.begin(), expected.end(), [&](const LastDraw &d) {
            return scale_of(d.binding) == scale_of(draw.binding);
        });
        const LastDraw found = last_draw_in(list, draw.binding);
        LastDraw larger = draw;
        REQUIRE(merge_into(&list, draw) == (known != expected.end()));
        if (known == expected.end()) {
            REQUIRE(found == LastDraw{draw.binding, 0, 0});
            LastDraws &entry = entries[expected.size()];
            entry = {draw, list};
            list = &entry;
        } else {
            REQUIRE(found == LastDraw{draw.binding, known->tick, known->log_to});
            if (known->tick > draw.tick)
                larger = found;
            expected.erase(known);
        }
        expected.insert(expected.begin(), larger);
        const LastDraws *entry = list;
        for (const LastDraw &one : expected) {
            REQUIRE(entry != nullptr && entry->draw == one);
            entry = entry->next;
        }
        REQUIRE(entry == nullptr);
    }
}

// The notes on a page, which are below the offsets with a special meaning in a heap, such as
// SpecTokenOffsetNumber; and the millisecond of a first id, on a scale of its own.
void check_notes(Random &source) {
    const auto starts = static_cast<std::uint16_t>(source.below(512));
    const PageNotes notes{starts, static_cast<std::uint16_t>(source.below(64))};
    REQUIRE(notes_of(offset_of(notes)) == notes && offset_of(notes) <= 1 << 15);
    REQUIRE(notes_of(offset_without_notes) == PageNotes{0, 0});
    REQUIRE(with_start(notes).starts == (starts + 1) % 512 &&
            with_start(notes).mention == notes.mention);

    // Five units of 16 s later, or after a clock that was set back.
    const std::uint64_t second = source.up_to(max_of(40)) + 1000;
    const std::uint64_t later = second + source.below(std::uint64_t{62} * 16);
    const PageNotes mentioned{starts, mention_at(second)};
    REQUIRE(is_mention_due(mentioned, later) == (later / 16 - second / 16 >= 5));
    REQUIRE(is_mention_due(mentioned, second - 16 - source.below(std::uint64_t{57} * 16)));
    REQUIRE(is_mention_due({starts, 0}, second));

    const std::int64_t epoch = any_timestamp(source) / us_per_ms * us_per_ms;
    const Wide epoch_ms = (Wide{epoch} - first_timestamp_us) / 1000;
    const std::uint64_t time = source.up_to(UINT64_MAX);
    REQUIRE(first_ms_of(epoch, time) == std::min<Wide>(epoch_ms + time, max_of(48)));
    REQUIRE(time_of_first_ms(epoch, time) == std::max<Wide>(time - epoch_ms, 0));
}

// Databases of one cluster never share a node or an ObjectId's process, whatever the seed.
void check_identity(Random &source) {
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
void check_wait(Random &source) {
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
        wait = continue_wait(wait, shown);
        REQUIRE(wait.start_clock_us <= shown && wait.latest_clock_us == shown);
    }
}

// A wall clock, by real microseconds: it runs at some speed, and is set now and then.
class Clock {
  public:
    std::int64_t read(Random &source, std::int64_t real_us) {
        shown_ += static_cast<std::int64_t>(static_cast<double>(real_us - read_at_) * speed_);
        read_at_ = real_us;
        if (source.below(3000) == 0)
            set(source);
        return shown_;
    }

    int times_set() const { return times_set_; }

  private:
    void set(Random &source) {
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
std::uint64_t part_of(std::int64_t step, std::int64_t us) {
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

std::int64_t begin_to_wait(Caller &caller, std::uint64_t last_time, std::int64_t shown,
                           std::int64_t real, std::int64_t step) {
    if (caller.waits && caller.wait.used_up_time == last_time)
        caller.wait = continue_wait(caller.wait, shown);
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
template <typename W>
void simulate_callers(Random &source, W l) {
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

    for (int look = 0; look < 4000; ++look) {
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

void simulate(Random &source) {
    simulate_callers(source, Widths{13, int_below(source, 5)});
}

void simulate_uuids(Random &source) {
    simulate_callers(source, uuid_ticks);
}

// A clock that runs forward, at any constant speed but zero, is never overtaken.
void simulate_steady(Random &source) {
    const Widths l{13, int_below(source, 5)};
    const double speed = 0.05 + static_cast<double>(source.below(300)) / 100;
    std::uint64_t last = 0;
    std::int64_t real = 0;
    Caller caller{};
    for (int look = 0; look < 500; ++look) {
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

// make test takes a tenth of the inputs, make test-full all.
int part = 1;

template <typename Check>
void repeat(const char *name, int times, Random &random, Check check) {
    const std::uint64_t before = checks;
    times /= part;
    for (int i = 0; i < times; ++i)
        check(random);
    std::printf("%-16s %9d inputs, %9" PRIu64 " checks\n", name, times, checks - before);
}

// All windows of a few times, with all ticks, clocks, steps and leases in and around them: at the
// first time, at the last that can be drawn, and after it.
void every_small_window(Widths l, std::uint64_t base) {
    constexpr std::uint64_t span = 6;
    const std::uint64_t first_last = base < max_drawn_time(l) ? base : max_drawn_time(l) - 1;
    for (std::uint64_t from = base; from <= base + span; ++from) {
        for (std::uint64_t until = from; until <= base + span; ++until) {
            for (std::uint64_t lease = 0; from < until && lease <= 3000; lease += 1 + lease / 2)
                for (std::uint64_t session = 0; session <= ask_steps; ++session)
                    for (std::uint64_t now = 0; now <= until; now = 2 * now + 1)
                        check_ask_from({from, until}, lease, session, now, from);
            for (std::uint64_t last = make_tick(l, first_last, 0);
                 last <= max_tick(l) && tick_time(l, last) <= base + span; ++last)
                for (std::uint64_t now = base; now <= base + span; ++now)
                    for (std::uint64_t renew_from = base; renew_from <= base + span; ++renew_from) {
                        check_draw_in(l, {from, until}, last, now, 0, renew_from);
                        check_draw_in(l, {from, until}, last, now, tick_time(l, last) + 1,
                                      renew_from);
                    }
        }
    }
}

void every_small_window() {
    const std::uint64_t before = checks;
    int layouts = 0;
    for (const Widths l : {Widths{0, 0}, Widths{31, 0}, Widths{31, 1}, Widths{13, 2}}) {
        every_small_window(l, 0);
        every_small_window(l, max_drawn_time(l) - 3);
        every_small_window(l, UINT64_MAX - 7);
        ++layouts;
    }
    std::printf("%-16s %9d layouts, %8" PRIu64 " checks\n", "small windows", layouts,
                checks - before);
}

}  // namespace

}  // namespace shardid

using namespace shardid;

int main(int argc, char **argv) {
    const char *full = std::getenv("FULL");
    part = full != nullptr && *full != '\0' ? 1 : 10;
    const std::uint64_t seed = argc > 1 ? std::strtoull(argv[1], nullptr, 10)
                                        : static_cast<std::uint64_t>(std::time(nullptr));
    std::printf("seed %" PRIu64 "\n", seed);
    std::fflush(stdout);
    Random random(seed);

    repeat("layout.hpp", 3000000, random, check_widths);
    repeat("clock", 3000000, random, check_clock);
    repeat("advance.hpp", 3000000, random, check_advance);
    repeat("spans", 1000000, random, [](Random &source) { check_spans(source); });
    repeat("outlook", 300000, random, check_outlook);
    repeat("range.hpp", 3000000, random, check_range);
    every_small_window();
    repeat("asking", 1000000, random, check_ask);
    repeat("wait.hpp", 1000000, random, check_wait);
    repeat("count of UUIDs", 1000000, random, check_count<uuid_ticks>);
    repeat("of ObjectIds", 1000000, random, check_count<objectid_ticks>);
    repeat("objectid.hpp", 1000000, random, check_objectid);
    repeat("binding.hpp", 1000000, random, check_binding);
    repeat("last draws", 100000, random, check_last_draws);
    repeat("notes.hpp", 1000000, random, check_notes);
    repeat("identity", 1000000, random, check_identity);
    repeat("any clock", 1000, random, simulate);
    repeat("steady clock", 5000, random, simulate_steady);
    repeat("UUIDs, any clock", 1000, random, simulate_uuids);
    return 0;
}
