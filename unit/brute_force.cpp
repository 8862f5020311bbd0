// Brute force over the pure headers: millions of random inputs against slower arithmetic that is
// written another way, and simulated callers around one generator with every kind of clock. Built
// with UBSan, so that a shift too far ends it as well. Usage: brute_force [seed]
#include "advance.hpp"
#include "layout.hpp"
#include "uuid_v1.hpp"

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <unordered_map>
#include <vector>

using namespace shardid;

namespace {

using Wide = __int128;

std::mt19937_64 random_bits;
std::uint64_t checks = 0;

std::uint64_t below(std::uint64_t limit) {
    return random_bits() % limit;
}

// Small and large numbers alike, and often the ends of the range.
std::uint64_t up_to(std::uint64_t max) {
    switch (below(8)) {
        case 0:
            return max - below(max < 3 ? max + 1 : 3);
        case 1:
            return below(max < 3 ? max + 1 : 3);
        default: {
            const std::uint64_t value = random_bits() >> below(64);
            return max == UINT64_MAX ? value : value % (max + 1);
        }
    }
}

void require(bool holds, const char *what, int line) {
    ++checks;
    if (holds)
        return;
    std::fprintf(stderr, "%s:%d: %s\n", __FILE__, line, what);
    std::exit(1);
}

#define REQUIRE(condition) require((condition), #condition, __LINE__)

Wide power_of_two(int exponent) {
    return Wide{1} << exponent;
}

Layout random_layout() {
    for (;;) {
        const Layout layout{static_cast<int>(below(32)), static_cast<int>(below(32))};
        if (is_valid(layout))
            return layout;
    }
}

void check_layout() {
    const Layout l = random_layout();
    const std::uint64_t time = up_to(max_time(l));
    const std::uint64_t shard = up_to(max_shard(l));
    const std::uint64_t sequence = up_to(max_sequence(l));

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

    const std::uint64_t other = random_bits();
    REQUIRE((other >= first_id_of(l, time)) == (id_time(l, other) >= time));
}

void check_clock() {
    const auto epoch = static_cast<std::int64_t>(random_bits() >> below(64)) / 1000 * 1000;
    const auto clock = static_cast<std::int64_t>(random_bits() >> below(64));
    if (clock < epoch)
        return;
    const Wide past = Wide{clock} - epoch;
    REQUIRE(Wide{time_at(epoch, clock)} == past / 1000);
    REQUIRE(Wide{time_not_before(epoch, clock)} == (past + 999) / 1000);
    REQUIRE(Wide{clock_at(epoch, time_at(epoch, clock))} == epoch + past / 1000 * 1000);
}

void check_advance() {
    const Layout l = random_layout();
    const std::uint64_t last = up_to(below(8) == 0 ? INT64_MAX : max_tick(l));
    const std::uint64_t last_time = last >> l.sequence_bits;
    const std::uint64_t now = below(3) == 0 ? last_time + below(3) - below(2) : up_to(max_time(l));
    const std::uint64_t step_to = below(4) == 0 ? last_time + 1 : 0;
    const Advance next = advance(l, last, now, step_to);
    const std::uint64_t clock = now > step_to ? now : step_to;

    switch (next.verdict) {
        case Verdict::draw:
            REQUIRE(next.tick > last && next.tick <= max_tick(l));
            REQUIRE(tick_time(l, next.tick) == (clock > last_time ? clock : last_time));
            if (clock > last_time)
                REQUIRE(tick_sequence(l, next.tick) * 4 <= max_sequence(l) + 1);
            else
                REQUIRE(next.tick == last + 1);
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

void check_uuid() {
    const UuidV1 parts{up_to(max_uuid_timestamp), up_to(max_uuid_clock_seq), up_to(max_uuid_node)};
    const UuidBytes bytes = pack_uuid_v1(parts);

    // As RFC 9562 section 5.1 draws it, in hexadecimal digits.
    char expected[64];
    char actual[33];
    std::snprintf(expected, sizeof expected,
                  "%08" PRIx64 "%04" PRIx64 "1%03" PRIx64 "%04" PRIx64 "%012" PRIx64,
                  parts.timestamp % 0x100000000, parts.timestamp / 0x100000000 % 0x10000,
                  parts.timestamp / 0x1000000000000, parts.clock_seq + 0x8000, parts.node);
    char *digits = actual;
    for (const std::uint8_t byte : bytes.byte)
        digits += std::snprintf(digits, 3, "%02x", byte);
    REQUIRE(std::strcmp(expected, actual) == 0);
    REQUIRE(is_uuid_v1(bytes) && unpack_uuid_v1(bytes) == parts);

    const std::int64_t us = us_of_uuid_timestamp(parts.timestamp);
    const int hundred_ns = hundred_ns_of_uuid_timestamp(parts.timestamp);
    REQUIRE(fits_uuid_timestamp(us, hundred_ns));
    REQUIRE(uuid_timestamp_from_us(us, hundred_ns) == parts.timestamp);

    UuidBytes any;
    for (std::uint8_t &byte : any.byte)
        byte = static_cast<std::uint8_t>(random_bits());
    const bool is_v1 = any.byte[6] / 16 == 1 && any.byte[8] / 64 == 2;
    REQUIRE(is_uuid_v1(any) == is_v1);
    if (is_v1)
        REQUIRE(pack_uuid_v1(unpack_uuid_v1(any)) == any);
}

// A wall clock over real microseconds: it runs at some speed, and is set now and then.
class Clock {
  public:
    std::int64_t read(std::int64_t real_us) {
        shown_ += static_cast<std::int64_t>(static_cast<double>(real_us - read_at_) * speed_);
        read_at_ = real_us;
        if (below(3000) == 0)
            set();
        return shown_;
    }

  private:
    void set() {
        constexpr double speeds[] = {0, 0.5, 0.999, 1, 1, 1.001, 3};
        speed_ = speeds[below(7)];
        if (below(2) == 0)
            shown_ += static_cast<std::int64_t>(below(20000));
        else if (below(2) == 0)
            shown_ -= static_cast<std::int64_t>(below(20000));
    }

    double speed_ = 1;
    std::int64_t shown_ = 1000000;
    std::int64_t read_at_ = 0;
};

struct Caller {
    std::int64_t wakes_at;
    bool waits;
    Vigil vigil;
    std::int64_t since;
};

// Some callers draw from one generator as fast as they can, as draw.cpp does.
void simulate() {
    const Layout l{13, static_cast<int>(below(5))};
    Clock clock;
    std::vector<Caller> callers(1 + below(6));
    std::unordered_map<std::uint64_t, std::uint64_t> drawn_in;
    std::uint64_t last = 0;
    std::int64_t drawn_at = 0;     // real time of the last draw
    std::int64_t stepped_at = -1;  // real time of the last step ahead of the clock
    std::int64_t real = 0;

    for (int look = 0; look < 4000; ++look) {
        Caller *caller = callers.data();
        for (Caller &other : callers)
            if (other.wakes_at < caller->wakes_at)
                caller = &other;
        real = caller->wakes_at > real ? caller->wakes_at : real;

        const std::int64_t shown = clock.read(real);
        const std::uint64_t now = time_at(0, shown);
        const std::uint64_t last_time = tick_time(l, last);
        const bool earned = caller->waits && last_time == caller->vigil.used_up_time &&
                            may_step(caller->vigil, shown, real - caller->since);
        const Advance next = advance(l, last, now, earned ? last_time + 1 : 0);

        if (next.verdict == Verdict::wait) {
            if (caller->waits && caller->vigil.used_up_time == last_time)
                caller->vigil = look_again(caller->vigil, shown);
            else {
                caller->waits = true;
                caller->vigil = begin_vigil(last_time, shown);
                caller->since = real;
            }
            const std::int64_t sleep = sleep_us(caller->vigil, 0, shown);
            REQUIRE(sleep > 0 && sleep <= us_per_ms);
            caller->wakes_at = real + sleep + static_cast<std::int64_t>(below(60));
            // Whatever the clock does, somebody draws within some milliseconds.
            REQUIRE(real - drawn_at < 20 * us_per_ms);
            continue;
        }

        REQUIRE(next.verdict == Verdict::draw && next.tick > last);
        const std::uint64_t time = tick_time(l, next.tick);
        REQUIRE(++drawn_in[time] <= max_sequence(l) + 1);
        if (time > last_time && time > now) {
            // Ahead of the clock: a step at most for each millisecond that really passes.
            REQUIRE(stepped_at < 0 || real - stepped_at >= us_per_ms);
            stepped_at = real;
        }
        last = next.tick;
        drawn_at = real;
        caller->waits = false;
        caller->wakes_at = real + static_cast<std::int64_t>(below(40));
    }
}

// A clock that runs forward, at any constant speed but zero, is never overtaken.
void simulate_steady() {
    const Layout l{13, static_cast<int>(below(5))};
    const double speed = 0.05 + static_cast<double>(below(300)) / 100;
    std::uint64_t last = 0;
    std::int64_t real = 0;
    bool waits = false;
    Vigil vigil{};
    std::int64_t since = 0;
    for (int look = 0; look < 500; ++look) {
        const auto shown = static_cast<std::int64_t>(static_cast<double>(real) * speed) + 5000;
        const std::uint64_t last_time = tick_time(l, last);
        const bool earned =
            waits && last_time == vigil.used_up_time && may_step(vigil, shown, real - since);
        const Advance next = advance(l, last, time_at(0, shown), earned ? last_time + 1 : 0);
        if (next.verdict == Verdict::draw) {
            REQUIRE(tick_time(l, next.tick) <= time_at(0, shown));
            last = next.tick;
            waits = false;
            real += static_cast<std::int64_t>(below(100));
            continue;
        }
        if (waits)
            vigil = look_again(vigil, shown);
        else {
            waits = true;
            vigil = begin_vigil(last_time, shown);
            since = real;
        }
        // The clock shows microseconds; a sleep of some of them lets even a slow one move.
        real += sleep_us(vigil, 0, shown) + 25;
    }
}

template <typename Check>
void repeat(const char *name, int times, Check check) {
    const std::uint64_t before = checks;
    for (int i = 0; i < times; ++i)
        check();
    std::printf("%-16s %9d inputs, %9" PRIu64 " checks\n", name, times, checks - before);
}

}  // namespace

int main(int argc, char **argv) {
    const std::uint64_t seed =
        argc > 1 ? std::strtoull(argv[1], nullptr, 10) : std::random_device{}();
    std::printf("seed %" PRIu64 "\n", seed);
    random_bits.seed(seed);

    repeat("layout.hpp", 3000000, check_layout);
    repeat("clock", 3000000, check_clock);
    repeat("advance.hpp", 3000000, check_advance);
    repeat("uuid_v1.hpp", 1000000, check_uuid);
    repeat("any clock", 1000, simulate);
    repeat("steady clock", 5000, simulate_steady);
    return 0;
}
