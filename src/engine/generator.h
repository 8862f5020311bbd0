// A generator as one session knows it: its sequence, whether the current user may draw from it, and
// whether it is suitable. All catalogue work of drawing an id is done here, before the page is
// touched.
#pragma once

#include "engine/known.h"
#include "engine/lease.h"
#include "engine/replaced_storage.h"
#include "engine/sequence_page.h"

namespace shardid {

// How long what was found of it holds.
struct Checked {
    LocalTransactionId locked_in;  // the transaction in which its lock was last taken
    uint64 at;                     // catalogue version of the last check; 0: never
    Oid user;                      // the one it was checked for
};

struct Generator {
    Sequence sequence;  // begins with the hash key
    Checked checked;

    Lease lease;
    Known known;
    uint64 said_borrow_ms;  // to the log: how far this session may advance ahead of the clock

    PagePin pin;
    ReplacedStorages replaced;
};

// The generator, locked until the end of the transaction and checked for the current user. Raises
// 42809 if it is not a sequence or an unlogged one, 42501 without USAGE or UPDATE, 55000 if it
// counts downwards or has CYCLE, 0A000 if it is another session's temporary one, 42P01 if there is
// none, 25006 and 25000 as nextval does; `caller` is the name of the SQL function for these
// messages. The pointer stays valid for the session.
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
void begin_to_know(Known &known, Lease &lease, const Sequence &sequence, const Layout &layout);
void begin_to_know(Known &known, const Sequence &sequence, const OwnLayout &layout);

// For the relcache callback: the generator of this OID, or all of them, are checked again.
void forget_generator(Oid relid, bool all);

}  // namespace shardid
