#include "engine/known.h"

#include "core/advance.hpp"
#include "core/outlook.hpp"

#include "engine/generator.h"
#include "engine/refusals.h"
#include "engine/sequence_page.h"

namespace shardid {

namespace {

uint64 random_seed() {
    uint64 random;
    if (!pg_strong_random(&random, sizeof(random)))
        ereport(ERROR, (errcode(ERRCODE_INTERNAL_ERROR), errmsg("could not get random bits")));
    return random & max_of(seed_bits);
}

}  // namespace

void begin_to_know(Generator &generator, const Layout &layout) {
    Assert(is_valid(layout.widths));
    const uint64 wanted = binding_of(layout);
    if (generator.makes != Kind::ids)
        refuse_binding(generator, wanted, binding_of(generator.makes, 0));
    allow_shards(generator, layout);
    generator.known = nothing_known(wanted);
}

void begin_to_know(Generator &generator, const OwnLayout &layout) {
    check_max_value(generator, max_tick(layout.widths));
    generator.known = nothing_known(binding_of(layout.kind, random_seed()));
}

bool fits_binding(const OpenPage &page, const Generator &generator) {
    const uint64 found = binding_of(page);
    return found == unbound || have_one_scale(found, generator.known.binding);
}

void take_binding(const OpenPage &page, Generator &generator) {
    Assert(fits_binding(page, generator));
    if (binding_of(page) != unbound)
        generator.known.binding = binding_of(page);
}

template <typename W>
bool may_not_jump(const OpenPage &page, const Generator &generator, const W &widths, uint64 tick) {
    if (generator.may_update || binding_of(page) != unbound)
        return false;
    const bool is_used = page.data->is_called || page.data->last_value != generator.start_value;
    return ends_soon(widths, tick) || (is_used && is_jump(widths, last_tick_of(page), tick));
}

template bool may_not_jump(const OpenPage &, const Generator &, const Widths &, uint64);
template bool may_not_jump(const OpenPage &, const Generator &, const Count &, uint64);

void learn(Generator &generator, uint64 last) {
    Known &known = generator.known;
    Assert(known.binding != unbound && last <= static_cast<uint64>(generator.max_value));
    known.kind = kind_of(known.binding);
    known.negative_soon = UINT64_MAX;
    known.at_once_below = UINT64_MAX;
    if (known.kind != Kind::ids)
        return;
    known.layout = layout_of(known.binding);
    known.worked = worked_out(known.layout.widths);
    if (!generator.has_warned)
        known.negative_soon = negative_soon_from(known.layout.widths);
    limit_draws_at_once(generator, last);
}

void limit_draws_at_once(Generator &generator, uint64 last) {
    generator.known.at_once_below =
        Min(generator.known.negative_soon, at_once_limit(generator, last));
}

}  // namespace shardid
