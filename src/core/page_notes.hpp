// Two notes in the 16 bits of a sequence's page that nothing reads (the offset in its tuple's
// t_ctid): how often a draw has made the page ours, modulo 512, and when the generator's lead over
// the clock was last mentioned in the log, in units of 16 s modulo 63. Pure arithmetic.
#pragma once

#include <cstdint>

namespace shardid {

struct PageNotes {
    std::uint16_t takings;
    std::uint16_t mention;  // 0: never

    friend constexpr bool operator==(const PageNotes &, const PageNotes &) = default;
};

inline constexpr int mention_bits = 6;
inline constexpr unsigned mention_values = (1U << mention_bits) - 1;
inline constexpr unsigned takings_values = 1U << 9;

// A fresh sequence has FirstOffsetNumber there, which stands for no notes.
inline constexpr std::uint16_t offset_without_notes = 1;

constexpr PageNotes notes_of(std::uint16_t offset) {
    const unsigned bits = unsigned{offset} - offset_without_notes;
    return {static_cast<std::uint16_t>((bits >> mention_bits) % takings_values),
            static_cast<std::uint16_t>(bits & mention_values)};
}

constexpr std::uint16_t offset_of(PageNotes notes) {
    return static_cast<std::uint16_t>(offset_without_notes +
                                      (unsigned{notes.takings} << mention_bits | notes.mention));
}

constexpr PageNotes with_taking(PageNotes notes) {
    return {static_cast<std::uint16_t>((notes.takings + 1) % takings_values), notes.mention};
}

inline constexpr std::uint64_t mention_unit_s = 16;

constexpr std::uint16_t mention_at(std::uint64_t second) {
    return static_cast<std::uint16_t>(1 + second / mention_unit_s % mention_values);
}

// Whether a minute has passed since the last one; a clock that was set back counts as that.
constexpr bool is_mention_due(PageNotes notes, std::uint64_t second) {
    constexpr unsigned pause_units = 5;
    if (notes.mention == 0)
        return true;
    const unsigned units = mention_values + mention_at(second) - notes.mention;
    return units % mention_values >= pause_units;
}

// Two draws that make a page ours are in different milliseconds, so the counter does not wrap
// around in less time than this.
inline constexpr std::int64_t takings_last_us = INT64_C(200) * 1000;

static_assert(notes_of(offset_without_notes) == PageNotes{0, 0});
static_assert(notes_of(offset_of({511, 63})) == PageNotes{511, 63});
// Below the offsets that mean something to the heap: SpecTokenOffsetNumber and its like.
static_assert(offset_of({511, 63}) == 1 << 15);

}  // namespace shardid
