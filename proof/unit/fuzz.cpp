// The pure headers under libFuzzer, ASan and UBSan: the first byte of an input selects the check,
// the others are the check's input. Run by t/suite/fuzz.sh.
#include "invariants.hpp"

#include <cstddef>
#include <iterator>

using namespace shardid::invariants;

namespace {

// Numbers made of the input's bytes; zeros after its end.
class Bytes {
  public:
    Bytes(const std::uint8_t *data, std::size_t size) : next_(data), end_(data + size) {}

    // Reads as few bytes as can hold the limit, so that each of them has an effect.
    std::uint64_t below(std::uint64_t limit) { return take(limit - 1) % limit; }

    std::uint64_t up_to(std::uint64_t max) {
        const std::uint64_t value = take(max);
        return max == UINT64_MAX ? value : value % (max + 1);
    }

    bool is_empty() const { return next_ == end_; }

  private:
    std::uint64_t take(std::uint64_t max) {
        std::uint64_t value = 0;
        for (std::uint64_t rest = max; rest > 0 && !is_empty(); rest >>= 8)
            value = value << 8 | *next_++;
        return value;
    }

    const std::uint8_t *next_;
    const std::uint8_t *end_;
};

using Check = void (*)(Bytes &);

constexpr Check all_checks[] = {check_widths<Bytes>,
                                check_validity<Bytes>,
                                check_clock<Bytes>,
                                check_advance<Bytes>,
                                check_wait<Bytes>,
                                check_uuid<Bytes>,
                                check_any_uuid<Bytes>,
                                simulate<Bytes>,
                                simulate_steady<Bytes>,
                                check_scattered_digits<Bytes>,
                                check_scattered_bits<Bytes>,
                                check_base32<Bytes>,
                                check_any_base32<Bytes>,
                                check_outlook<Bytes>,
                                check_range<Bytes>,
                                check_count<Bytes, shardid::uuid_ticks>,
                                check_count<Bytes, shardid::objectid_ticks>,
                                check_objectid<Bytes>,
                                check_binding<Bytes>,
                                check_identity<Bytes>,
                                simulate_uuids<Bytes>,
                                simulate_steady_uuids<Bytes>,
                                check_window<Bytes>,
                                simulate_windows<Bytes>};

}  // namespace

// libFuzzer's entry point.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    if (size == 0)
        return 0;
    Bytes bytes(data + 1, size - 1);
    all_checks[data[0] % std::size(all_checks)](bytes);
    return 0;
}
