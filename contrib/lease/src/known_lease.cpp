#include "known_lease.h"

#include "engine/sequence.h"

extern "C" {
#include "catalog/pg_extension_d.h"
#include "commands/extension.h"
#include "executor/executor.h"
#include "nodes/makefuncs.h"
#include "nodes/parsenodes.h"
#include "parser/parse_func.h"
#include "storage/lmgr.h"
#include "tcop/pquery.h"
#include "utils/pg_lsn.h"
#include "utils/portal.h"
}

namespace shardid {

namespace {

constexpr const char *lease_extension = "shardid_lease";

Oid extension = InvalidOid;
Oid leased_table = InvalidOid;
Oid window_table = InvalidOid;

// How often one of them has changed, as far as this session knows.
uint64 changes = 0;

// Whether they exist. Looked up once, until a relation changes.
bool has_lease_tables() {
    if (OidIsValid(window_table))
        return true;
    follow_relation_changes();
    extension = get_extension_oid(lease_extension, true);
    leased_table = find_extension_relation(lease_extension, "leased_generator");
    window_table = find_extension_relation(lease_extension, "lease_window");
    return OidIsValid(window_table);
}

NullableDatum call(const char *name, std::initializer_list<NullableDatum> values, Node *context) {
    FmgrInfo found;
    fmgr_info(function_named(name), &found);
    LOCAL_FCINFO(call, FUNC_MAX_ARGS);
    InitFunctionCallInfoData(*call, &found, static_cast<short>(values.size()), InvalidOid, context,
                             nullptr);
    NullableDatum *argument = call->args;
    for (const NullableDatum &value : values)
        *argument++ = value;
    const Datum result = FunctionCallInvoke(call);
    return {result, call->isnull};
}

pg_uuid_t uuid_or_zero(const NullableDatum &value) {
    return value.isnull ? pg_uuid_t{} : *DatumGetUUIDP(value.value);
}

KnownLease known_lease(const Row &both) {
    const NullableDatum its = both["its"];
    if (its.isnull || Row{its.value}["origin"].isnull)
        return {};
    const Row row{its.value};
    return {true,
            uuid_or_zero(row["origin"]),
            uuid_or_zero(row["lease"]),
            row.string("server"),
            row.string("state"),
            row["registry"].isnull,
            row.integer("shard", -1),
            {{row.integer("shard_bits", 0), row.integer("sequence_bits", 0)}, row.number("epoch")},
            known_window(both["last"])};
}

}  // namespace

Oid function_named(const char *name) {
    ObjectWithArgs *wanted = makeNode(ObjectWithArgs);
    wanted->objname = list_make2(makeString(pstrdup(lease_extension)), makeString(pstrdup(name)));
    wanted->args_unspecified = true;
    return LookupFuncWithArgs(OBJECT_ROUTINE, wanted, false);
}

NullableDatum call_script(const char *name, std::initializer_list<NullableDatum> values) {
    // As GetLatestSnapshot(), which a parallel query cannot take.
    PushActiveSnapshot(GetCatalogSnapshot(InvalidOid));
    const NullableDatum result = call(name, values, nullptr);
    PopActiveSnapshot();
    return result;
}

// As CALL does: after a commit, the portal has a snapshot anew; PortalRunUtility ends it, too.
Datum call_procedure(const char *name, std::initializer_list<NullableDatum> values) {
    ActivePortal = CreateNewPortal();
    ActivePortal->status = PORTAL_ACTIVE;
    PortalContext = ActivePortal->portalContext;
    CallContext *context = makeNode(CallContext);
    context->atomic = false;
    const Datum result = call(name, values, reinterpret_cast<Node *>(context)).value;
    if (ActivePortal->portalSnapshot != nullptr)
        PopActiveSnapshot();
    ActivePortal->portalSnapshot = nullptr;
    return result;
}

NullableDatum text_or_null(const char *text) {
    return text == nullptr ? no_value : NullableDatum{CStringGetTextDatum(text), false};
}

NullableDatum Row::operator[](const char *column) const {
    bool is_null;
    const Datum value = GetAttributeByName(row, column, &is_null);
    return {value, is_null};
}

char *Row::string(const char *column) const {
    const NullableDatum value = (*this)[column];
    return value.isnull ? nullptr : TextDatumGetCString(value.value);
}

int32 Row::integer(const char *column, int32 null) const {
    const NullableDatum value = (*this)[column];
    return value.isnull ? null : DatumGetInt32(value.value);
}

int64 Row::number(const char *column) const {
    const NullableDatum value = (*this)[column];
    return value.isnull ? 0 : DatumGetInt64(value.value);
}

bool operator==(const pg_uuid_t &a, const pg_uuid_t &b) {
    return memcmp(&a, &b, sizeof(a)) == 0;
}

bool has_state(const KnownLease &known, const char *state) {
    return strcmp(known.state, state) == 0;
}

KnownWindow known_window(const NullableDatum &datum) {
    if (datum.isnull)
        return {};
    const Row row{datum.value};
    return {
        !row["lease"].isnull,
        uuid_or_zero(row["lease"]),
        row.string("family"),
        static_cast<XLogRecPtr>(row.number("moved_at")),
        {static_cast<uint64>(row.number("from_ms")), static_cast<uint64>(row.number("until_ms"))},
        static_cast<uint64>(row.number("lease_ms")),
        row.number("renewed_at"),
        row.number("failed_at"),
        row.number("silent_since"),
        row.integer("is_refused", 0) != 0,
        row.string("error")};
}

bool is_leased_table(Oid relid) {
    return has_lease_tables() && relid == leased_table;
}

bool forget_lease_table(Oid relid) {
    const bool is_one = relid == InvalidOid || relid == leased_table || relid == window_table;
    if (is_one)
        window_table = InvalidOid;
    // Where the caches are discarded all the time, that is no change.
    if (is_one && (OidIsValid(relid) || debug_discard_caches == 0))
        ++changes;
    return is_one;
}

// The script opens tables after its snapshot was taken, and is told then of changes that this does
// not see. DROP EXTENSION waits for this, or this for it; but not for the transaction: no lock is
// kept.
KnownLease read_lease(Oid generator, const pg_uuid_t *origin, bool is_reader) {
    const NullableDatum of_origin =
        origin == nullptr ? no_value : NullableDatum{UUIDPGetDatum(origin), false};
    ResourceOwner before = CurrentResourceOwner;
    for (;;) {
        if (!has_lease_tables())
            return {};
        ResourceOwner own = ResourceOwnerCreate(before, "shardid lease");
        CurrentResourceOwner = own;
        LockDatabaseObject(ExtensionRelationId, extension, 0, AccessShareLock);
        const bool is_there = has_lease_tables();
        const uint64 known_changes = changes;
        KnownLease known{};
        if (is_there)
            known =
                known_lease(Row{call_script("known_lease", {{ObjectIdGetDatum(generator), false},
                                                            of_origin,
                                                            {BoolGetDatum(is_reader), false}})
                                    .value});
        CurrentResourceOwner = before;
        for (const auto phase :
             {RESOURCE_RELEASE_BEFORE_LOCKS, RESOURCE_RELEASE_LOCKS, RESOURCE_RELEASE_AFTER_LOCKS})
            ResourceOwnerRelease(own, phase, false, false);
        ResourceOwnerDelete(own);
        if (changes == known_changes)
            return known;
    }
}

}  // namespace shardid
