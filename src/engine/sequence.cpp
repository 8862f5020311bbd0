#include "engine/sequence.h"

extern "C" {
#include "catalog/dependency.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_extension_d.h"
#include "commands/extension.h"
}

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

constexpr const char *extension_name = "shardid";

bool is_relation_named(const FormData_pg_depend &object, const char *name) {
    if (object.classid != RelationRelationId || object.deptype != DEPENDENCY_EXTENSION)
        return false;
    const char *its_name = get_rel_name(object.objid);
    return its_name != nullptr && strcmp(its_name, name) == 0;
}

// Citus's worker_apply_sequence_command gives 2^48 values to each node, by its number in
// pg_dist_node.
constexpr int64 share = int64{1} << 48;

constexpr bool is_share(int64 min, int64 max) {
    return min > share && min % share == 1 && max - min == share;
}

static_assert(is_share(share + 1, 2 * share + 1) && is_share(9 * share + 1, 10 * share + 1));
static_assert(!is_share(1, PG_INT64_MAX) && !is_share(1, share + 1) && !is_share(1, PG_INT32_MAX));
static_assert(!is_share(share + 1, PG_INT64_MAX) && !is_share(share, 2 * share));

void note_relation_change(Datum /*argument*/, Oid relid) {
    forget_relation(relid);
}

constexpr const char *way_around =
    "let the default use shardid_seq, or a sequence that is created on every node with "
    "citus.enable_ddl_propagation off and named as text: generator => 'name'::text::regclass";

}  // namespace

// As sequence.c's lock_and_open_sequence.
void lock_sequence(Oid relid) {
    for_transaction([&] { LockRelationOid(relid, RowExclusiveLock); });
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
        refuse_privilege(RelationGetRelid(relation), lacks, grant);
}

void refuse_privilege(Oid relid, const char *lacks, const char *grant) {
    const char *user = GetUserNameFromId(GetUserId(), false);
    ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                    errmsg("permission denied for sequence %s", get_rel_name(relid)),
                    errdetail("Role \"%s\" has %s on it.", user, lacks),
                    errhint("Run GRANT %s ON SEQUENCE %s TO %s.", grant, qualified_name(relid),
                            quote_identifier(user))));
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
    const auto &relation = *reinterpret_cast<Form_pg_class>(GETSTRUCT(tuple));
    const Oid owner = relation.relkind == RELKIND_SEQUENCE ? relation.relowner : InvalidOid;
    ReleaseSysCache(tuple);
    return owner == ROLE_PG_DATABASE_OWNER ? owner_of_database() : owner;
}

void check_owner(Oid relid, Oid caller) {
    const Oid owner = owner_of_sequence(relid);
    if (!OidIsValid(owner))
        refuse_missing(relid, "Pass the name of a sequence.");
    if (!has_privs_of_role(caller, owner))
        ereport(ERROR,
                (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                 errmsg("must be owner of sequence %s", get_rel_name(relid)),
                 errdetail("Its owner is \"%s\", and role \"%s\" is not a member of that.",
                           GetUserNameFromId(owner, false), GetUserNameFromId(caller, false)),
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

OwnSequence uuid_sequence{"shardid_uuid_seq", InvalidOid};
OwnSequence objectid_sequence{"shardid_objectid_seq", InvalidOid};

Oid find_extension_relation(const char *extension, const char *name) {
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
    // The oldest: the extension's owner, who can be any role, can add another one.
    for (HeapTuple row = systable_getnext(scan); HeapTupleIsValid(row);
         row = systable_getnext(scan)) {
        const auto &object = *reinterpret_cast<FormData_pg_depend *>(GETSTRUCT(row));
        if (is_relation_named(object, name) && (!OidIsValid(found) || object.objid < found))
            found = object.objid;
    }
    systable_endscan(scan);
    table_close(depend, AccessShareLock);
    return found;
}

void (*forget_relation)(Oid relid);

void follow_relation_changes() {
    static bool is_following = false;
    if (!is_following)
        CacheRegisterRelcacheCallback(note_relation_change, Datum{0});
    is_following = true;
}

void forget_own_sequences(Oid relid) {
    OwnSequence *const all[] = {&uuid_sequence, &objectid_sequence};
    for (OwnSequence *sequence : all)
        if (relid == InvalidOid || relid == sequence->relid)
            sequence->relid = InvalidOid;
}

void find_own_sequence(OwnSequence &sequence) {
    follow_relation_changes();
    const Oid found = find_extension_relation(extension_name, sequence.name);
    if (!OidIsValid(found))
        ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE),
                        errmsg("sequence \"%s\" of the extension does not exist", sequence.name),
                        errdetail("Extension \"%s\" has no relation of this name.", extension_name),
                        errhint("If it was renamed, rename it back.")));
    sequence.relid = found;
}

Kind kind_of_sequence(Relation relation) {
    const char *name = RelationGetRelationName(relation);
    const bool generates_uuids = strcmp(name, uuid_sequence.name) == 0;
    if (!generates_uuids && strcmp(name, objectid_sequence.name) != 0)
        return Kind::ids;
    const Oid extension = getExtensionOfObject(RelationRelationId, RelationGetRelid(relation));
    if (!OidIsValid(extension) || extension != get_extension_oid(extension_name, true))
        return Kind::ids;
    return generates_uuids ? Kind::uuids : Kind::objectids;
}

bool has_citus() {
    return OidIsValid(get_extension_oid("citus", true));
}

const char *hint_on_narrowed(Oid sequence) {
    const FormData_pg_sequence definition = definition_of(sequence);
    if (!is_share(definition.seqmin, definition.seqmax))
        return nullptr;
    return psprintf("Citus gives such bounds to a worker and refuses to alter them: %s.",
                    way_around);
}

const char *hint_on_altering(Oid sequence, const char *command) {
    const char *narrowed = hint_on_narrowed(sequence);
    if (narrowed != nullptr)
        return narrowed;
    if (has_citus())
        return psprintf("Run %s. Where Citus refuses that, %s.", command, way_around);
    return psprintf("Run %s.", command);
}

}  // namespace shardid
