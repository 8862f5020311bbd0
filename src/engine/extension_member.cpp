#include "engine/extension_member.h"

extern "C" {
#include "catalog/dependency.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_extension.h"
#include "commands/extension.h"
}

namespace shardid {

namespace {

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

}  // namespace shardid
