// Brute force over the pure headers: millions of random inputs, small, large and at the ends of
// their ranges. Built with UBSan, which ends it at undefined behaviour. Usage: brute_force [seed]
#include "invariants.hpp"

#include <random>

using namespace shardid::invariants;

namespace {

class Random {
  public:
    explicit Random(std::uint64_t seed) : bits_(seed) {}

    std::uint64_t below(std::uint64_t limit) { return bits_() % limit; }

    std::uint64_t up_to(std::uint64_t max) {
        switch (below(8)) {
            case 0:
                return max - below(max < 3 ? max + 1 : 3);
            case 1:
                return below(max < 3 ? max + 1 : 3);
            default: {
                const std::uint64_t value = bits_() >> below(64);
                return max == UINT64_MAX ? value : value % (max + 1);
            }
        }
    }

    static bool is_empty() { return false; }

  private:
    std::mt19937_64 bits_;
};

// make test takes a third of the inputs, make test-full all.
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
void every_small_window(shardid::Widths l, std::uint64_t base) {
    constexpr std::uint64_t span = 6;
    const std::uint64_t first_last = base < max_drawn_time(l) ? base : max_drawn_time(l) - 1;
    for (std::uint64_t from = base; from <= base + span; ++from) {
        for (std::uint64_t until = from; until <= base + span; ++until) {
            for (std::uint64_t lease = 0; lease <= until - from; ++lease)
                for (std::uint64_t session = 0; session <= shardid::ask_steps; ++session)
                    check_ask_from({from, until}, lease, session);
            for (std::uint64_t last = make_tick(l, first_last, 0);
                 last <= max_tick(l) && tick_time(l, last) <= base + span; ++last)
                for (std::uint64_t now = base; now <= base + span; ++now)
                    for (std::uint64_t look_at = base; look_at <= base + span; ++look_at) {
                        check_draw_in(l, {from, until}, last, now, 0, look_at);
                        check_draw_in(l, {from, until}, last, now, tick_time(l, last) + 1, look_at);
                    }
        }
    }
}

void every_small_window() {
    const std::uint64_t before = checks;
    int layouts = 0;
    for (const shardid::Widths l : {shardid::Widths{0, 0}, shardid::Widths{31, 0},
                                    shardid::Widths{31, 1}, shardid::Widths{13, 2}}) {
        every_small_window(l, 0);
        every_small_window(l, max_drawn_time(l) - 3);
        every_small_window(l, UINT64_MAX - 7);
        ++layouts;
    }
    std::printf("%-16s %9d layouts, %8" PRIu64 " checks\n", "small windows", layouts,
                checks - before);
}

}  // namespace

int main(int argc, char **argv) {
    const char *full = std::getenv("FULL");
    part = full != nullptr && *full != '\0' ? 1 : 10;
    const std::uint64_t seed =
        argc > 1 ? std::strtoull(argv[1], nullptr, 10) : std::random_device{}();
    std::printf("seed %" PRIu64 "\n", seed);
    std::fflush(stdout);
    Random random(seed);

    repeat("layout.hpp", 3000000, random, check_widths<Random>);
    repeat("valid layouts", 1000000, random, check_validity<Random>);
    repeat("clock", 3000000, random, check_clock<Random>);
    repeat("advance.hpp", 3000000, random, check_advance<Random>);
    repeat("outlook", 300000, random, check_outlook<Random>);
    repeat("range.hpp", 3000000, random, check_range<Random>);
    repeat("window.hpp", 3000000, random, check_window<Random>);
    every_small_window();
    repeat("wait.hpp", 1000000, random, check_wait<Random>);
    repeat("uuid.hpp", 1000000, random, check_uuid<Random>);
    repeat("any UUID", 1000000, random, check_any_uuid<Random>);
    repeat("scattered digits", 1000000, random, check_scattered_digits<Random>);
    repeat("scattered bits", 1000000, random, check_scattered_bits<Random>);
    repeat("base32", 1000000, random, check_base32<Random>);
    repeat("any base 32", 1000000, random, check_any_base32<Random>);
    repeat("count of UUIDs", 1000000, random, check_count<Random, shardid::uuid_ticks>);
    repeat("of ObjectIds", 1000000, random, check_count<Random, shardid::objectid_ticks>);
    repeat("objectid.hpp", 1000000, random, check_objectid<Random>);
    repeat("binding.hpp", 1000000, random, check_binding<Random>);
    repeat("identity", 1000000, random, check_identity<Random>);
    repeat("any clock", 1000, random, simulate<Random>);
    repeat("steady clock", 5000, random, simulate_steady<Random>);
    repeat("any windows", 50000, random, simulate_windows<Random>);
    repeat("UUIDs, any clock", 1000, random, simulate_uuids<Random>);
    repeat("UUIDs, steady", 5000, random, simulate_steady_uuids<Random>);
    return 0;
}
