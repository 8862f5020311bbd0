#include "page_pin.h"

namespace shardid {

namespace {

// The generators that have kept a pin in a transaction, and which transaction it is. An abort
// releases the pins by itself; the list is then known for an old one.
Generator *listed = nullptr;
LocalTransactionId listed_in = InvalidLocalTransactionId;

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
    static bool is_registered = false;
    if (!is_registered)
        RegisterXactCallback(unpin_all_before_commit, nullptr);
    is_registered = true;

    const LocalTransactionId current = current_local_xid();
    if (generator.listed_in == current)
        return;
    generator.next_listed = listed_in == current ? listed : nullptr;
    generator.listed_in = current;
    listed = &generator;
    listed_in = current;
}

// Rolling back a part of the transaction drops the storage that was made in that part, which must
// then not be pinned.
bool may_keep_pin(const Generator &generator) {
    return !generator.has_own_storage && committing != current_local_xid();
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

}  // namespace

Buffer pin_page(Generator &generator) {
    if (likely(is_pin_kept(generator)))
        return generator.recent_buffer;

    if (!may_keep_pin(generator)) {
        generator.recent_buffer = find_and_pin(generator);
        return generator.recent_buffer;
    }

    list(generator);
    ResourceOwner owner = CurrentResourceOwner;
    CurrentResourceOwner = TopTransactionResourceOwner;
    generator.recent_buffer = find_and_pin(generator);
    CurrentResourceOwner = owner;
    generator.pinned_in = current_local_xid();
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
