#include "engine/replaced_storage.h"

#include "engine/asserted.h"
#include "engine/generator.h"
#include "engine/sequence.h"
#include "engine/sequence_page.h"

extern "C" {
#include "catalog/indexing.h"
}

namespace shardid {

namespace {

// The generators of which something is noted, and the transaction in which.
Generator *noted = nullptr;
LocalTransactionId noted_in = InvalidLocalTransactionId;

bool is_noted(const Generator &generator) {
    return generator.replaced.noted_in == current_local_xid();
}

// Whether this row version of a catalogue is from before this transaction, which has updated it.
bool was_replaced_here(HeapTupleHeader version) {
    return !TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetXmin(version)) &&
           (version->t_infomask & HEAP_XMAX_INVALID) == 0 &&
           !HEAP_XMAX_IS_LOCKED_ONLY(version->t_infomask) &&
           TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetUpdateXid(version));
}

template <typename Form>
Form *row_of(HeapTuple version) {
    return reinterpret_cast<Form *>(GETSTRUCT(version));
}

// Calls visit(row) for the sequence's row as it will be again if this transaction is rolled back;
// not if the transaction has not updated it.
template <typename Form, typename Visit>
void with_replaced_row(Oid catalogue, Oid index, AttrNumber key_column, Oid relid, Visit visit) {
    ScanKeyData key;
    ScanKeyInit(&key, key_column, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(relid));
    Relation relation = table_open(catalogue, AccessShareLock);
    SysScanDesc scan = systable_beginscan(relation, index, true, SnapshotAny, 1, &key);
    for (HeapTuple version = systable_getnext(scan); HeapTupleIsValid(version);
         version = systable_getnext(scan))
        if (was_replaced_here(version->t_data)) {
            visit(*row_of<Form>(version));
            break;
        }
    systable_endscan(scan);
    table_close(relation, AccessShareLock);
}

// The MAXVALUE from before this transaction. A tick above it would leave what was a plain sequence
// at its end.
uint64 original_max_value(const Generator &generator) {
    int64 max_value = generator.max_value;
    with_replaced_row<FormData_pg_sequence>(
        SequenceRelationId, SequenceRelidIndexId, Anum_pg_sequence_seqrelid, generator.relid,
        [&](const FormData_pg_sequence &row) { max_value = row.seqmax; });
    return max_value < 0 ? 0 : static_cast<uint64>(max_value);
}

ReplacedStorage *original_storage(const Generator &generator) {
    ReplacedStorage *original = nullptr;
    with_replaced_row<FormData_pg_class>(
        RelationRelationId, ClassOidIndexId, Anum_pg_class_oid, generator.relid,
        [&](const FormData_pg_class &row) {
            original = static_cast<ReplacedStorage *>(
                MemoryContextAllocZero(TopTransactionContext, sizeof(ReplacedStorage)));
            original->locator = generator.locator;
            set_storage_number(original->locator, row.relfilenode);
            original->is_permanent = row.relpersistence == RELPERSISTENCE_PERMANENT;
            original->needs_wal = original->is_permanent;
            original->max_value = original_max_value(generator);
        });
    return original;
}

// The RowExclusiveLock held since the first draw keeps others from ALTER SEQUENCE, so the original
// stays what it is to the end of the transaction.
void note(Generator &generator) {
    ReplacedStorages replaced{};
    replaced.original = original_storage(generator);
    replaced.noted_in = current_local_xid();
    replaced.next_noted = noted_in == replaced.noted_in ? noted : nullptr;
    generator.replaced = replaced;
    noted = &generator;
    noted_in = replaced.noted_in;
}

void keep(DrawnInScale **list, const Drawn &drawn, MemoryContext context) {
    if (merge_into(list, drawn))
        return;
    auto *entry = static_cast<DrawnInScale *>(MemoryContextAlloc(context, sizeof(DrawnInScale)));
    *entry = {drawn, *list};
    *list = entry;
}

