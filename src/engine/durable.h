// Waiting until WAL is durable, before what it covers is returned to anyone.
#pragma once

#include "engine/asserted.h"

namespace shardid {

// Finds out how this server publishes whether standbys are waited for. REQUIRED: once, before
// make_durable.
void ask_server_version();

// For make_durable: what is known of this server and session.
struct Durability {
    XLogRecPtr flushed;               // WAL, at least up to there
    StandbyStatusCodes status_codes;  // see standby_status
};

extern Durability known_durability;

// For make_durable, unless it is known that WAL is flushed and that no standby is waited for.
void wait_until_durable(XLogRecPtr up_to);

// Flushes WAL at least up to there, and waits for synchronous standbys as a commit would (settings
// synchronous_standby_names, as the server has it, and synchronous_commit). REQUIRED: no page is
// open. Raises 57014 when the wait for a standby is canceled.
inline void make_durable(XLogRecPtr up_to) {
    Assert(no_page_is_locked());
    if (unlikely(up_to > known_durability.flushed ||
                 standby_status(*WalSndCtl) != known_durability.status_codes.none))
        wait_until_durable(up_to);
    Assert(up_to <= GetFlushRecPtr(nullptr));
}

// The same for all WAL that was written before the call.
void make_present_durable();

}  // namespace shardid
