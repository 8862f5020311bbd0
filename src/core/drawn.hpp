// What was drawn from a generator's storage, as other storage of the generator has to remember it.
// Storage can be drawn from in one layout and its successor in another: a tick without what it was
// drawn as says nothing. Pure arithmetic.
#pragma once

#include <cstdint>

#include "core/binding.hpp"

namespace shardid {

struct Drawn {
    std::uint64_t binding;  // see binding.hpp
    std::uint64_t tick;
    std::uint64_t log_to;  // how far WAL is to be written where the tick needs it

    friend constexpr bool operator==(const Drawn &, const Drawn &) = default;
};

// Both draws in one. REQUIRED: have_one_scale.
constexpr Drawn merge(const Drawn &earlier, const Drawn &later) {
    const Drawn &larger = earlier.tick > later.tick ? earlier : later;
    return {later.binding, larger.tick, larger.log_to};
}

// Draws of several scales: one entry for each, the scale of the last draw first.
struct DrawnInScale {
    Drawn drawn;
    DrawnInScale *next;
};

// What was drawn in the scale of this binding, as of this binding; tick 0 if nothing was.
constexpr Drawn drawn_in(const DrawnInScale *list, std::uint64_t binding) {
    while (list != nullptr && !have_one_scale(list->drawn.binding, binding))
        list = list->next;
    return list == nullptr ? Drawn{binding, 0, 0}
                           : Drawn{binding, list->drawn.tick, list->drawn.log_to};
}

// Merges a draw into its scale's entry, which comes to the front. Returns false if there is none.
constexpr bool merge_into(DrawnInScale **list, const Drawn &drawn) {
    DrawnInScale **place = list;
    while (*place != nullptr && !have_one_scale((*place)->drawn.binding, drawn.binding))
        place = &(*place)->next;
    DrawnInScale *entry = *place;
    if (entry == nullptr)
        return false;
    *place = entry->next;
    *entry = {merge(entry->drawn, drawn), *list};
    *list = entry;
    return true;
}

}  // namespace shardid
