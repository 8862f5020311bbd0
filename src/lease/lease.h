// A generator's lease (extension shardid_lease) as the engine uses it: whether it has one, whether
// that may be used for this page, until which tick, and how to get a window. A generator without a
// lease draws any shard at any time.
#pragma once

#include "core/window.hpp"

#include "engine/incarnation.h"

namespace shardid {

struct Attempt;
struct Generator;
struct OpenPage;

enum class LeaseState : uint8 { unknown, none, leased, sealed };

// Those that share a registry and a role.
struct LeaseGroup {
    Oid role;
    uint32 server;  // a hash of its name
};

struct Lease {
    LeaseState state;
    pg_uuid_t origin;
    LeaseGroup group;
    int32 shard;
    Layout layout;
    Digest family;  // the incarnations whose windows can be used

    Window window;
    XLogRecPtr
        moved_at;      // where the page was moved to when the window was asked for; 0: it was not
    uint64 length_ms;  // of the lease
    uint64 look_at;    // the time from which the session looks after it
    TimestampTz failed_at;  // when the last renewal failed; 0: it gave the window
};

inline bool is_limited(const Lease &lease) {
    return lease.state == LeaseState::leased;
}

inline bool has_lease(const Lease &lease) {
    return lease.state > LeaseState::none;
}

// The shards that may be drawn: the first, and `others` more.
struct Shards {
    uint32 first;
    uint32 others;
};

inline bool is_among(const Shards &shards, int32 shard) {
    return static_cast<uint32>(shard) - shards.first <= shards.others;
}

// --- Has this generator a lease?

// Raises 55000 unless the generator's lease, if it has one, is for ids of this layout; and sets
// generator.shards. REQUIRED: the layout is valid.
void allow_shards(Generator &generator, const Layout &layout);

// Raises 55000. REQUIRED: has_lease, and its shard is another one.
[[noreturn]] void refuse_shard_of_lease(const Generator &generator, int32 shard);

// For the relcache callback: forgets what it knew of the relation, and returns whether that is a
// table that leases are read from.
bool forget_lease_table(Oid relid);

// --- May it be used for this page?

// On a page that others have moved, only one window can be used: the one that was requested for the
// LSN at which the page is now.
bool has_window_for(const OpenPage &page, const Generator &generator);

// --- Until which tick?

// The first tick that the session does not draw without looking at the lease again, having drawn
// `last`.
uint64 at_once_limit(const Generator &generator, uint64 last);

// --- Getting a window.

// For a draw that found no window that holds its tick: has the registry asked, and returns when the
// session has a window to try. Can be canceled. Raises 55000 after shardid.lease_timeout. REQUIRED:
// no page is locked; is_limited(generator.lease).
void wait_for_window(Generator &generator, const Attempt &attempt);

// For a draw that came far in its window: has it renewed, without waiting. REQUIRED: no page is
// locked; is_limited(generator.lease).
void renew_ahead(Generator &generator, uint64 last);

}  // namespace shardid
