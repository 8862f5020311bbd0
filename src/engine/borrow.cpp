#include "engine/borrow.h"

#include "engine/refusals.h"
#include "engine/sequence_page.h"
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

Advance borrow(const Layout &layout, uint64 last, uint64 now, uint64 said_ms) {
    return advance_or_borrow(layout.widths, last, now, Min(said_ms, most_borrowed_ms()));
}

bool begins_to_borrow(Oid relid, uint64 *said_ms) {
    const uint64 most = most_borrowed_ms();
    if (most <= *said_ms)
        return false;
    *said_ms = most;
    mention_borrowing(relid, most);
    return true;
}

}  // namespace shardid
