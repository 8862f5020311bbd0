// A generator as one session knows it: which sequence it is, whether the current user may draw
// from it, and whether it is fit for it. All catalogue work of drawing an id is done here, before
// the page is touched.
#pragma once

#include "compat.h"

namespace shardid {

struct Generator {
    Oid relid;  // hash key

    LocalTransactionId locked_in;  // the transaction in which its lock was last taken
    uint64 checked_at;             // catalogue version of the last check; 0: never
    Oid checked_for;               // the user it was checked for

    // What the check found.
    int64 min_value;
    int64 max_value;
    int64 increment;
    bool is_temporary;
    bool needs_wal;
    bool has_own_storage;       // temporary, or made in this very transaction
    bool has_replaced_storage;  // made in this transaction in place of another
    Locator locator;
    uint32 stamp;  // stamp_of(locator)

    // For page_pin.cpp.
    Buffer recent_buffer;              // where its page was last seen
    LocalTransactionId drawn_from_in;  // the last transaction that has pinned it
    LocalTransactionId pinned_in;      // the transaction to whose end it is pinned there
    LocalTransactionId listed_in;
    Generator *next_listed;

    // For replaced_storage.cpp: the last tick drawn from storage of a temporary sequence that a
    // rollback may have taken away.
    uint64 remembered;
};

// Tells storage from that with the same number in any other database, and from any other in the
// same database. Never zero.
uint32 stamp_of(const Locator &locator);

// Another mark for the same storage, with another bit; never zero. Two storages of one number in
// two databases could only be taken for each other if the OIDs of the databases differed by a
// multiple of 2^30. REQUIRED: bit is 30 or 31.
inline uint32 other_stamp(uint32 stamp, int bit) {
    const uint32 mask = uint32{1} << bit;
    return stamp == mask ? 1 : stamp ^ mask;
}

// The mark of a page that was changed without WAL: of temporary storage, or of storage made in the
// same transaction under wal_level = minimal. The commit logs that page as it is, and with it a
// remainder that nextval may have left there, which no WAL covers.
inline uint32 stamp_without_wal(uint32 stamp) {
    constexpr int bit = 30;
    return other_stamp(stamp, bit);
}

// The generator, locked until the end of the transaction and checked for the current user. Raises
// 42809 if it is not a sequence or an unlogged one, 42501 without USAGE or UPDATE, 55000 if it
// counts downwards, 42P01 if there is none, 25006 and 25000 as nextval does; `caller` is the name
// of the SQL function for these messages. The pointer stays valid for the session.
Generator &use_generator(Oid relid, const char *caller);

[[noreturn]] void refuse_max_value(const Generator &generator, uint64 needed);

// Raises 55000 if the generator's sequence cannot hold a tick that may be drawn: a tick above
// MAXVALUE would stay behind as a state that pg_dump's setval cannot restore.
inline void check_max_value(const Generator &generator, uint64 needed) {
    if (unlikely(static_cast<int64>(needed) > generator.max_value))
        refuse_max_value(generator, needed);
}

// The generator's schema-qualified name, quoted where it needs it; palloc'd.
char *generator_name(const Generator &generator);

}  // namespace shardid
