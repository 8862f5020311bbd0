#include "engine/known.h"

#include "core/advance.hpp"
#include "core/notes.hpp"

#include "engine/lease.h"
#include "engine/sequence_page.h"

namespace shardid {

namespace {

// An earlier tick than that of the transaction's note needs another note.
uint64 first_noted(const Known &known) {
    if (!is_of_this_transaction(known.first_note))
        return 0;
    const uint64 time = time_of_first_ms(known.layout.epoch_us, known.first_note.ms);
    return make_tick(known.layout.widths, time, 0);
}

}  // namespace

bool fits_binding(const OpenPage &page, const Known &known) {
    const uint64 found = binding_of(page);
    return found == unbound || have_one_scale(found, known.binding);
}

void take_binding(const OpenPage &page, Known &known) {
    Assert(fits_binding(page, known));
    if (binding_of(page) != unbound)
        known.binding = binding_of(page);
}

template <typename W>
bool may_not_jump(const OpenPage &page, const Sequence &sequence, const W &widths, uint64 tick) {
    if (sequence.may_update || binding_of(page) != unbound)
        return false;
    const bool is_used = page.data->is_called || page.data->last_value != sequence.start_value;
    return ends_soon(widths, tick) || (is_used && is_jump(widths, last_tick_of(page), tick));
}

template bool may_not_jump(const OpenPage &, const Sequence &, const Widths &, uint64);
template bool may_not_jump(const OpenPage &, const Sequence &, const Count &, uint64);

void learn(Known &known) {
    Assert(known.binding != unbound);
    known.kind = kind_of(known.binding);
    known.negative_soon = UINT64_MAX;
    if (known.kind != Kind::ids) {
        known.at_once_count = UINT64_MAX;
        return;
    }
    known.layout = layout_of(known.binding);
    known.worked = worked_out(known.layout.widths);
    if (!known.has_warned)
        known.negative_soon = negative_soon_from(known.layout.widths);
}

void limit_draws_at_once(Known &known, const Lease &lease, uint64 last) {
    const uint64 below = Min(known.negative_soon, at_once_limit(lease, last));
    known.at_once_from = first_noted(known);
    known.at_once_count = below > known.at_once_from ? below - known.at_once_from : 0;
}

}  // namespace shardid
