// ALTER SEQUENCE and TRUNCATE ... RESTART IDENTITY give a sequence new storage, and rolling them
// back gives the old storage back, which knows nothing of the ids drawn in between. So these ids
// are remembered.
#pragma once

#include "compat.h"

namespace shardid {

struct Generator;
struct ReplacedStorage;

// What a transaction has drawn from storage of its own, of which a rollback can take any part away.
//
// The storage from before the transaction is told of each tick at once: a crash brings it back.
// Storage that was made in the transaction comes back by a rollback to a savepoint only, and
// nobody else sees it before the commit. So it is enough to tell it when it has come back.
struct ReplacedStorages {
    LocalTransactionId noted_in;  // the transaction of which the rest is known
    ReplacedStorage *original;    // the storage from before it; null if there is none
    StorageNumber drawn_from;     // the last storage drawn from
    SubTransactionId drawn_in;    // the part of the transaction that drew last
    uint64 last_drawn;            // the largest tick
    uint64 binding;               // what it was drawn as (binding.hpp)
    bool is_lost;                 // the part that drew last was rolled back
    uint64 temporary_tick;        // the last tick drawn from a temporary sequence
    Generator *next_noted;
};

// To be called once, when the library is loaded.
void start_following_rollbacks();

// Makes every storage that a rollback of this transaction, or of a part of it, could bring back
// remember that `tick` was drawn; where that takes WAL, it is written up to `log_to`. Returns how
// far WAL has to be durable before the tick is shown. REQUIRED: generator.has_replaced_storage,
// generator.known is what the tick was drawn as.
XLogRecPtr remember_in_replaced_storage(Generator &generator, uint64 tick, uint64 log_to);

// Tells the storage that is in use, if a rollback has brought it back, what was drawn from the
// storage that is gone. REQUIRED: the relation is the generator's, and locked.
void tell_storage_in_use(Generator &generator, Relation relation);

}  // namespace shardid
