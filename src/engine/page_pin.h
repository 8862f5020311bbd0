// Pinning a generator's page. Pinning and unpinning cost as much as all the rest of drawing an id,
// so from a transaction's second id on the pin is kept to the end of the transaction, as the lock
// on the sequence is.
#pragma once

#include "engine/sequence.h"

namespace shardid {

struct PagePin {
    Buffer buffer;                    // where the page was last seen
    LocalTransactionId last_used_in;  // the last transaction that has pinned it
    LocalTransactionId kept_in;       // the transaction to whose end it is pinned there
};

// To be called once, when the library is loaded.
void start_unpinning_at_commit();

// Whether the pin outlives the call that took it.
inline bool is_kept(const PagePin &pin) {
    return pin.kept_in == current_local_xid();
}

// The buffer of the sequence's page, pinned. REQUIRED: the pin is not kept.
Buffer pin_page(PagePin &pin, const Sequence &sequence);

// Releases a kept pin of a page that is no longer the generator's. Without a kept pin there is
// nothing to do.
void drop_kept_pin(PagePin &pin);

}  // namespace shardid