// If the transaction draws from another relfilenode than before, a ROLLBACK TO SAVEPOINT may have
// made the original the one in use for a while, and ids may have been drawn from its page: what was
// logged for it no longer counts.
void note_draw(Generator &generator, const Drawn &drawn) {
    ReplacedStorages &replaced = generator.replaced;
    keep(&replaced.drawn, drawn, TopTransactionContext);
    const StorageNumber number = storage_number_of(generator.locator);
    if (replaced.drawn_from != number && replaced.original != nullptr)
        replaced.original->logged_to = 0;
    replaced.drawn_from = number;
    replaced.drawn_in = GetCurrentSubTransactionId();
    replaced.is_lost = false;
}

template <typename Visit>
void for_each_noted(Visit visit) {
    if (noted_in != current_local_xid())
        return;
    for (Generator *generator = noted; generator != nullptr;
         generator = generator->replaced.next_noted)
        visit(*generator);
}

void follow_subtransaction(SubXactEvent event, SubTransactionId own, SubTransactionId parent,
                           void * /*argument*/) {
    for_each_noted([&](Generator &generator) {
        ReplacedStorages &replaced = generator.replaced;
        if (replaced.drawn_in != own)
            return;
        if (event == SUBXACT_EVENT_COMMIT_SUB)
            replaced.drawn_in = parent;
        if (event == SUBXACT_EVENT_ABORT_SUB)
            replaced.is_lost = true;
    });
}

// After the commit other sessions draw from the relfilenode in use.
void raise_all_before_commit(XactEvent event, void * /*argument*/) {
    if (event != XACT_EVENT_PRE_COMMIT && event != XACT_EVENT_PRE_PREPARE)
        return;
    for_each_noted([](Generator &generator) {
        if (!generator.replaced.is_lost)
            return;
        Relation relation = try_relation_open(generator.relid, NoLock);
        if (relation == nullptr)
            return;
        raise_storage_in_use(generator, relation);
        relation_close(relation, NoLock);
    });
}

}  // namespace

void start_following_rollbacks() {
    RegisterSubXactCallback(follow_subtransaction, nullptr);
    RegisterXactCallback(raise_all_before_commit, nullptr);
}

XLogRecPtr remember_in_replaced_storage(Generator &generator, uint64 tick, uint64 log_to) {
    Assert(generator.has_replaced_storage && no_page_is_locked());
    const Drawn drawn{generator.known.binding, tick, log_to};
    // Nobody else draws from a temporary sequence: this session's memory is enough.
    if (generator.is_temporary) {
        keep(&generator.temporary, drawn, TopMemoryContext);
        return InvalidXLogRecPtr;
    }
    if (!is_noted(generator))
        note(generator);
    note_draw(generator, drawn);
    ReplacedStorage *original = generator.replaced.original;
    return original != nullptr ? remember_tick(*original, {drawn, nullptr}) : InvalidXLogRecPtr;
}

// Nothing is flushed here. A crash before the commit brings the original back, which was raised,
// and flushed, at each draw; the WAL of this relfilenode counts from the commit on, which flushes
// it.
void raise_storage_in_use(Generator &generator, Relation relation) {
    ReplacedStorages &replaced = generator.replaced;
    if (!is_noted(generator) || !replaced.is_lost)
        return;
    Assert(is_locked_by_me(relation, RowExclusiveLock));

    const Locator locator = locator_of(relation);
    if (has_new_storage(relation) && storage_number_of(locator) != replaced.drawn_from) {
        const int64 max_value = definition_of(generator.relid).seqmax;
        ReplacedStorage storage{};
        storage.locator = locator;
        storage.is_permanent = RelationIsPermanent(relation);
        storage.needs_wal = RelationNeedsWAL(relation);
        storage.max_value = max_value < 0 ? 0 : static_cast<uint64>(max_value);
        remember_tick(storage, *replaced.drawn);
    }
    replaced.drawn_from = storage_number_of(locator);
    replaced.drawn_in = GetCurrentSubTransactionId();
    replaced.is_lost = false;
}

}  // namespace shardid
