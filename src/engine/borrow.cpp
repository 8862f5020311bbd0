#include "engine/borrow.h"

#include "engine/refusals.h"
#include "engine/settings.h"

namespace shardid {

namespace {

// How far ahead of the clock this session may advance. A crash takes the generator a second
// further: from there it must still be drawn from.
uint64 most_borrowed_ms() {
    const uint64 drawable = max_lead_ms > logged_ahead_ms ? max_lead_ms - logged_ahead_ms : 0;
    return Min(static_cast<uint64>(max_borrow_ms), drawable);
}

}  // namespace

Advance borrow(const OpenPage &page, const Generator &generator, const Layout &layout, uint64 last,
               uint64 now) {
    const uint64 said = is_ours(page, generator.stamp) ? generator.said_borrow_ms : 0;
    return advance_or_borrow(layout.widths, last, now, Min(said, most_borrowed_ms()));
}

bool begins_to_borrow(Generator &generator, const Layout & /*layout*/, const FirstLook &look) {
    const bool is_page_ours = look.takings == no_look.takings;
    const uint64 most = most_borrowed_ms();
    if (most <= generator.said_borrow_ms || !is_page_ours)
        return false;
    generator.said_borrow_ms = most;
    mention_borrowing(generator, most);
    return true;
}

}  // namespace shardid
