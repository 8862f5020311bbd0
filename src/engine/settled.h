// Until which time all transactions that have generated ids from a generator have ended.
#pragma once

#include "core/layout.hpp"

#include "compat.h"

namespace shardid {

struct Settled {
    uint64 time;  // in the layout
    bool is_held;
    int held_by;  // the session that keeps it from being later; 0 for a prepared transaction
};

// Whether all transactions that generate ids note their first ids where this session sees them:
// CACHE is above 1, no recovery is in progress, and the storage is not this transaction's own, as
// it may then have changed CACHE itself.
bool shows_notes(Relation relation);

// The smallest id of a time: every transaction that has generated an id with an earlier time has
// ended, and no id with an earlier time will be generated. Never less than before, unless setval or
// ALTER SEQUENCE has moved the generator back. Waits for no transaction. Durable, as ids are, when
// returned.
//
// If the generator's last id is of a time that is over, advances the generator as far as a draw
// would: as no id of that time will follow then, its ids are settled, too; and an idle generator
// holds no reader of several back. Where bounds allow no draw, the generator stays.
//
// The statement is checked after the generator. Raises what docs/reference.md says of
// settled_below. REQUIRED: the layout is valid.
int64 settled_bound(Oid generator, const Layout &layout, void (*check_statement)());

// What settled_bound would find now; false if the generator is too far ahead. Changes nothing,
// and is not durable. REQUIRED: the relation is a sequence with sequence_lockmode, permanent or the
// session's own, and shows its notes; its storage is bound to the layout.
bool would_settle(Relation relation, const Layout &layout, Settled *settled);

}  // namespace shardid
