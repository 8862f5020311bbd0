// A generator's lease (extension shardid_lease) as the engine uses it: whether it has one, whether
// that may be used for this page, and until which tick. What only the lease's tables and workers
// know, the engine asks by an interface of four functions, which contrib/lease sets. A generator
// without a lease draws any shard at any time.
#pragma once

#include "core/window.hpp"

#include "engine/arguments.h"
#include "engine/incarnation.h"
#include "engine/sequence.h"

namespace shardid {

struct Attempt;
struct OpenPage;

enum class LeaseState : uint8 { unknown, none, leased, sealed };

// Those that share a registry and a role.
struct LeaseGroup {
    Oid role;
    uint32 server;  // a hash of its name
};

// The shards that may be drawn: the first, and `others` more.
struct Shards {
    uint32 first;
    uint32 others;
};

struct Lease {
    LeaseState state;
    Shards shards;  // of the layout that is known; see allow_shards
    pg_uuid_t origin;
    pg_uuid_t name;  // a window with another one is another lease's
    LeaseGroup group;
    int32 shard;
    Layout layout;
    Digest family;  // the incarnations whose windows can be used

    Window window;
    XLogRecPtr
        moved_at;      // where the page was moved to when the window was asked for; 0: it was not
    uint64 length_ms;  // of the lease
    uint64 look_at;    // the time from which the session looks after it
    TimestampTz failed_at;     // when the last renewal failed; 0: it gave the window
    TimestampTz silent_since;  // and since when there was no answer; 0: there was one
    TimestampTz asked_at;      // when the session has asked by itself
};

// Of all libraries of a build.
inline constexpr const char *library_version = "1.0.0";

// Of the library shardid, for others that are loaded into the same process.
const char *version_of_engine();

// What contrib/lease does for the engine.
struct LeaseKeeper {
    // Reads the lease, or that there is none. Raises 55000 where the rows do not say which it is;
    // for a reader, who generates no id, it is sealed then. REQUIRED: its state is unknown.
    void (*load)(Lease &lease, const Sequence &sequence, bool is_reader);

    // For the relcache callback: forgets what it knew of the relation, and returns whether that is
    // a table that leases are read from.
    bool (*forget_table)(Oid relid);

    // For a draw that found no window that holds its tick: has the registry asked, and returns when
    // the session has a window to try; or when the lease is another one by now, whose state is then
    // unknown. Can be canceled. Raises 55000 after shardid_lease.timeout. REQUIRED: no page is
    // locked; is_limited(lease).
    void (*wait_for_window)(Lease &lease, Oid relid, const Attempt &attempt);

    // For a draw that came far in its window: has it renewed, without waiting. REQUIRED: no page is
    // locked; is_limited(lease).
    void (*renew_ahead)(Lease &lease, Oid relid, uint64 last);
};

// That of the library shardid_lease; null until a session has met the extension in its database.
extern const LeaseKeeper *lease_keeper;

// To be called once, when the library is loaded: what is found of leases in a transaction that is
// rolled back is forgotten.
void start_looking_again();

// Reads a lease as LeaseKeeper::load. Where the extension is, but not its library, or that of
// another build, loading it raises an error: there may be a lease. REQUIRED: as LeaseKeeper::load.
void load_lease(Lease &lease, const Sequence &sequence, bool is_reader);

inline bool is_limited(const Lease &lease) {
    return lease.state == LeaseState::leased;
}

inline bool has_lease(const Lease &lease) {
    return lease.state > LeaseState::none;
}

// Raises 55000 unless the sequence's lease, if it has one, is for ids of this layout; and sets
// lease.shards. REQUIRED: the layout is valid.
void allow_shards(Lease &lease, const Sequence &sequence, const Layout &layout);

[[noreturn]] pg_attribute_cold void refuse_shard(const Lease &lease, const Sequence &sequence,
                                                 const Layout &layout, int32 shard);

// Raises 22003 as checked_shard; 55000 if the lease is of another one. REQUIRED: allow_shards, for
// this layout.
inline uint64 allowed_shard(const Lease &lease, const Sequence &sequence, const Layout &layout,
                            int32 shard) {
    if (unlikely(static_cast<uint32>(shard) - lease.shards.first > lease.shards.others))
        refuse_shard(lease, sequence, layout, shard);
    Assert(shard >= 0 && static_cast<uint64>(shard) <= max_shard(layout.widths));
    return static_cast<uint64>(shard);
}

// Whether the window may be used for this page, in storage of this stamp_of. On a page that others
// have moved, only one can: the one that was requested for the LSN at which the page is now.
bool has_window_for(const OpenPage &page, const Lease &lease, uint32 stamp);

// The first tick that the session does not draw without looking at the lease again, having drawn
// `last`.
uint64 at_once_limit(const Lease &lease, uint64 last);

}  // namespace shardid
