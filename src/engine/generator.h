// A generator as one session knows it: its sequence, whether the current user may draw from it, and
// whether it is suitable. All catalogue work of drawing an id is done here, before the page is
// touched.
#pragma once

#include "core/binding.hpp"

#include "engine/known.h"
#include "engine/page_pin.h"
#include "engine/replaced_storage.h"
#include "lease/lease.h"

namespace shardid {

struct Generator {
    Oid relid;  // hash key

    LocalTransactionId locked_in;  // the transaction in which its lock was last taken
    uint64 checked_at;             // catalogue version of the last check; 0: never
    Oid checked_for;               // the user it was checked for

    // What the check found.
    bool may_update;  // the user has UPDATE
    Kind makes;       // made_from its relation
    int64 start_value;
    int64 max_value;
    int64 increment;
    bool is_temporary;
    bool needs_wal;
    bool has_own_storage;       // temporary, or its relfilenode made in this transaction
    bool has_replaced_storage;  // its relfilenode made in this transaction in place of another
    Locator locator;
    uint32 stamp;  // stamp_of(locator)

    Lease lease;
    Shards shards;  // see allow_shards; of the layout that is known
    Known known;
    bool has_warned;        // of negative ids, in this session
    uint64 said_borrow_ms;  // to the log: how far this session may advance ahead of the clock

    // Of a temporary sequence: what was drawn from relfilenodes that a rollback, in any
    // transaction, may have taken away.
    DrawnInScale *temporary;

    PagePin pin;
    ReplacedStorages replaced;
};

// Another value for every relfilenode of a database, and for the same relfilenode number of every
// other database. Never zero.
uint32 stamp_of(const Locator &locator);

// The stamp of a page that was changed without WAL: of a temporary sequence, or of a relfilenode
// made in the same transaction under wal_level = minimal. There the commit logs the page as it is,
// with a log_cnt that nextval may have left and that no WAL covers: so it must not pass for
// stamp_of. Never zero. Equal to another database's stamp_of the same relfilenode number only if
// the OIDs of the two databases differ by a multiple of 2^30.
inline uint32 stamp_without_wal(uint32 stamp) {
    constexpr uint32 mask = uint32{1} << 30;
    return stamp == mask ? 1 : stamp ^ mask;
}

// The generator, locked until the end of the transaction and checked for the current user. Raises
// 42809 if it is not a sequence or an unlogged one, 42501 without USAGE or UPDATE, 55000 if it
// counts downwards or has CYCLE, 0A000 if it is another session's temporary one, 42P01 if there is
// none, 25006 and 25000 as nextval does; `caller` is the name of the SQL function for these
// messages. The pointer stays valid for the session.
Generator &use_generator(Oid relid, const char *caller);

// For the relcache callback: the generator of this OID, or all of them, are checked again.
void forget_generator(Oid relid, bool all);

[[noreturn]] void refuse_max_value(const Generator &generator, uint64 needed);

// Raises 55000 if the generator's sequence cannot hold a tick that may be drawn: a tick above
// MAXVALUE would stay behind as a state that pg_dump's setval cannot restore.
inline void check_max_value(const Generator &generator, uint64 needed) {
    if (unlikely(static_cast<int64>(needed) > generator.max_value))
        refuse_max_value(generator, needed);
}

}  // namespace shardid
