#include "engine/sequence.h"

namespace shardid {

namespace {

Oid owner_of_database() {
    HeapTuple tuple = SearchSysCache1(DATABASEOID, ObjectIdGetDatum(MyDatabaseId));
    if (!HeapTupleIsValid(tuple))
        elog(ERROR, "cache lookup failed for database %u", MyDatabaseId);
    const Oid owner = reinterpret_cast<Form_pg_database>(GETSTRUCT(tuple))->datdba;
    ReleaseSysCache(tuple);
    return owner;
}

[[noreturn]] void refuse_missing(Oid relid, const char *hint) {
    ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE),
                    errmsg("sequence with OID %u does not exist", relid), errhint("%s", hint)));
}

}  // namespace

// As sequence.c's lock_and_open_sequence.
void lock_sequence(Oid relid) {
    ResourceOwner owner = CurrentResourceOwner;
    CurrentResourceOwner = TopTransactionResourceOwner;
    LockRelationOid(relid, RowExclusiveLock);
    CurrentResourceOwner = owner;
}

Relation open_sequence(Oid relid, LOCKMODE lock, const char *hint) {
    Relation relation = try_relation_open(relid, lock);
    if (relation == nullptr)
        refuse_missing(relid, hint);
    if (relation->rd_rel->relkind != RELKIND_SEQUENCE)
        ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
                        errmsg("\"%s\" is not a sequence", RelationGetRelationName(relation)),
                        errdetail_relkind_not_supported(relation->rd_rel->relkind),
                        errhint("Pass the name of a sequence.")));
    return relation;
}

bool has_privilege(Relation relation, AclMode any_of) {
    return pg_class_aclcheck(RelationGetRelid(relation), GetUserId(), any_of) == ACLCHECK_OK;
}

void check_privilege(Relation relation, AclMode any_of, const char *lacks, const char *grant) {
    if (!has_privilege(relation, any_of))
        refuse_privilege(relation, lacks, grant);
}

void refuse_privilege(Relation relation, const char *lacks, const char *grant) {
    const char *user = GetUserNameFromId(GetUserId(), false);
    ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                    errmsg("permission denied for sequence %s", RelationGetRelationName(relation)),
                    errdetail("Role \"%s\" has %s on it.", user, lacks),
                    errhint("Run GRANT %s ON SEQUENCE %s TO %s.", grant,
                            qualified_name(RelationGetRelid(relation)), quote_identifier(user))));
}

void check_session(Relation relation) {
    if (!RELATION_IS_OTHER_TEMP(relation))
        return;
    ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                    errmsg("cannot access temporary sequences of other sessions"),
                    errdetail("Sequence \"%s\" belongs to another session.",
                              RelationGetRelationName(relation)),
                    errhint("Use a permanent sequence.")));
}

Oid owner_of_sequence(Oid relid) {
    HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
    if (!HeapTupleIsValid(tuple))
        return InvalidOid;
    const Oid owner = reinterpret_cast<Form_pg_class>(GETSTRUCT(tuple))->relowner;
    ReleaseSysCache(tuple);
    return owner == ROLE_PG_DATABASE_OWNER ? owner_of_database() : owner;
}

void check_owner(Oid relid, Oid member) {
    const Oid owner = owner_of_sequence(relid);
    if (!OidIsValid(owner))
        refuse_missing(relid, "Pass the name of a sequence.");
    if (!has_privs_of_role(member, owner))
        ereport(ERROR,
                (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                 errmsg("must be owner of sequence %s", get_rel_name(relid)),
                 errdetail("Its owner is \"%s\", and role \"%s\" is not a member of that.",
                           GetUserNameFromId(owner, false), GetUserNameFromId(member, false)),
                 errhint("Run this as its owner.")));
}

FormData_pg_sequence definition_of(Oid relid) {
    HeapTuple tuple = SearchSysCache1(SEQRELID, ObjectIdGetDatum(relid));
    if (!HeapTupleIsValid(tuple))
        elog(ERROR, "cache lookup failed for sequence %u", relid);
    const FormData_pg_sequence definition = *reinterpret_cast<Form_pg_sequence>(GETSTRUCT(tuple));
    ReleaseSysCache(tuple);
    return definition;
}

char *qualified_name(Oid relid) {
    return quote_qualified_identifier(get_namespace_name(get_rel_namespace(relid)),
                                      get_rel_name(relid));
}

char *shown_name(Oid relid) {
    return psprintf("%s.%s", get_namespace_name(get_rel_namespace(relid)), get_rel_name(relid));
}

}  // namespace shardid
