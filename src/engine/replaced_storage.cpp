#include "engine/replaced_storage.h"

#include "engine/sequence_page.h"

namespace shardid {

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
uint64 original_max_value(const Sequence &sequence) {
    int64 max_value = sequence.max_value;
    for_each_replaced_row<FormData_pg_sequence>(
        SequenceRelationId, SequenceRelidIndexId, Anum_pg_sequence_seqrelid, sequence.relid,
        [&](const FormData_pg_sequence &row, bool is_original) {
            if (is_original)
                max_value = row.seqmax;
        });
    return max_value < 0 ? 0 : static_cast<uint64>(max_value);
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
        original->locator = sequence.locator;
        original->locator.relNumber = row.relfilenode;
        original->is_permanent = true;
        original->needs_wal = true;
        original->max_value = original_max_value(sequence);
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
        const int64 max_value = definition_of(RelationGetRelid(relation)).seqmax;
        ReplacedStorage storage{};
        storage.locator = locator;
        storage.is_permanent = RelationIsPermanent(relation);
        storage.needs_wal = RelationNeedsWAL(relation);
        storage.max_value = max_value < 0 ? 0 : static_cast<uint64>(max_value);
        remember_tick(storage, *replaced.draws);
    }
    note_storage(replaced, locator.relNumber);
}

}  // namespace shardid
