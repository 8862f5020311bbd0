// What sessions note for others: two notes on a sequence's page, and the millisecond of a
// transaction's first id. Pure arithmetic.
#pragma once

#include <cstdint>

#include "core/layout.hpp"

namespace shardid {

// In the 16 bits of the page that nothing reads (the offset in its tuple's t_ctid): how often a
// draw has made the page ours, modulo 512, and when the generator's lead over the clock was last
// mentioned in the log, in units of 16 s modulo 63.
struct PageNotes {
    std::uint16_t starts;
    std::uint16_t mention;  // 0: never

    friend constexpr bool operator==(const PageNotes &, const PageNotes &) = default;
};

inline constexpr int mention_bits = 6;
inline constexpr unsigned mention_values = (1U << mention_bits) - 1;
inline constexpr unsigned start_values = 1U << 9;

// A fresh sequence has FirstOffsetNumber there, which stands for no notes.
inline constexpr std::uint16_t offset_without_notes = 1;

constexpr PageNotes notes_of(std::uint16_t offset) {
    const unsigned bits = unsigned{offset} - offset_without_notes;
    return {static_cast<std::uint16_t>((bits >> mention_bits) % start_values),
            static_cast<std::uint16_t>(bits & mention_values)};
}

constexpr std::uint16_t offset_of(PageNotes notes) {
    return static_cast<std::uint16_t>(offset_without_notes +
                                      (unsigned{notes.starts} << mention_bits | notes.mention));
}

constexpr PageNotes with_start(PageNotes notes) {
    return {static_cast<std::uint16_t>((notes.starts + 1) % start_values), notes.mention};
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
inline constexpr std::int64_t starts_last_us = INT64_C(200) * 1000;

// The millisecond of a first id is noted on a scale of its own, so that it can be compared over
// layouts, in as many bits as a note has: some 8,900 years.
inline constexpr int first_ms_bits = 48;

// The scale begins before every epoch.
constexpr std::uint64_t epoch_on_scale(std::int64_t instant_us) {
    return time_at(first_timestamp_us, instant_us);
}

// A time later than the scale is noted as its end: earlier than it is, which holds readers back
// and loses nothing. REQUIRED: the epoch is finite.
constexpr std::uint64_t first_ms_of(std::int64_t epoch_us, std::uint64_t time) {
    const std::uint64_t epoch = epoch_on_scale(epoch_us);
    const std::uint64_t room = max_of(first_ms_bits) - epoch;
    return epoch < max_of(first_ms_bits) ? epoch + (time < room ? time : room)
                                         : max_of(first_ms_bits);
}

// The time, in a layout with this epoch, of a noted millisecond; 0 if it is before the epoch.
constexpr std::uint64_t time_of_first_ms(std::int64_t epoch_us, std::uint64_t ms) {
    const std::uint64_t epoch = epoch_on_scale(epoch_us);
    return ms < epoch ? 0 : ms - epoch;
}

}  // namespace shardid
