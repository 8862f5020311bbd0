// The bounds within which a generator may generate ids on this server: of which shard, in which
// layout, and in which window of times. A generator without bounds generates ids of any shard at
// any time; those of UUIDs and ObjectIds have none.
#pragma once

#include "core/window.hpp"

#include "engine/sequence.h"

namespace shardid {

struct Attempt;
struct OpenPage;

// released: its lease is, so it may generate no id. has_bounds needs this order.
enum class BoundsState : uint8 { unknown, none, set, released };

struct Bounds {
    BoundsState state = BoundsState::unknown;
    uint32 first_shard;   // see allow_shards; of the layout that is known, the first that may be
    uint32 other_shards;  // drawn, and how many more
    int32 shard;          // -1: none
    Layout layout;
    Window window = any_time;
    XLogRecPtr moved_at;  // of the page, when the window was asked for; 0: others had not moved it
    uint64 renew_from = UINT64_MAX;  // the time from which the session has the window renewed
    void *source = nullptr;          // what the library that sets them knows of them
};

// Whether ids are generated within a window. False where none may be generated at all.
inline bool is_limited(const Bounds &bounds) {
    return bounds.state == BoundsState::set;
}

inline bool has_bounds(const Bounds &bounds) {
    return bounds.state > BoundsState::none;
}

// To be called once, when the library is loaded: what is found of bounds in a transaction that is
// rolled back is forgotten.
void start_forgetting_bounds();

// For the relcache callback: forgets what is known of the relation, and returns whether that is a
// table that bounds are read from.
bool forget_table_of_bounds(Oid relid);

// Reads them, or that there are none. Raises 55000 where it is not to be seen which they are, for a
// reader, who generates no id, they are released then; and what loading the library raises that
// sets them, if it is missing or of another build. REQUIRED: their state is unknown.
void load_bounds(Bounds &bounds, const Sequence &sequence, bool is_reader);

// Raises 55000 unless the sequence's bounds, if it has any, are for ids of this layout; and sets
// which shards may be drawn. REQUIRED: the layout is valid.
void allow_shards(Bounds &bounds, const Sequence &sequence, const Layout &layout);

[[noreturn]] pg_attribute_cold void refuse_shard(const Bounds &bounds, const Sequence &sequence,
                                                 const Layout &layout, int32 shard);

// Raises 22003 as checked_shard; 55000 if the bounds are of another one. REQUIRED: allow_shards,
// for this layout.
inline uint64 allowed_shard(const Bounds &bounds, const Sequence &sequence, const Layout &layout,
                            int32 shard) {
    if (unlikely(static_cast<uint32>(shard) - bounds.first_shard > bounds.other_shards))
        refuse_shard(bounds, sequence, layout, shard);
    Assert(shard >= 0 && static_cast<uint64>(shard) <= max_shard(layout.widths));
    return static_cast<uint64>(shard);
}

// Whether the window may be used for this page, in storage of this stamp_of. On a page that others
// have moved, only one can: the one that was requested for the LSN at which the page is now.
bool has_window_for(const OpenPage &page, const Bounds &bounds, uint32 stamp);

// For a draw that found no window that holds its tick: returns when the session has a window to
// try; or when the bounds are others by now, whose state is then unknown. Can be canceled. Raises
// 55000, 57P03 or 53400 when it has waited for too long. REQUIRED: no page is locked;
// is_limited(bounds).
void wait_for_window(Bounds &bounds, Oid relid, const Attempt &attempt);

// For a draw that has reached renew_from: has the window renewed. Does not wait for that, but until
// the worker that does it has begun: some milliseconds, at most 6 s, and not to be canceled.
// REQUIRED: no page is locked; is_limited(bounds).
void renew_window(Bounds &bounds, Oid relid, uint64 last);

// The first tick that the session does not draw without looking at the bounds again, having drawn
// `last`.
uint64 at_once_limit(const Bounds &bounds, uint64 last);

}  // namespace shardid
