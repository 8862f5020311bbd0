#include "engine/replaced_storage.h"

#include "engine/sequence_page.h"

namespace shardid {

// A relfilenode that a rollback brings back, or has brought back. Only this transaction can touch
// it.
struct ReplacedStorage {
    Sequence sequence;  // what log_tick needs; max_value is the largest tick that it can hold
    bool is_permanent;
    Buffer recent_buffer;
};

namespace {

// Those of which something is noted, and the transaction in which.
ReplacedStorages *noted = nullptr;
LocalTransactionId noted_in = InvalidLocalTransactionId;

bool is_of_this_transaction(const ReplacedStorages &replaced) {
    return replaced.noted_in == current_lxid();
}

// Whether this transaction has updated this row version of a catalog.
bool was_replaced_here(HeapTupleHeader version) {
    return (version->t_infomask & HEAP_XMAX_INVALID) == 0 &&
           !HEAP_XMAX_IS_LOCKED_ONLY(version->t_infomask) &&
           TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetUpdateXid(version));
}

// Calls visit(row, is_original) for each version of the sequence's row that will be there again if
// this transaction, or a part of it, is rolled back; the original is from before it.
template <typename Form, typename Visit>
void for_each_replaced_row(Oid catalog, Oid index, AttrNumber key_column, Oid relid, Visit visit) {
    ScanKeyData key;
    ScanKeyInit(&key, key_column, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(relid));
    Relation relation = table_open(catalog, AccessShareLock);
    SysScanDesc scan = systable_beginscan(relation, index, true, SnapshotAny, 1, &key);
    for (HeapTuple version = systable_getnext(scan); HeapTupleIsValid(version);
         version = systable_getnext(scan)) {
        const TransactionId made_by = HeapTupleHeaderGetXmin(version->t_data);
        if (was_replaced_here(version->t_data) &&
            made_by != HeapTupleHeaderGetUpdateXid(version->t_data))
            visit(*reinterpret_cast<Form *>(GETSTRUCT(version)),
                  !TransactionIdIsCurrentTransactionId(made_by));
    }
    systable_endscan(scan);
    table_close(relation, AccessShareLock);
}

// The MAXVALUE from before this transaction. A tick above it would leave what was a plain sequence
// at its end.
int64 original_max_value(const Sequence &sequence) {
    int64 max_value = sequence.max_value;
    for_each_replaced_row<FormData_pg_sequence>(
        SequenceRelationId, SequenceRelidIndexId, Anum_pg_sequence_seqrelid, sequence.relid,
        [&](const FormData_pg_sequence &row, bool is_original) {
            if (is_original)
                max_value = row.seqmax;
        });
    return max_value;
}

template <typename Visit>
void for_each_replaced_relation(Oid relid, Visit visit) {
    for_each_replaced_row<FormData_pg_class>(RelationRelationId, ClassOidIndexId, Anum_pg_class_oid,
                                             relid, visit);
}

// The RowExclusiveLock held since the first draw keeps others from ALTER SEQUENCE, so the original
// stays what it is to the end of the transaction.
void note(ReplacedStorages &replaced, const Sequence &sequence) {
    ReplacedStorage *original = nullptr;
    for_each_replaced_relation(sequence.relid, [&](const FormData_pg_class &row, bool is_original) {
        if (!is_original)
            return;
        original = static_cast<ReplacedStorage *>(
            MemoryContextAllocZero(TopTransactionContext, sizeof(ReplacedStorage)));
        original->sequence = sequence;
        original->sequence.needs_wal = true;
        original->sequence.max_value = original_max_value(sequence);
        original->sequence.locator.relNumber = row.relfilenode;
        original->sequence.stamp = stamp_of(original->sequence.locator);
        original->is_permanent = true;
    });
    replaced = {};
    replaced.original = original;
    replaced.relid = sequence.relid;
    replaced.noted_in = current_lxid();
    replaced.next_noted = noted_in == replaced.noted_in ? noted : nullptr;
    noted = &replaced;
    noted_in = replaced.noted_in;
}

void add_draw(LastDraws **list, const LastDraw &last, MemoryContext context) {
    if (merge_into(list, last))
        return;
    auto *entry = static_cast<LastDraws *>(MemoryContextAlloc(context, sizeof(LastDraws)));
    *entry = {last, *list};
    *list = entry;
}

void note_storage(ReplacedStorages &replaced, Oid number) {
    replaced.last_storage = number;
    replaced.last_subtransaction = GetCurrentSubTransactionId();
    replaced.is_lost = false;
}

Buffer pin_replaced(ReplacedStorage &storage) {
    const RelFileLocator &locator = storage.sequence.locator;
    if (!BufferIsValid(storage.recent_buffer) ||
        !ReadRecentBuffer(locator, MAIN_FORKNUM, 0, storage.recent_buffer))
        storage.recent_buffer = ReadBufferWithoutRelcache(locator, MAIN_FORKNUM, 0, RBM_NORMAL,
                                                          nullptr, storage.is_permanent);
    return storage.recent_buffer;
}

// Whether the sequence can hold the tick, and it or a later one is still to come from the page.
bool may_come(const OpenPage &page, const Sequence &sequence, uint64 tick) {
    const uint64 last = last_tick_of(page);
    return static_cast<int64>(tick) <= sequence.max_value &&
           (last < tick || (last == tick && !page.data->is_called));
}

// Whether the page's last record is a draw's that covers the tick, and that recovery will replay.
// REQUIRED: the buffer is dirty, as for is_logged.
bool is_covered(const OpenPage &page, uint32 stamp, uint64 tick) {
    const Logged &last = logged_on(page).last;
    return has_stamp(page, stamp) && has_noted_record(page) && tick <= last.up_to &&
           last.lsn > GetRedoRecPtr();
}

// The page says that WAL covers nothing, which is right whatever INCREMENT the rollback brings
// back; its noted record says how far it does.
void raise_page(const OpenPage &page, const Sequence &sequence, LastDraw last) {
    last.log_to = Min(last.log_to, static_cast<uint64>(sequence.max_value));
    MarkBufferDirty(page.buffer);
    if (!is_covered(page, sequence.stamp, last.tick))
        log_tick(page, sequence, last);
    set_state(page, last.tick, 0);
}

// As record_raise, to the tick that was drawn in the page's own scale, if it can hold that: in
// another layout the tick would be another time, perhaps far in the future. An unbound page takes
// the first of the draws, and is bound to the same if it is raised. REQUIRED: the storage exists
// and is not temporary.
XLogRecPtr remember_tick(ReplacedStorage &storage, const LastDraws &draws) {
    Assert(no_page_is_locked());
    const OpenPage page = lock_page(pin_replaced(storage));
    const uint64 kept = binding_of(page) == unbound ? draws.draw.binding : binding_of(page);
    const LastDraw last = last_draw_in(&draws, kept);
    if (last.tick != 0 && may_come(page, storage.sequence, last.tick))
        raise_page(page, storage.sequence, last);
    const XLogRecPtr covered_by =
        storage.sequence.needs_wal ? PageGetLSN(page.page) : InvalidXLogRecPtr;
    close_page(page);
    return covered_by;
}

template <typename Visit>
void for_each_noted(Visit visit) {
    if (noted_in != current_lxid())
        return;
    for (ReplacedStorages *replaced = noted; replaced != nullptr; replaced = replaced->next_noted)
        visit(*replaced);
}

void follow_subtransaction(SubXactEvent event, SubTransactionId own, SubTransactionId parent,
                           void * /*argument*/) {
    for_each_noted([&](ReplacedStorages &replaced) {
        if (replaced.last_subtransaction != own)
            return;
        if (event == SUBXACT_EVENT_COMMIT_SUB)
            replaced.last_subtransaction = parent;
        if (event == SUBXACT_EVENT_ABORT_SUB)
            replaced.is_lost = true;
    });
}

// After the commit other sessions draw from the relfilenode in use.
void raise_all_before_commit(XactEvent event, void * /*argument*/) {
    if (event != XACT_EVENT_PRE_COMMIT && event != XACT_EVENT_PRE_PREPARE)
        return;
    for_each_noted([](ReplacedStorages &replaced) {
        if (!replaced.is_lost)
            return;
        Relation relation = try_relation_open(replaced.relid, NoLock);
        if (relation == nullptr)
            return;
        raise_storage_in_use(replaced, relation);
        relation_close(relation, NoLock);
    });
}

}  // namespace

