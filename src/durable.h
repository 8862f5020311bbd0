// Waiting until WAL is safe, before anyone is shown what it covers.
#pragma once

#include "compat.h"

namespace shardid {

// Learns how this server says that standbys are waited for. REQUIRED: once, before the other.
void ask_server_version();

// Flushes WAL at least up to there, and waits for synchronous standbys as a commit would (settings
// synchronous_standby_names, as the server has it, and synchronous_commit). REQUIRED: no page is
// open. Raises 57014 when the wait for a standby is canceled.
void make_durable(XLogRecPtr up_to);

}  // namespace shardid
