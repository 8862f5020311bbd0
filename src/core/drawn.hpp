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

}  // namespace shardid
