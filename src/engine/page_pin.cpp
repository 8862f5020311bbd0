#include "engine/page_pin.h"

namespace shardid {

namespace {

// Enough for one transaction's tables.
constexpr int max_kept_pins = 8;

// The pins that are kept, and the transaction that keeps them. An abort releases them by the
// resource owner; what is left here is then an older transaction's, and counts as none.
PagePin *kept[max_kept_pins];
int kept_count = 0;
LocalTransactionId all_kept_in = InvalidLocalTransactionId;

// The last transaction that came to its commit. No pin is kept in it any more.
LocalTransactionId committing = InvalidLocalTransactionId;

// A session's share of the buffer pool, as bufmgr.c's MaxProportionalPins. In a small pool it is 0:
// many sessions would else leave no buffer to read other pages into.
int most_kept_pins() {
    return Min(max_kept_pins, NBuffers / (MaxBackends + NUM_AUXILIARY_PROCS));
}

void release(PagePin &pin) {
    Assert(is_kept(pin));
    ResourceOwner owner = CurrentResourceOwner;
    CurrentResourceOwner = TopTransactionResourceOwner;
    ReleaseBuffer(pin.buffer);
    CurrentResourceOwner = owner;
    pin.kept_in = InvalidLocalTransactionId;
}

// A pin that is still there when the transaction's resources are released counts as a leak.
void release_all_before_commit(XactEvent event, void * /*argument*/) {
    if (event != XACT_EVENT_PRE_COMMIT && event != XACT_EVENT_PRE_PREPARE)
        return;
    committing = current_local_xid();
    if (all_kept_in != committing)
        return;
    while (kept_count > 0)
        release(*kept[--kept_count]);
}

int pins_kept_here() {
    return all_kept_in == current_local_xid() ? kept_count : 0;
}

// Rolling back a subtransaction drops a relfilenode that was made in it, which must then not be
// pinned.
bool may_keep_pin(const Sequence &sequence) {
    return !sequence.has_own_storage && committing != current_local_xid() &&
           pins_kept_here() < most_kept_pins();
}

// Opening the relation and looking the page up is done only when the page has left the buffer in
// which it was last seen. (Before 15.2 ReadRecentBuffer is wrong for temporary relations.)
Buffer find_and_pin(const PagePin &pin, const Sequence &sequence) {
    if (!sequence.is_temporary && BufferIsValid(pin.buffer) &&
        ReadRecentBuffer(sequence.locator, MAIN_FORKNUM, 0, pin.buffer))
        return pin.buffer;

    Relation relation = relation_open(sequence.relid, NoLock);
    Buffer buffer = ReadBuffer(relation, 0);
    relation_close(relation, NoLock);
    return buffer;
}

// The page is read under the current resource owner, so that a read that fails is cleaned up with
// the subtransaction in which it failed.
void keep(PagePin &pin) {
    Assert(pins_kept_here() < max_kept_pins);
    ResourceOwner owner = CurrentResourceOwner;
    CurrentResourceOwner = TopTransactionResourceOwner;
    IncrBufferRefCount(pin.buffer);
    CurrentResourceOwner = owner;
    ReleaseBuffer(pin.buffer);
    pin.kept_in = current_local_xid();

    kept_count = pins_kept_here();
    all_kept_in = pin.kept_in;
    kept[kept_count++] = &pin;
}

}  // namespace

void start_unpinning_at_commit() {
    RegisterXactCallback(release_all_before_commit, nullptr);
}

Buffer pin_page(PagePin &pin, const Sequence &sequence) {
    Assert(!is_kept(pin));
    pin.buffer = find_and_pin(pin, sequence);
    if (pin.last_used_in == current_local_xid() && may_keep_pin(sequence))
        keep(pin);
    pin.last_used_in = current_local_xid();
    return pin.buffer;
}

void drop_kept_pin(PagePin &pin) {
    if (!is_kept(pin))
        return;
    release(pin);
    for (int i = 0; i < kept_count; ++i)
        if (kept[i] == &pin)
            kept[i] = kept[--kept_count];
}

}  // namespace shardid
