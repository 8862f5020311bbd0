#include "core/window.hpp"

#include "engine/lease_row.h"

extern "C" {
#include "catalog/indexing.h"
#include "utils/pg_lsn.h"
}

namespace shardid {

namespace {

// As the script makes them. The first is the generator.
enum LeasedColumn {
    space = 1,
    shard,
    server,
    role,
    origin,
    state,
    epoch,
    shard_bits,
    sequence_bits,
    lease_from_ms,
    leased_columns
};

enum WindowColumn {
    family = 1,
    moved_at,
    from_ms,
    until_ms,
    lease_ms,
    renewed_at,
    failed_at,
    logged_at,
    error,
    window_columns
};

Oid primary_key_of(Relation table) {
    list_free(RelationGetIndexList(table));
    return table->rd_pkindex;
}

void init_key(ScanKeyData *key, Oid generator) {
    constexpr int column = 1;
    ScanKeyInit(key, column, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(generator));
}

// The table may be gone since it was looked up, with the extension. The values stay valid in the
// caller's memory context.
bool read_row(Oid table_oid, Oid generator, Datum *values, bool *nulls,
              bool *is_uncommitted = nullptr) {
    Relation table = try_table_open(table_oid, AccessShareLock);
    if (table == nullptr)
        return false;
    ScanKeyData key;
    init_key(&key, generator);
    Snapshot now = RegisterSnapshot(GetLatestSnapshot());
    SysScanDesc scan = systable_beginscan(table, primary_key_of(table), true, now, 1, &key);
    HeapTuple row = systable_getnext(scan);
    const bool found = HeapTupleIsValid(row);
    if (found && is_uncommitted != nullptr)
        *is_uncommitted = TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetXmin(row->t_data));
    if (found)
        heap_deform_tuple(heap_copytuple(row), RelationGetDescr(table), values, nulls);
    systable_endscan(scan);
    UnregisterSnapshot(now);
    table_close(table, AccessShareLock);
    return found;
}

char *text_or_null(Datum value, bool is_null) {
    return is_null ? nullptr : TextDatumGetCString(value);
}

uint64 time_of(Datum value) {
    return static_cast<uint64>(Max(DatumGetInt64(value), 0));
}

}  // namespace

bool read_leased_row(Oid table, Oid generator, LeasedRow *row) {
    Datum values[leased_columns];
    bool nulls[leased_columns];
    bool is_uncommitted;
    if (!read_row(table, generator, values, nulls, &is_uncommitted))
        return false;
    *row = {TextDatumGetCString(values[space]),
            DatumGetInt32(values[shard]),
            text_or_null(values[server], nulls[server]),
            DatumGetObjectId(values[role]),
            TextDatumGetCString(values[origin]),
            TextDatumGetCString(values[state]),
            {{DatumGetInt32(values[shard_bits]), DatumGetInt32(values[sequence_bits])},
             DatumGetTimestampTz(values[epoch])},
            DatumGetInt64(values[lease_from_ms]),
            is_uncommitted};
    return true;
}

void put_leased_row(Relation table, Oid generator, const LeasedRow &row) {
    Datum values[leased_columns] = {
        ObjectIdGetDatum(generator),
        CStringGetTextDatum(row.space),
        Int32GetDatum(row.shard),
        row.server == nullptr ? Datum{0} : CStringGetTextDatum(row.server),
        ObjectIdGetDatum(row.role),
        CStringGetTextDatum(row.origin),
        CStringGetTextDatum(row.state),
        TimestampTzGetDatum(row.layout.epoch_us),
        Int32GetDatum(row.layout.widths.shard_bits),
        Int32GetDatum(row.layout.widths.sequence_bits),
        Int64GetDatum(row.from_ms)};
    bool nulls[leased_columns] = {};
    nulls[server] = row.server == nullptr;
    HeapTuple tuple = heap_form_tuple(RelationGetDescr(table), values, nulls);

    ScanKeyData key;
    init_key(&key, generator);
    Snapshot now = RegisterSnapshot(GetLatestSnapshot());
    SysScanDesc scan = systable_beginscan(table, primary_key_of(table), true, now, 1, &key);
    HeapTuple old = systable_getnext(scan);
    if (HeapTupleIsValid(old))
        CatalogTupleUpdate(table, &old->t_self, tuple);
    else
        CatalogTupleInsert(table, tuple);
    systable_endscan(scan);
    UnregisterSnapshot(now);
}

bool read_window_row(Oid table, Oid generator, WindowRow *row) {
    Datum values[window_columns];
    bool nulls[window_columns];
    if (!read_row(table, generator, values, nulls))
        return false;
    *row = {TextDatumGetCString(values[family]),
            DatumGetLSN(values[moved_at]),
            {time_of(values[from_ms]), time_of(values[until_ms])},
            time_of(values[lease_ms]),
            nulls[failed_at] ? 0 : DatumGetTimestampTz(values[failed_at]),
            text_or_null(values[error], nulls[error])};
    return true;
}

}  // namespace shardid
