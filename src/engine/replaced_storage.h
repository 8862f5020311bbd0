// ALTER SEQUENCE and TRUNCATE ... RESTART IDENTITY give a sequence a new relfilenode. ROLLBACK,
// also to a savepoint, restores the old one, whose last value is from before the ids that the
// transaction drew meanwhile. So the old one's last value is raised past those ids.
#pragma once

#include "core/binding.hpp"

#include "engine/sequence.h"

namespace shardid {

struct ReplacedStorage;

// What a transaction has drawn from relfilenodes that it has made itself.
//
// The relfilenode from before the transaction is raised at each draw, with WAL: after a crash it is
// the one in use. A relfilenode that an earlier subtransaction made comes back only by ROLLBACK TO
// SAVEPOINT, and nobody else sees it before the commit: so it is raised when it has come back.
struct ReplacedStorages {
    LocalTransactionId noted_in;           // the transaction of which the rest is known
    Oid relid;                             // of the sequence
    ReplacedStorage *original;             // the relfilenode from before it; null if there is none
    Oid last_storage;                      // the relfilenode of the last draw
    SubTransactionId last_subtransaction;  // the subtransaction whose rollback loses the last draw
    LastDraws *draws;                      // the largest tick of each scale, the last scale first
    bool is_lost;                          // that subtransaction was rolled back
    ReplacedStorages *next_noted;

    // Of a temporary sequence, nothing but: what was drawn from relfilenodes that a rollback, in
    // any transaction, may have taken away.
    LastDraws *temporary;
};

// To be called once, when the library is loaded.
void start_following_rollbacks();

// Whether a rollback, also to a savepoint, would bring back an unlogged relfilenode: a crash then
// resets it, and what it remembers is lost.
bool has_replaced_unlogged_storage(Oid relid);

// To be called for each draw. Raises the relfilenode from before the transaction to the tick, if
// its MAXVALUE allows; where that takes WAL, it is written up to last.log_to. Notes the draw for
// the others. Returns how far WAL has to be durable before the tick is returned. REQUIRED:
// sequence.has_replaced_storage, not has_replaced_unlogged_storage.
XLogRecPtr remember_in_replaced_storage(ReplacedStorages &replaced, const Sequence &sequence,
                                        const LastDraw &last);

// If a ROLLBACK TO SAVEPOINT has brought the present relfilenode back, raises it to what was drawn
// from the one that is gone. REQUIRED: the relation is the sequence, and locked.
void raise_storage_in_use(ReplacedStorages &replaced, Relation relation);

}  // namespace shardid
