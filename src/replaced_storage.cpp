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

// Remembers in the storages of the versions that this transaction made, or of those that it did
// not.
void remember_in_versions(const Generator &generator, bool made_here, uint64 tick, uint64 ahead) {
    for_each_replaced_version(
        RelationRelationId, ClassOidIndexId, Anum_pg_class_oid, generator.relid,
        [&](HeapTuple version) {
            const auto *row = row_of<FormData_pg_class>(version);
            if (was_made_here(version->t_data) != made_here ||
                row->relfilenode == storage_number_of(generator.locator))
                return;
            const uint64 limit = max_value_in(generator, lifetime_of(version->t_data));
            if (tick > limit)
                return;
            Locator locator = generator.locator;
            set_storage_number(locator, row->relfilenode);
            const bool is_permanent = row->relpersistence == RELPERSISTENCE_PERMANENT;
            const bool needs_wal = is_permanent && (!made_here || XLogIsNeeded());
            remember_tick(locator, is_permanent, needs_wal, Min(ahead, limit));
        });
}

}  // namespace

void remember_in_replaced_storage(Generator &generator, Layout layout, uint64 tick) {
    if (tick <= generator.remembered)
        return;
    // Nobody else draws from a temporary sequence: it is enough to remember it here.
    if (generator.is_temporary) {
        generator.remembered = tick;
        return;
    }
    const uint64 ahead = logged_ahead_of(layout, tick);
    // Storage made in this transaction goes without WAL under wal_level = minimal. One storage can
    // stand in several versions, and needs WAL if it stands in one that is older than the
    // transaction; so those come first, and leave nothing to do for the others.
    remember_in_versions(generator, false, tick, ahead);
    remember_in_versions(generator, true, tick, ahead);
    generator.remembered = ahead;
}

}  // namespace shardid