void start_following_rollbacks() {
    RegisterSubXactCallback(follow_subtransaction, nullptr);
    RegisterXactCallback(raise_all_before_commit, nullptr);
}

bool has_replaced_unlogged_storage(Oid relid) {
    bool has = false;
    for_each_replaced_relation(relid, [&](const FormData_pg_class &row, bool /*is_original*/) {
        has = has || row.relpersistence == RELPERSISTENCE_UNLOGGED;
    });
    return has;
}

XLogRecPtr remember_in_replaced_storage(ReplacedStorages &replaced, const Sequence &sequence,
                                        const LastDraw &last) {
    Assert(sequence.has_replaced_storage && no_page_is_locked());
    // Nobody else draws from a temporary sequence: this session's memory is enough.
    if (sequence.is_temporary) {
        add_draw(&replaced.temporary, last, TopMemoryContext);
        return InvalidXLogRecPtr;
    }
    if (!is_of_this_transaction(replaced))
        note(replaced, sequence);
    add_draw(&replaced.draws, last, TopTransactionContext);
    note_storage(replaced, sequence.locator.relNumber);
    return replaced.original != nullptr ? remember_tick(*replaced.original, {last, nullptr})
                                        : InvalidXLogRecPtr;
}

// Nothing is flushed here. A crash before the commit brings the original back, which was raised,
// and flushed, at each draw; the WAL of this relfilenode counts from the commit on, which flushes
// it.
void raise_storage_in_use(ReplacedStorages &replaced, Relation relation) {
    if (!is_of_this_transaction(replaced) || !replaced.is_lost)
        return;
    Assert(CheckRelationLockedByMe(relation, RowExclusiveLock, true));

    const RelFileLocator locator = relation->rd_locator;
    if (has_new_storage(relation) && locator.relNumber != replaced.last_storage) {
        ReplacedStorage storage{};
        storage.sequence.needs_wal = RelationNeedsWAL(relation);
        storage.sequence.max_value = definition_of(RelationGetRelid(relation)).seqmax;
        storage.sequence.locator = locator;
        storage.sequence.stamp = stamp_of(locator);
        storage.is_permanent = RelationIsPermanent(relation);
        remember_tick(storage, *replaced.draws);
    }
    note_storage(replaced, locator.relNumber);
}

}  // namespace shardid
