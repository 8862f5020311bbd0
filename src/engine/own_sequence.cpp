#include "engine/own_sequence.h"

#include "engine/relation_changes.h"

extern "C" {
#include "catalog/dependency.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_extension_d.h"
#include "commands/extension.h"
}

namespace shardid {

OwnSequence uuid_sequence{"shardid_uuid_seq", InvalidOid};
OwnSequence objectid_sequence{"shardid_objectid_seq", InvalidOid};

namespace {

constexpr const char *extension_name = "shardid";

bool is_relation_named(const FormData_pg_depend &member, const char *name) {
    if (member.classid != RelationRelationId || member.deptype != DEPENDENCY_EXTENSION)
        return false;
    const char *its_name = get_rel_name(member.objid);
    return its_name != nullptr && strcmp(its_name, name) == 0;
}

}  // namespace

Oid find_member(const char *extension, const char *name) {
    const Oid extension_oid = get_extension_oid(extension, true);
    if (!OidIsValid(extension_oid))
        return InvalidOid;
    ScanKeyData keys[2];
    ScanKeyInit(&keys[0], Anum_pg_depend_refclassid, BTEqualStrategyNumber, F_OIDEQ,
                ObjectIdGetDatum(ExtensionRelationId));
    ScanKeyInit(&keys[1], Anum_pg_depend_refobjid, BTEqualStrategyNumber, F_OIDEQ,
                ObjectIdGetDatum(extension_oid));
    Relation depend = table_open(DependRelationId, AccessShareLock);
    SysScanDesc scan = systable_beginscan(depend, DependReferenceIndexId, true, nullptr, 2, keys);
    Oid found = InvalidOid;
    for (HeapTuple row = systable_getnext(scan); HeapTupleIsValid(row) && !OidIsValid(found);
         row = systable_getnext(scan)) {
        const auto &member = *reinterpret_cast<FormData_pg_depend *>(GETSTRUCT(row));
        if (is_relation_named(member, name))
            found = member.objid;
    }
    systable_endscan(scan);
    table_close(depend, AccessShareLock);
    return found;
}

void forget_own_sequences(Oid relid) {
    OwnSequence *const all[] = {&uuid_sequence, &objectid_sequence};
    for (OwnSequence *sequence : all)
        if (relid == InvalidOid || relid == sequence->relid)
            sequence->relid = InvalidOid;
}

void find_own_sequence(OwnSequence &sequence) {
    follow_relation_changes();
    const Oid found = find_member(extension_name, sequence.name);
    if (!OidIsValid(found))
        ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE),
                        errmsg("sequence \"%s\" of the extension does not exist", sequence.name),
                        errdetail("Extension \"%s\" has no relation of this name.", extension_name),
                        errhint("If it was renamed, rename it back.")));
    sequence.relid = found;
}

Kind made_from(Relation relation) {
    const char *name = RelationGetRelationName(relation);
    const bool makes_uuids = strcmp(name, uuid_sequence.name) == 0;
    if (!makes_uuids && strcmp(name, objectid_sequence.name) != 0)
        return Kind::ids;
    const Oid extension = getExtensionOfObject(RelationRelationId, RelationGetRelid(relation));
    if (!OidIsValid(extension) || extension != get_extension_oid(extension_name, true))
        return Kind::ids;
    return makes_uuids ? Kind::uuids : Kind::objectids;
}

}  // namespace shardid
