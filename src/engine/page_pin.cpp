#include "engine/page_pin.h"

namespace shardid {

namespace {

// Enough for one transaction's tables.
constexpr int max_kept_pins = 8;

// The generators that keep a pin in a transaction, and which transaction it is. An abort releases
// the pins by itself; what is here is then known for an old one's.
Generator *keepers[max_kept_pins];
int keeper_count = 0;
LocalTransactionId kept_in = InvalidLocalTransactionId;

// The last transaction that came to its commit. No pin is kept in it any more.
LocalTransactionId committing = InvalidLocalTransactionId;

// A session's share of the buffer pool, as bufmgr.c's MaxProportionalPins. In a small pool it is 0:
// many sessions would else leave no buffer to read other pages into.
int most_kept_pins() {
    return Min(max_kept_pins, NBuffers / (MaxBackends + NUM_AUXILIARY_PROCS));
}

void release_kept_pin(Generator &generator) {
    ResourceOwner owner = CurrentResourceOwner;
    CurrentResourceOwner = TopTransactionResourceOwner;
    ReleaseBuffer(generator.recent_buffer);
    CurrentResourceOwner = owner;
    generator.pinned_in = InvalidLocalTransactionId;
}

// A pin that is still there when the transaction's resources are released counts as a leak.
void unpin_all_before_commit(XactEvent event, void * /*argument*/) {
    if (event != XACT_EVENT_PRE_COMMIT && event != XACT_EVENT_PRE_PREPARE)
        return;
    committing = current_local_xid();
    if (kept_in != committing)
        return;
    while (keeper_count > 0)
        release_kept_pin(*keepers[--keeper_count]);
}

int kept_pins() {
    return kept_in == current_local_xid() ? keeper_count : 0;
}

// Rolling back a part of the transaction drops the storage that was made in that part, which must
// then not be pinned.
bool may_keep_pin(const Generator &generator) {
    return !generator.has_own_storage && committing != current_local_xid() &&
           kept_pins() < most_kept_pins();
}

// Opening the relation and looking the page up is done only when the page has left the buffer in
// which it was last seen.
Buffer find_and_pin(Generator &generator) {
    if (BufferIsValid(generator.recent_buffer) &&
        ReadRecentBuffer(generator.locator, MAIN_FORKNUM, 0, generator.recent_buffer))
        return generator.recent_buffer;

    Relation relation = relation_open(generator.relid, NoLock);
    Buffer buffer = ReadBuffer(relation, 0);
    relation_close(relation, NoLock);
    return buffer;
}

// The page is read under the current resource owner, so that a read that fails is cleaned up with
// the subtransaction in which it failed.
void move_pin_to_transaction(Generator &generator) {
    ResourceOwner owner = CurrentResourceOwner;
    CurrentResourceOwner = TopTransactionResourceOwner;
    IncrBufferRefCount(generator.recent_buffer);
    CurrentResourceOwner = owner;
    ReleaseBuffer(generator.recent_buffer);
    generator.pinned_in = current_local_xid();

    keeper_count = kept_pins();
    kept_in = generator.pinned_in;
    keepers[keeper_count++] = &generator;
}

}  // namespace

void start_unpinning_at_commit() {
    RegisterXactCallback(unpin_all_before_commit, nullptr);
}

Buffer find_and_pin_page(Generator &generator) {
    generator.recent_buffer = find_and_pin(generator);
    if (generator.drawn_from_in == current_local_xid() && may_keep_pin(generator))
        move_pin_to_transaction(generator);
    generator.drawn_from_in = current_local_xid();
    return generator.recent_buffer;
}

void drop_kept_pin(Generator &generator) {
    if (!is_pin_kept(generator))
        return;
    release_kept_pin(generator);
    for (int i = 0; i < keeper_count; ++i)
        if (keepers[i] == &generator)
            keepers[i] = keepers[--keeper_count];
}

}  // namespace shardid
