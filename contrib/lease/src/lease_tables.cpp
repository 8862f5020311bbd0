#include "lease_tables.h"

#include "engine/sequence.h"
#include "engine/sequence_page.h"
#include "late_names.h"

extern "C" {
#include "executor/spi.h"
#include "utils/pg_lsn.h"
}

namespace shardid {

namespace {

constexpr const char *lease_extension = "shardid_lease";

constexpr const char *state_names[] = {"joining", "leased", "sealed", "released"};

Oid leased_table = InvalidOid;
Oid window_table = InvalidOid;

// A generator whose row has an unknown state, written by other means, generates nothing.
Membership state_named(const char *name) {
    int state = static_cast<int>(Membership::released);
    while (state >= 0 && strcmp(name, state_names[state]) != 0)
        --state;
    return state < 0 ? Membership::sealed : static_cast<Membership>(state);
}

// A row, and its values by the names of their columns.
struct Row {
    HeapTuple tuple;
    TupleDesc columns;

    Datum value(const char *column, bool *is_null) const {
        return heap_getattr(tuple, SPI_fnumber(columns, column), columns, is_null);
    }
    bool has(const char *column) const {
        bool is_null;
        value(column, &is_null);
        return !is_null;
    }
    Datum value(const char *column) const {
        bool is_null;
        const Datum found = value(column, &is_null);
        return is_null ? Datum{0} : found;
    }
    const char *string(const char *column) const {
        return has(column) ? TextDatumGetCString(value(column)) : nullptr;
    }
    const pg_uuid_t &uuid(const char *column) const { return *DatumGetUUIDP(value(column)); }
    uint64 time_ms(const char *column) const {
        return static_cast<uint64>(Max(DatumGetInt64(value(column)), 0));
    }
};

Oid primary_key_of(Relation table) {
    list_free(RelationGetIndexList(table));
    return table->rd_pkindex;
}

// Calls visit(row) for the row of this origin, or for all if that is null. Returns whether there
// was one. The table may be gone since it was looked up, with the extension.
template <typename Visit>
bool scan(const Oid &table_oid, const pg_uuid_t *origin, Visit visit) {
    Relation table = has_lease_tables() ? try_table_open(table_oid, AccessShareLock) : nullptr;
    if (table == nullptr)
        return false;
    ScanKeyData key;
    if (origin != nullptr)
        ScanKeyInit(&key, 1, BTEqualStrategyNumber, F_UUID_EQ, UUIDPGetDatum(origin));
    const bool by_key = origin != nullptr;
    SysScanDesc rows = systable_beginscan(table, by_key ? primary_key_of(table) : InvalidOid,
                                          by_key, nullptr, by_key ? 1 : 0, by_key ? &key : nullptr);
    Row row{nullptr, RelationGetDescr(table)};
    bool is_found = false;
    while (HeapTupleIsValid(row.tuple = systable_getnext(rows))) {
        is_found = true;
        visit(row);
    }
    systable_endscan(rows);
    table_close(table, AccessShareLock);
    return is_found;
}

LeasedRow leased_row_of(const Row &row) {
    LeasedRow result{};
    const Datum generator = row.value("generator");
    result.origin = row.uuid("origin");
    result.lease = row.uuid("lease");
    result.generator = sequence_of_ref(generator);
    result.is_by_name = is_by_name(generator);
    result.name = name_of_sequence_ref(generator);
    result.server = row.string("server");
    result.shard = row.has("shard") ? DatumGetInt32(row.value("shard")) : any_shard;
    result.registry = row.string("registry");
    result.state = state_named(row.string("state"));
    result.has_layout = row.has("epoch") && row.has("shard_bits") && row.has("sequence_bits");
    if (result.has_layout)
        result.layout = {
            {DatumGetInt32(row.value("shard_bits")), DatumGetInt32(row.value("sequence_bits"))},
            DatumGetTimestampTz(row.value("epoch"))};
    return result;
}

// leased_generator has this row and another one for the generator.
[[noreturn]] void refuse_two(const LeasedRow &row) {
    ereport(ERROR,
            (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
             errmsg("generator \"%s\" has two leases", row.name),
             errdetail("Table shardid_lease.leased_generator has two rows for it, perhaps one from "
                       "a dump that was restored."),
             errhint("As a superuser, delete the row that does not belong to it.")));
}

// Whether this may be a leased sequence of a dump, renamed since its restore. Such storage has
// generated no id since it was made here, as its lease comes first; but raise_generator may have
// bound it. True also if the sequence is being altered or is gone.
bool may_be_restored(Oid generator_oid) {
    if (!ConditionalLockRelationOid(generator_oid, page_lock))
        return true;
    Relation relation = try_relation_open(generator_oid, NoLock);
    const bool is_other = relation != nullptr &&
                          (!RelationIsPermanent(relation) || read_position(relation, 1).is_ours);
    if (relation != nullptr)
        relation_close(relation, NoLock);
    UnlockRelationOid(generator_oid, page_lock);
    return !is_other;
}

// It has none, but one from a dump whose sequence does not exist: it may be this one, renamed.
[[noreturn]] void refuse_lost(Oid generator_oid, const LeasedRow &lost) {
    ereport(ERROR,
            (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
             errmsg("generator \"%s\" may be leased under another name", shown_name(generator_oid)),
             errdetail("A dump that was restored here has a lease of sequence %s, which does not "
                       "exist.",
                       lost.name),
             errhint("Rename that sequence back and generate an id with it; or, if it was dropped, "
                     "delete its row from shardid_lease.leased_generator as a superuser.")));
}

}  // namespace

bool has_lease_tables() {
    if (OidIsValid(window_table))
        return true;
    follow_relation_changes();
    leased_table = find_member(lease_extension, "leased_generator");
    window_table =
        OidIsValid(leased_table) ? find_member(lease_extension, "lease_window") : InvalidOid;
    return OidIsValid(window_table);
}

void require_lease_tables() {
    if (!has_lease_tables())
        ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
                        errmsg("extension \"%s\" does not exist in this database", lease_extension),
                        errhint("Run CREATE EXTENSION shardid_lease CASCADE.")));
}

