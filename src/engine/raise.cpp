#include "engine/raise.h"

#include "core/advance.hpp"

#include "engine/attempt.h"
#include "engine/draw.h"
#include "engine/refusals.h"
#include "engine/sequence_page.h"
#include "engine/settings.h"
#include "engine/wait.h"

namespace shardid {

namespace {

// An unbound page whose last value, read in this layout, is past the end of the layout or too far
// ahead to draw from, is left alone: its values are of another layout.
Attempt try_raise(const OpenPage &page, const Sequence &sequence, const Known &known,
                  const Layout &layout, uint64 tick) {
    Attempt attempt = attempt_at(GetCurrentTimestamp(), binding_of(page));
    const uint64 now =
        attempt.clock < layout.epoch_us ? 0 : time_at(layout.epoch_us, attempt.clock);
    attempt.tick = Max(tick, last_tick_of(page));
    attempt.lead_ms = lead_ms_of(layout.widths, attempt.tick, now);
    if (!fits_binding(page, known))
        attempt.outcome = Outcome::other_binding;
    else if (attempt.tick >= max_tick(layout.widths))
        attempt.outcome = Outcome::ended;
    else if (attempt.binding == unbound && attempt.lead_ms > max_lead_ms)
        attempt.outcome = Outcome::too_far_ahead;
    else {
        attempt.outcome = Outcome::drawn;
        attempt.covered_by = record_raise(page, sequence, known.binding, tick);
    }
    return attempt;
}

}  // namespace

// Storage that a rollback may bring back remembers draws only: so one tick is drawn there, which is
// not returned.
uint64 raise(Generator &generator, const Layout &layout, uint64 tick) {
    Assert(tick <= max_tick(layout.widths));
    begin_to_know(generator.known, generator.lease, generator.sequence, layout);
    const OpenPage page = open_page(generator.pin, generator.sequence);
    const Attempt attempt = try_raise(page, generator.sequence, generator.known, layout, tick);
    close_page(generator.pin, page);
    if (attempt.outcome != Outcome::drawn)
        refuse(generator.sequence.relid, layout, attempt);

    learn(generator.known);
    make_durable(attempt.covered_by);
    return generator.sequence.has_replaced_storage ? draw_ticks(generator, layout, 1).first
                                                   : attempt.tick;
}

}  // namespace shardid
