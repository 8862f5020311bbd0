#include "replaced_storage.h"

#include "sequence_page.h"

extern "C" {
#include "catalog/indexing.h"
}

namespace shardid {

namespace {

// Whether a rollback of this transaction, or of a part of it, makes this version of a catalogue row
// the valid one again.
bool was_replaced_here(HeapTuple version) {
    HeapTupleHeader header = version->t_data;
    return (header->t_infomask & HEAP_XMAX_INVALID) == 0 &&
           !HEAP_XMAX_IS_LOCKED_ONLY(header->t_infomask) &&
           TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetUpdateXid(header));
}

template <typename Form>
Form *row_of(HeapTuple version) {
    return static_cast<Form *>(static_cast<void *>(GETSTRUCT(version)));
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
        if (was_replaced_here(version))
            visit(version);
    systable_endscan(scan);
    table_close(relation, AccessShareLock);
}

// The largest value that the sequence may hold under each of its definitions that can come back. A
// larger one would leave a plain sequence, about to become a generator, at its end.
uint64 smallest_max_value(const Generator &generator) {
    int64 smallest = generator.max_value;
    for_each_replaced_version(SequenceRelationId, SequenceRelidIndexId, Anum_pg_sequence_seqrelid,
                              generator.relid, [&](HeapTuple version) {
                                  const int64 max = row_of<FormData_pg_sequence>(version)->seqmax;
                                  smallest = max < smallest ? max : smallest;
                              });
    return smallest < 0 ? 0 : static_cast<uint64>(smallest);
}

// `made_here` picks the versions of the sequence's row in pg_class that this transaction made.
void remember_in_versions(const Generator &generator, bool made_here, uint64 tick) {
    for_each_replaced_version(
        RelationRelationId, ClassOidIndexId, Anum_pg_class_oid, generator.relid,
        [&](HeapTuple version) {
            const StorageNumber number = row_of<FormData_pg_class>(version)->relfilenode;
            const bool is_made_here =
                TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetXmin(version->t_data));
            if (is_made_here != made_here || number == storage_number_of(generator.locator))
                return;
            Locator locator = generator.locator;
            set_storage_number(locator, number);
            remember_tick(locator, !made_here || XLogIsNeeded(), tick);
        });
}

}  // namespace

void remember_in_replaced_storage(Generator &generator, Layout layout, uint64 tick) {
    if (generator.is_temporary || tick <= generator.replaced_covers_to)
        return;
    const uint64 limit = smallest_max_value(generator);
    if (tick > limit)
        return;
    const uint64 ahead = logged_ahead_of(layout, tick);
    const uint64 remembered = ahead < limit ? ahead : limit;
    // Storage made in this transaction goes without WAL under wal_level = minimal. One storage can
    // stand in several versions, and needs WAL if it stands in one that is older than the
    // transaction; so those come first, and leave nothing to do for the others.
    remember_in_versions(generator, false, remembered);
    remember_in_versions(generator, true, remembered);
    generator.replaced_covers_to = remembered;
}

}  // namespace shardid