bool forget_lease_table(Oid relid) {
    const bool is_one = relid == InvalidOid || relid == leased_table || relid == window_table;
    if (is_one)
        window_table = InvalidOid;
    return is_one;
}

bool read_leased_row(Oid generator_oid, LeasedRow *result, bool is_reader) {
    int count = 0;
    LeasedRow lost{};
    scan(leased_table, nullptr, [&](const Row &found) {
        const LeasedRow row = leased_row_of(found);
        if (row.is_by_name && !OidIsValid(row.generator) && row.state == Membership::leased)
            lost = row;
        if (row.generator == generator_oid && ++count == 1)
            *result = row;
    });
    const bool is_lost = count == 0 && lost.name != nullptr && may_be_restored(generator_oid);
    if (count > 1 && !is_reader)
        refuse_two(*result);
    if (is_lost && !is_reader)
        refuse_lost(generator_oid, lost);
    if (is_lost)
        *result = lost;
    if (count > 1 || is_lost)
        result->state = Membership::sealed;
    return count > 0 || is_lost;
}

bool read_leased_row(const pg_uuid_t &origin, LeasedRow *result) {
    return scan(leased_table, &origin, [&](const Row &found) { *result = leased_row_of(found); });
}

bool read_window_row(const pg_uuid_t &origin, WindowRow *result) {
    return scan(window_table, &origin, [&](const Row &row) {
        *result = {};
        result->lease = row.uuid("lease");
        strlcpy(result->family.text, row.string("family"), sizeof(result->family.text));
        result->moved_at = DatumGetLSN(row.value("moved_at"));
        result->window = {row.time_ms("from_ms"), row.time_ms("until_ms")};
        result->length_ms = DatumGetInt64(row.value("lease_ms"));
        result->renewed_at = DatumGetTimestampTz(row.value("renewed_at"));
        result->failed_at = DatumGetTimestampTz(row.value("failed_at"));
        result->silent_since = DatumGetTimestampTz(row.value("silent_since"));
        result->is_refused = DatumGetBool(row.value("is_refused"));
        result->error = row.string("error");
    });
}

}  // namespace shardid
