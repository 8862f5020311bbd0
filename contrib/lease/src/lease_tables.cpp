#include "lease_tables.h"

#include "engine/arguments.h"
#include "engine/sequence.h"
#include "engine/sequence_page.h"
#include "steps.h"

extern "C" {
#include "catalog/pg_extension_d.h"
#include "catalog/pg_type_d.h"
#include "commands/extension.h"
#include "storage/lmgr.h"
#include "utils/inval.h"
#include "utils/resowner.h"
}

namespace shardid {

namespace {

constexpr const char *lease_extension = "shardid_lease";

Oid extension = InvalidOid;
Oid leased_table = InvalidOid;
Oid window_table = InvalidOid;

// How often one of them has changed, as far as this session knows.
uint64 changes = 0;

}  // namespace

bool has_lease_tables() {
    if (OidIsValid(window_table))
        return true;
    follow_relation_changes();
    extension = get_extension_oid(lease_extension, true);
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
    // Where the caches are discarded all the time, that is no change.
    if (is_one && (OidIsValid(relid) || debug_discard_caches == 0))
        ++changes;
    return is_one;
}

// The script opens tables after its snapshot was taken, and is told then of changes that this does
// not see. DROP EXTENSION waits for this, or this for it; but not for the transaction: no lock is
// kept.
Datum read_lease(Oid generator, const char *origin, bool is_reader) {
    const Oid types[] = {OIDOID, TEXTOID, BOOLOID};
    const NullableDatum by_generator{ObjectIdGetDatum(generator), false};
    const NullableDatum for_reader{BoolGetDatum(is_reader), false};
    ResourceOwner before = CurrentResourceOwner;
    for (;;) {
        if (!has_lease_tables())
            return Datum{0};
        ResourceOwner own = ResourceOwnerCreate(before, "shardid lease");
        CurrentResourceOwner = own;
        LockDatabaseObject(ExtensionRelationId, extension, 0, AccessShareLock);
        const bool is_there = has_lease_tables();
        const uint64 known_changes = changes;
        const Datum found = is_there ? call_script("known_lease", types,
                                                   {by_generator, text_or_null(origin), for_reader})
                                     : Datum{0};
        CurrentResourceOwner = before;
        for (const auto phase :
             {RESOURCE_RELEASE_BEFORE_LOCKS, RESOURCE_RELEASE_LOCKS, RESOURCE_RELEASE_AFTER_LOCKS})
            ResourceOwnerRelease(own, phase, false, false);
        ResourceOwnerDelete(own);
        if (changes == known_changes)
            return found;
    }
}

// Whether this may be a leased sequence of a dump, renamed since its restore. Such storage has
// generated no id since it was made here, as its lease comes first; but raise_generator may have
// bound it. True also if the sequence is being altered or is gone.
SQL_FUNCTION(shardid_may_be_restored) {
    const Oid generator = PG_GETARG_OID(0);
    if (!ConditionalLockRelationOid(generator, page_lock))
        PG_RETURN_BOOL(true);
    Relation relation = try_relation_open(generator, NoLock);
    const bool is_other = relation != nullptr &&
                          (!RelationIsPermanent(relation) || read_position(relation, 1).is_ours);
    if (relation != nullptr)
        relation_close(relation, NoLock);
    UnlockRelationOid(generator, page_lock);
    PG_RETURN_BOOL(!is_other);
}

}  // namespace shardid
