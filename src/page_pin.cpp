#include "page_pin.h"

namespace shardid {

namespace {

// The generators that have kept a pin in a transaction, and which transaction it is. An abort
// releases the pins by itself; the list is then known for an old one.
Generator *listed = nullptr;
LocalTransactionId listed_in = InvalidLocalTransactionId;

int listed_count = 0;

// Enough for one transaction's tables, and too few to be missed in the smallest buffer pool.
constexpr int max_kept_pins = 8;

// The last transaction that came to its commit. No pin is kept in it any more.
LocalTransactionId committing = InvalidLocalTransactionId;

// A pin that is still there when the transaction's resources are released counts as a leak.
void unpin_all_before_commit(XactEvent event, void * /*argument*/) {
    if (event != XACT_EVENT_PRE_COMMIT && event != XACT_EVENT_PRE_PREPARE)
        return;
    committing = current_local_xid();
    if (listed_in != committing)
        return;
    for (Generator *generator = listed; generator != nullptr; generator = generator->next_listed)
        drop_kept_pin(*generator);
}

void list(Generator &generator) {
    const LocalTransactionId current = current_local_xid();
    if (generator.listed_in == current)
        return;
    if (listed_in != current) {
        listed = nullptr;
        listed_count = 0;
    }
    generator.next_listed = listed;
    generator.listed_in = current;
    listed = &generator;
    listed_in = current;
    ++listed_count;
}

bool has_room_for(const Generator &generator) {
    const LocalTransactionId current = current_local_xid();
    return listed_in != current || listed_count < max_kept_pins || generator.listed_in == current;
}

// Rolling back a part of the transaction drops the storage that was made in that part, which must
// then not be pinned.
bool may_keep_pin(const Generator &generator) {
    return !generator.has_own_storage && committing != current_local_xid() &&
           has_room_for(generator);
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
}

}  // namespace

void start_unpinning_at_commit() {
    RegisterXactCallback(unpin_all_before_commit, nullptr);
}

Buffer pin_page(Generator &generator) {
    if (likely(is_pin_kept(generator)))
        return generator.recent_buffer;

    generator.recent_buffer = find_and_pin(generator);
    if (generator.drawn_from_in == current_local_xid() && may_keep_pin(generator)) {
        list(generator);
        move_pin_to_transaction(generator);
    }
    generator.drawn_from_in = current_local_xid();
    return generator.recent_buffer;
}

void drop_kept_pin(Generator &generator) {
    if (!is_pin_kept(generator))
        return;
    ResourceOwner owner = CurrentResourceOwner;
    CurrentResourceOwner = TopTransactionResourceOwner;
    ReleaseBuffer(generator.recent_buffer);
    CurrentResourceOwner = owner;
    generator.pinned_in = InvalidLocalTransactionId;
}

}  // namespace shardid
