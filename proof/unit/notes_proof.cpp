// What core/notes.hpp promises, at the ends of its ranges and in the middle.
#include "core/notes.hpp"

namespace shardid {

namespace {

constexpr bool survives(PageNotes notes) {
    return notes_of(offset_of(notes)) == notes;
}

static_assert(notes_of(offset_without_notes) == PageNotes{0, 0});
static_assert(survives({0, 0}) && survives({511, 63}) && survives({511, 0}) && survives({0, 63}));
// Below the offsets with a special meaning in a heap, such as SpecTokenOffsetNumber.
static_assert(offset_of({511, 63}) == 1 << 15);
static_assert(with_taking({511, 7}) == PageNotes{0, 7} && with_taking({3, 0}) == PageNotes{4, 0});

constexpr std::uint64_t now = 700000000;

constexpr bool is_due_after(std::uint64_t since, std::uint64_t second) {
    return is_mention_due({5, mention_at(since)}, second);
}

static_assert(is_mention_due({5, 0}, now));
static_assert(!is_due_after(now, now) && !is_due_after(now, now + 79) &&
              !is_due_after(now + 15, now + 79));
static_assert(is_due_after(now, now + 80) && is_due_after(now + 15, now + 80) &&
              is_due_after(now, now - 1));

static_assert(time_of_first_ms(0, first_ms_of(0, 5)) == 5);
static_assert(time_of_first_ms(7000, first_ms_of(5000, 5)) == 3);
static_assert(time_of_first_ms(0, first_ms_of(0, UINT64_MAX)) < max_of(first_ms_bits));

}  // namespace

}  // namespace shardid
