#include "advance.hpp"
#include "binding.hpp"
#include "page_notes.hpp"

#include "replaced_storage.h"

#include "sequence_page.h"

extern "C" {
#include "catalog/indexing.h"
}

namespace shardid {

namespace {

// When a version of a catalogue row was valid, in commands of this transaction.
struct Lifetime {
    int64 from;
    int64 until;
};

constexpr int64 before_transaction = -2;
constexpr int64 for_ever = PG_INT64_MAX;

// Whether a rollback of this transaction, or of a part of it, makes this version the valid one
// again.
bool was_replaced_here(HeapTupleHeader version) {
    return (version->t_infomask & HEAP_XMAX_INVALID) == 0 &&
           !HEAP_XMAX_IS_LOCKED_ONLY(version->t_infomask) &&
           TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetUpdateXid(version));
}

bool was_made_here(HeapTupleHeader version) {
    return TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetXmin(version));
}

// A version that was made and replaced in one and the same part of the transaction goes with it.
// REQUIRED: was_replaced_here(version).
bool can_come_back(HeapTupleHeader version) {
    return HeapTupleHeaderGetXmin(version) != HeapTupleHeaderGetUpdateXid(version);
}

// REQUIRED: was_replaced_here(version).
Lifetime lifetime_of(HeapTupleHeader version) {
    return {was_made_here(version) ? int64{HeapTupleHeaderGetCmin(version)} : before_transaction,
            int64{HeapTupleHeaderGetCmax(version)}};
}

// Whether a rollback can bring both back. A statement that changes both rows changes that of the
// definition one command after that of the storage (RelationSetNewRelfilenode counts one on).
bool belong_together(Lifetime definition, Lifetime storage) {
    return definition.from < storage.until && definition.until > storage.from + 1;
}

template <typename Form>
Form *row_of(HeapTuple version) {
    return reinterpret_cast<Form *>(GETSTRUCT(version));
}

// Calls visit(version) for each row of the catalogue that belongs to the sequence and was replaced
// in this transaction.
template <typename Visit>
void for_each_replaced_version(Oid catalogue, Oid index, AttrNumber key_column, Oid relid,
                               Visit visit) {
    ScanKeyData key;
    ScanKeyInit(&key, key_column, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(relid));
    Relation relation = table_open(catalogue, AccessShareLock);
    SysScanDesc scan = systable_beginscan(relation, index, true, SnapshotAny, 1, &key);
    for (HeapTuple version = systable_getnext(scan); HeapTupleIsValid(version);
         version = systable_getnext(scan))
        if (was_replaced_here(version->t_data))
            visit(version);
    systable_endscan(scan);
    table_close(relation, AccessShareLock);
}

// The largest value that a sequence may hold in this storage, by each of its definitions that can
// come back with it. A larger one would leave a plain sequence, which was about to become a
// generator, at its end.
uint64 max_value_in(const Generator &generator, Lifetime storage) {
    int64 smallest = PG_INT64_MAX;
    Lifetime current{before_transaction, for_ever};
    for_each_replaced_version(SequenceRelationId, SequenceRelidIndexId, Anum_pg_sequence_seqrelid,
                              generator.relid, [&](HeapTuple version) {
                                  const Lifetime definition = lifetime_of(version->t_data);
                                  current.from = Max(current.from, definition.until);
                                  if (belong_together(definition, storage))
                                      smallest = Min(smallest,
                                                     row_of<FormData_pg_sequence>(version)->seqmax);
                              });
    if (belong_together(current, storage))
        smallest = Min(smallest, generator.max_value);
    return smallest < 0 ? 0 : static_cast<uint64>(smallest);
}

// What a rollback can bring back of one generator, as found when its check was made. Every change
// of the catalogue in this transaction, and every rollback of a part of it, makes a new check.
struct ReplacedStorages {
    Oid relid;
    LocalTransactionId found_in;
    uint64 checked_at;
    int count;
    int room;
    ReplacedStorage *storage;
};

ReplacedStorages replaced;

bool is_found(const Generator &generator) {
    return replaced.relid == generator.relid && replaced.checked_at == generator.checked_at &&
           replaced.found_in == current_local_xid();
}

void make_room() {
    const int room = Max(4, 2 * replaced.room);
    const Size size = sizeof(ReplacedStorage) * static_cast<Size>(room);
    replaced.storage = static_cast<ReplacedStorage *>(
        replaced.storage == nullptr ? MemoryContextAlloc(TopMemoryContext, size)
                                    : repalloc(replaced.storage, size));
    replaced.room = room;
}

ReplacedStorage &find_or_add(const Generator &generator, StorageNumber number) {
    for (int i = 0; i < replaced.count; ++i)
        if (storage_number_of(replaced.storage[i].locator) == number)
            return replaced.storage[i];
    if (replaced.count == replaced.room)
        make_room();
    ReplacedStorage &added = replaced.storage[replaced.count++];
    added = ReplacedStorage{};
    added.locator = generator.locator;
    set_storage_number(added.locator, number);
    return added;
}

// One storage can stand in several versions. Storage made in this transaction goes without WAL
// under wal_level = minimal, but not if it also stands in a version that is older.
void add_version(const Generator &generator, HeapTuple version) {
    const auto *row = row_of<FormData_pg_class>(version);
    if (row->relfilenode == storage_number_of(generator.locator) || !can_come_back(version->t_data))
        return;
    ReplacedStorage &storage = find_or_add(generator, row->relfilenode);
    storage.is_permanent = row->relpersistence == RELPERSISTENCE_PERMANENT;
    storage.needs_wal = storage.needs_wal || (storage.is_permanent &&
                                              (!was_made_here(version->t_data) || XLogIsNeeded()));
    storage.max_value =
        Max(storage.max_value, max_value_in(generator, lifetime_of(version->t_data)));
}

void find_replaced_storages(const Generator &generator) {
    replaced.relid = InvalidOid;
    replaced.count = 0;
    for_each_replaced_version(RelationRelationId, ClassOidIndexId, Anum_pg_class_oid,
                              generator.relid,
                              [&](HeapTuple version) { add_version(generator, version); });
    replaced.relid = generator.relid;
    replaced.found_in = current_local_xid();
    replaced.checked_at = generator.checked_at;
}

}  // namespace

XLogRecPtr remember_in_replaced_storage(Generator &generator, uint64 tick, uint64 log_to) {
    // Nobody else draws from a temporary sequence: it is enough to remember it here.
    if (generator.is_temporary) {
        generator.remembered = Max(generator.remembered, tick);
        return InvalidXLogRecPtr;
    }
    if (unlikely(!is_found(generator)))
        find_replaced_storages(generator);
    XLogRecPtr covered_by = InvalidXLogRecPtr;
    for (int i = 0; i < replaced.count; ++i)
        if (tick <= replaced.storage[i].max_value)
            covered_by = Max(covered_by, remember_tick(replaced.storage[i], tick, log_to,
                                                       generator.known.binding));
    return covered_by;
}

}  // namespace shardid
