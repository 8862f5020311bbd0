// The SQL function by which the script of shardid_lease begins: the extension has a schema of its
// own, in which nobody else may have put anything, since what the script makes finds there what it
// needs by name.
#include "compat.h"

extern "C" {
#include "catalog/dependency.h"
#include "catalog/objectaddress.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_namespace.h"
}

namespace shardid {

namespace {

[[noreturn]] void refuse(Oid schema, const char *why) {
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("schema \"%s\" is not the extension's own", get_namespace_name(schema)),
                    errdetail("%s", why),
                    errhint("Drop the schema, or give it another name, and try again.")));
}

const char *role_name(Oid role) {
    return GetUserNameFromId(role, false);
}

void check_acl(Oid schema, Datum datum) {
    Acl *acl = DatumGetAclP(datum);
    for (int i = 0; i < ACL_NUM(acl); ++i) {
        const AclItem &item = ACL_DAT(acl)[i];
        if ((ACLITEM_GET_PRIVS(item) & ACL_CREATE) == 0)
            continue;
        if (item.ai_grantee == ACL_ID_PUBLIC)
            refuse(schema, "Everybody may create objects in it.");
        if (!superuser_arg(item.ai_grantee))
            refuse(schema, psprintf("Role \"%s\", which is no superuser, may create objects in it.",
                                    role_name(item.ai_grantee)));
    }
}

void check_rights(Oid schema) {
    HeapTuple tuple = SearchSysCache1(NAMESPACEOID, ObjectIdGetDatum(schema));
    if (!HeapTupleIsValid(tuple))
        elog(ERROR, "cache lookup failed for schema %u", schema);
    const Oid owner = reinterpret_cast<Form_pg_namespace>(GETSTRUCT(tuple))->nspowner;
    if (!superuser_arg(owner))
        refuse(schema,
               psprintf("It belongs to role \"%s\", which is no superuser.", role_name(owner)));
    bool is_null;
    const Datum acl = SysCacheGetAttr(NAMESPACEOID, tuple, Anum_pg_namespace_nspacl, &is_null);
    if (!is_null)
        check_acl(schema, acl);
    ReleaseSysCache(tuple);
}

// What has no owner, superusers alone can make.
Oid owner_of(const ObjectAddress &object) {
    const AttrNumber column = is_objectclass_supported(object.classId)
                                  ? get_object_attnum_owner(object.classId)
                                  : InvalidAttrNumber;
    if (column == InvalidAttrNumber)
        return BOOTSTRAP_SUPERUSERID;
    Relation catalog = table_open(object.classId, AccessShareLock);
    HeapTuple tuple =
        get_catalog_object_by_oid(catalog, get_object_attnum_oid(object.classId), object.objectId);
    bool is_null;
    const Oid owner =
        HeapTupleIsValid(tuple)
            ? DatumGetObjectId(heap_getattr(tuple, column, RelationGetDescr(catalog), &is_null))
            : BOOTSTRAP_SUPERUSERID;
    table_close(catalog, AccessShareLock);
    return owner;
}

void check_owner(Oid schema, const ObjectAddress &object) {
    const Oid owner = owner_of(object);
    if (!superuser_arg(owner))
        refuse(schema, psprintf("In it there is %s, of role \"%s\", which is no superuser.",
                                getObjectDescription(&object, false), role_name(owner)));
}

void check_contents(Oid schema) {
    ScanKeyData keys[2];
    ScanKeyInit(&keys[0], Anum_pg_depend_refclassid, BTEqualStrategyNumber, F_OIDEQ,
                ObjectIdGetDatum(NamespaceRelationId));
    ScanKeyInit(&keys[1], Anum_pg_depend_refobjid, BTEqualStrategyNumber, F_OIDEQ,
                ObjectIdGetDatum(schema));
    Relation depend = table_open(DependRelationId, AccessShareLock);
    SysScanDesc scan = systable_beginscan(depend, DependReferenceIndexId, true, nullptr, 2, keys);
    for (HeapTuple row = systable_getnext(scan); HeapTupleIsValid(row);
         row = systable_getnext(scan)) {
        const auto &member = *reinterpret_cast<FormData_pg_depend *>(GETSTRUCT(row));
        check_owner(schema, {member.classid, member.objid, member.objsubid});
    }
    systable_endscan(scan);
    table_close(depend, AccessShareLock);
}

}  // namespace

extern "C" {

PG_FUNCTION_INFO_V1(shardid_check_lease_schema);

Datum shardid_check_lease_schema(PG_FUNCTION_ARGS) {
    const Oid schema = get_func_namespace(fcinfo->flinfo->fn_oid);
    check_rights(schema);
    check_contents(schema);
    PG_RETURN_VOID();
}

}  // extern "C"

}  // namespace shardid
