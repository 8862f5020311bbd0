// A generator as one session knows it: its sequence, whether the current user may draw from it,
// whether it is suitable, and what its storage is bound to. The catalogs are asked here, before
// the page is touched; only what a rollback would bring back is found after a draw.
#pragma once

#include "core/advance.hpp"

#include "engine/bounds.h"
#include "engine/first_note.h"
#include "engine/replaced_storage.h"
#include "engine/sequence_page.h"

namespace shardid {

// What a session knows of a generator's storage (its relfilenode): what it is bound to. Storage
// stays what it was bound to, so what is known stays true until a check finds other storage.
struct Known {
    uint64 binding = unbound;  // what it is to be bound to, while nothing is known
    Kind kind = Kind::none;
    Layout layout{{}, DT_NOBEGIN};      // of ids, as in the binding
    WorkedWidths worked{};              // the same widths
    uint64 negative_soon = UINT64_MAX;  // from this tick on there is a warning to give
    uint64 at_once_from = 0;            // only these ticks have nothing to check: from this one,
    uint64 at_once_count = 0;           // so many

    // Never forgotten.
    bool has_warned = false;  // of negative ids, in this session
    FirstNote first_note{};   // the last one
};

inline void forget_binding(Known &known, uint64 next_binding) {
    Known forgotten{.binding = next_binding};
    forgotten.has_warned = known.has_warned;
    forgotten.first_note = known.first_note;
    known = forgotten;
}

// Whether this session has drawn ids of the layout from the generator as it is now. Then the layout
// is valid, and its ids fit the sequence. The kind says whether anything is known: the layout is an
// argument of a call, and can have any value.
inline bool is_known(const Known &known, const Layout &layout) {
    return known.kind == Kind::ids && known.layout == layout;
}

inline bool is_known(const Known &known, const OwnLayout &layout) {
    return known.kind == layout.kind;
}

// REQUIRED: the storage is bound to known.binding. Until limit_draws_at_once no id is drawn at
// once.
void learn(Known &known);

// Sets which ticks of ids are drawn at once, after `last` was drawn. REQUIRED: learn.
void limit_draws_at_once(Known &known, const Bounds &bounds, uint64 last);

// How long what was found of it holds.
struct Checked {
    LocalTransactionId locked_in;  // the transaction in which its lock was last taken
    uint64 at;                     // catalog version of the last check; 0: never
    Oid user;                      // the one it was checked for
};

struct Generator {
    Sequence sequence;  // begins with the hash key
    Checked checked;

    Bounds bounds;
    Known known;
    uint64 said_borrow_ms;  // to the log: how far this session may advance ahead of the clock

    PagePin pin;
    ReplacedStorages replaced;
};

// The generator, locked until the end of the transaction and checked for the current user. Raises
// 42809 if it is not a sequence or an unlogged one, 42501 without USAGE or UPDATE, 55000 if it
// counts downwards or has CYCLE, 0A000 if it is another session's temporary one, 42P01 if there is
// none, 25006 and 25000 as nextval does; `caller` is the name of the SQL function for these
// messages. The pointer stays valid to the end of the transaction.
Generator &use_generator(Oid relid, const char *caller);

[[noreturn]] void refuse_max_value(const Sequence &sequence, uint64 needed);

// Raises 55000 if the sequence cannot hold a tick that may be drawn: a tick above MAXVALUE would
// stay behind as a state that pg_dump's setval cannot restore.
inline void check_max_value(const Sequence &sequence, uint64 needed) {
    if (unlikely(static_cast<int64>(needed) > sequence.max_value))
        refuse_max_value(sequence, needed);
}

// Before a page is looked at of which nothing is known: notes what the call would bind it to, and
// for ids the shards that may be drawn (allow_shards). Raises 55000 for ids from a sequence that
// the extension uses for other values, even if its storage is unbound after a dump or pg_upgrade.
// REQUIRED: the layout is valid, and check_max_value for its ids.
void begin_to_know(Known &known, Bounds &bounds, const Sequence &sequence, const Layout &layout);
void begin_to_know(Known &known, const Sequence &sequence, const OwnLayout &layout);

// For the relcache callback: the generator of this OID, or all of them, are checked again.
void forget_generator(Oid relid, bool all);

}  // namespace shardid
