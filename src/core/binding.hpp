// What a generator's storage (its relfilenode) is bound to at its first draw, and what was drawn
// from it. It is bound to the layout of its ids, or to the seed that the database's UUIDs or
// ObjectIds have in common. 64 bits, all of which matter: no two layouts have one binding, so that
// none can be passed off as another. Pure arithmetic.
//
//     ids:                 31 - shard_bits (5) | 31 - sequence_bits (5) | epoch in ms (54)
//     UUIDs, ObjectIds:    0 (10)              | kind (2)               | random seed (52)
//
// The first ten bits are never all zero for a layout, whose fields have 32 bits at most together.
// The upper half of a binding is stored where a frozen tuple has its xmin, and is above every
// special transaction id.
#pragma once

#include <cstdint>

#include "core/advance.hpp"

namespace shardid {

// What a fresh sequence has in the place of a binding: FrozenTransactionId, and block 0.
inline constexpr std::uint64_t unbound = std::uint64_t{2} << 32;

inline constexpr int bits_of_a_width = 5;
inline constexpr int epoch_bits = id_bits - 2 * bits_of_a_width;
inline constexpr int kind_bits = 2;
inline constexpr int seed_bits = epoch_bits - kind_bits;

inline constexpr std::int64_t first_epoch_ms = first_timestamp_us / us_per_ms;

// REQUIRED: the widths are valid; the epoch a whole millisecond that a timestamp can show.
constexpr std::uint64_t binding_of(const Layout &layout) {
    const auto shard = static_cast<std::uint64_t>(max_field_bits - layout.widths.shard_bits);
    const auto sequence = static_cast<std::uint64_t>(max_field_bits - layout.widths.sequence_bits);
    const auto epoch = static_cast<std::uint64_t>(layout.epoch_us / us_per_ms - first_epoch_ms);
    return (shard << bits_of_a_width | sequence) << epoch_bits | epoch;
}

// What is drawn: ids, the UUIDs or ObjectIds of the extension's own sequences, or nothing yet.
enum class Kind : std::uint8_t { ids, uuids, objectids, none };

// REQUIRED: kind is uuids or objectids, seed < 2^seed_bits.
constexpr std::uint64_t binding_of(Kind kind, std::uint64_t seed) {
    return static_cast<std::uint64_t>(kind) << seed_bits | seed;
}

constexpr Kind kind_of(std::uint64_t binding) {
    return static_cast<Kind>(binding >> epoch_bits != 0 ? 0 : binding >> seed_bits);
}

// Whether a tick means the same in both storages. REQUIRED: neither is unbound.
constexpr bool have_one_scale(std::uint64_t one, std::uint64_t other) {
    return one == other || (kind_of(one) != Kind::ids && kind_of(one) == kind_of(other));
}

// REQUIRED: kind_of(binding) == Kind::ids, binding != unbound.
constexpr Layout layout_of(std::uint64_t binding) {
    const auto width = [binding](int shift) {
        return max_field_bits - static_cast<int>(binding >> shift & max_of(bits_of_a_width));
    };
    const auto epoch_ms = static_cast<std::int64_t>(binding & max_of(epoch_bits)) + first_epoch_ms;
    return {{width(epoch_bits + bits_of_a_width), width(epoch_bits)}, epoch_ms * us_per_ms};
}

// REQUIRED: kind_of(binding) != Kind::ids.
constexpr std::uint64_t seed_of(std::uint64_t binding) {
    return binding & max_of(seed_bits);
}

// What one of the extension's own sequences counts, since when, and what is made of it.
struct OwnLayout {
    Count widths;
    std::int64_t epoch_us;
    Kind kind;
};

// With any seed: UUIDs and ObjectIds accept that of the storage.
constexpr std::uint64_t binding_of(const OwnLayout &layout) {
    return binding_of(layout.kind, 0);
}

// Whether a layout is that of ids, of which the caller chooses the widths: else it is an OwnLayout.
template <typename L>
inline constexpr bool is_of_ids = false;
template <>
inline constexpr bool is_of_ids<Layout> = true;

// What was drawn from a generator's storage, as other storage of the generator has to remember it:
// which may be bound to another layout, where the tick alone says nothing.
struct LastDraw {
    std::uint64_t binding;
    std::uint64_t tick;
    std::uint64_t log_to;  // how far WAL is to be written where the tick needs it

    friend constexpr bool operator==(const LastDraw &, const LastDraw &) = default;
};

// Both draws in one. REQUIRED: have_one_scale.
constexpr LastDraw merge(const LastDraw &earlier, const LastDraw &later) {
    const LastDraw &larger = earlier.tick > later.tick ? earlier : later;
    return {later.binding, larger.tick, larger.log_to};
}

// Draws of several scales: one entry for each, the scale of the last draw first.
struct LastDraws {
    LastDraw draw;
    LastDraws *next;
};

// What was drawn in the scale of this binding, as of this binding; tick 0 if nothing was.
constexpr LastDraw last_draw_in(const LastDraws *list, std::uint64_t binding) {
    while (list != nullptr && !have_one_scale(list->draw.binding, binding))
        list = list->next;
    return list == nullptr ? LastDraw{binding, 0, 0}
                           : LastDraw{binding, list->draw.tick, list->draw.log_to};
}

// Merges a draw into its scale's entry, which comes to the front. Returns false if there is none.
constexpr bool merge_into(LastDraws **list, const LastDraw &last) {
    LastDraws **place = list;
    while (*place != nullptr && !have_one_scale((*place)->draw.binding, last.binding))
        place = &(*place)->next;
    LastDraws *entry = *place;
    if (entry == nullptr)
        return false;
    *place = entry->next;
    *entry = {merge(entry->draw, last), *list};
    *list = entry;
    return true;
}

}  // namespace shardid
