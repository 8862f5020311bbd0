// What was drawn from a generator's storage, as other storage of the generator has to remember it.
// Storage can be drawn from in one layout and its successor in another: a tick without what it was
// drawn as says nothing. Pure arithmetic.
#pragma once

#include <cstdint>

#include "core/advance.hpp"
#include "core/binding.hpp"
#include "core/objectid.hpp"
#include "core/uuid_ticks.hpp"

namespace shardid {

struct Drawn {
    std::uint64_t binding;  // see binding.hpp
    std::uint64_t tick;

    friend constexpr bool operator==(const Drawn &, const Drawn &) = default;
};

// Both draws in one. REQUIRED: have_one_scale.
constexpr Drawn merge(const Drawn &earlier, const Drawn &later) {
    return {later.binding, earlier.tick > later.tick ? earlier.tick : later.tick};
}

// As tick_after_ms for the layout, or the Count, of the tick.
constexpr std::uint64_t tick_after_ms(const Drawn &drawn, std::uint64_t ms) {
    switch (kind_of(drawn.binding)) {
        case Kind::uuids:
            return tick_after_ms(uuid_ticks, drawn.tick, ms);
        case Kind::objectids:
            return tick_after_ms(objectid_ticks, drawn.tick, ms);
        default:
            return tick_after_ms(layout_of(drawn.binding).widths, drawn.tick, ms);
    }
}

// Draws of several scales: one entry for each, the scale of the last draw first.
struct DrawnInScale {
    Drawn drawn;
    DrawnInScale *next;
};

// The tick of a scale, 0 if there is none.
constexpr std::uint64_t tick_in(const DrawnInScale *list, std::uint64_t binding) {
    while (list != nullptr && !have_one_scale(list->drawn.binding, binding))
        list = list->next;
    return list == nullptr ? 0 : list->drawn.tick;
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
