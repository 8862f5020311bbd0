// What a session knows of a generator's lease (extension shardid_lease): the shard and the layout
// that it may draw, and the window of times in which it may. Who has no lease draws any shard at
// any time.
#pragma once

#include "core/window.hpp"

#include "engine/incarnation.h"

namespace shardid {

struct Generator;
struct OpenPage;

enum class LeaseState : uint8 { unknown, none, leased, permanent, sealed };

// Those that share a registry and a role.
struct LeaseGroup {
    Oid role;
    uint32 server;  // a hash of its name
};

struct Lease {
    LeaseState state;
    bool is_uncommitted;  // this transaction has leased it
    LeaseGroup group;
    int32 shard;
    Layout layout;
    Digest family;  // the incarnations whose windows can be used

    Window window;
    XLogRecPtr
        moved_at;      // where the page was moved to when the window was asked for; 0: it was not
    uint64 length_ms;  // of the lease
    uint64 look_at;    // the time from which the session looks after it
    TimestampTz failed_at;  // when the registry refused, or did not answer; 0: it gave the window
};

inline bool is_limited(const Lease &lease) {
    return lease.state == LeaseState::leased;
}

inline bool has_lease(const Lease &lease) {
    return lease.state > LeaseState::none;
}

// The shards that may be drawn: as many as `others` beside the first.
struct Shards {
    uint32 first;
    uint32 others;
};

inline bool is_among(const Shards &shards, int32 shard) {
    return static_cast<uint32>(shard) - shards.first <= shards.others;
}

// Reads whether the generator is leased, if that was not done since it was checked.
void load_lease(Generator &generator);

// The tables of the extension shardid_lease; returns false if there is none.
bool find_lease_tables(Oid *generators, Oid *windows);

// Whether the relation is one of those that load_lease reads.
bool is_lease_table(Oid relid);

// Raises 55000 unless the generator's lease, if it has one, is for ids of this layout; and sets
// generator.shards. What was known of the generator is forgotten. REQUIRED: the layout is valid.
void allow_shards(Generator &generator, const Layout &layout);

// Raises 55000 in the transaction that has leased the generator: a rollback gives the shard, and
// what the registry knows of it, away. REQUIRED: load_lease.
void check_lease_is_committed(Generator &generator);

// Reads a leased generator's window again, as it is committed now, whatever snapshot the
// transaction has. What the session has stays where there is none that was granted to this server
// since it was started, for the generator's present storage: within one incarnation windows only
// grow.
void read_window(Generator &generator);

// Whether the window can be used on the page as it is. On one that others have moved, only the
// window that was asked for when it was moved to where it is now can.
bool has_window_for(const OpenPage &page, const Generator &generator);

// The first tick that the session does not draw without looking after the lease, having drawn
// `last`.
uint64 at_once_limit(const Generator &generator, uint64 last);

// Whether the registry refused, or did not answer, a moment ago: then it is not asked again yet.
bool has_failed_lately(const Lease &lease);

// What the registry said of a leased generator; null if it gave the window.
char *registry_error(const Generator &generator);

LeaseGroup group_of(const char *server, Oid role);

// The locks of those that share a registry and a role, in the lock manager's terms: who asks the
// registry, and who has that done.
LOCKTAG lock_of_worker(const Lease &lease);
LOCKTAG lock_of_starter(const Lease &lease);

// The first of the two, for who knows the group only.
LOCKTAG worker_lock(const LeaseGroup &group);

}  // namespace shardid
