#include "engine/generator.h"

#include "engine/asserted.h"
#include "engine/citus.h"
#include "engine/own_sequence.h"
#include "engine/relation_changes.h"
#include "engine/sequence.h"

namespace shardid {

namespace {

HTAB *generators = nullptr;

// The last generator used; most sessions have one only.
Generator *last_used = nullptr;

// Counts the invalidations after which a generator has to be checked again. A check keeps the
// number from before it began, so that one that arrives while it is under way counts, too.
uint64 catalogue_version = 1;

void note_catalogue_change(Datum /*argument*/, SyscacheNumber /*cache*/, uint32 /*hash*/) {
    ++catalogue_version;
}

// Privileges depend on the roles, their memberships and (for pg_database_owner) the database's
// owner, as in acl.c's initialize_acl; the limits of a sequence on its row in pg_sequence.
void start_following_changes() {
    follow_relation_changes();
    CacheRegisterSyscacheCallback(AUTHOID, note_catalogue_change, Datum{0});
    CacheRegisterSyscacheCallback(AUTHMEMROLEMEM, note_catalogue_change, Datum{0});
    CacheRegisterSyscacheCallback(DATABASEOID, note_catalogue_change, Datum{0});
    CacheRegisterSyscacheCallback(SEQRELID, note_catalogue_change, Datum{0});
}

void create_table() {
    HASHCTL control{};
    control.keysize = sizeof(Oid);
    control.entrysize = sizeof(Generator);
    generators = hash_create("shardid generators", 16, &control, HASH_ELEM | HASH_BLOBS);
    start_following_changes();
}

Generator *find_or_add(Oid relid) {
    if (generators == nullptr)
        create_table();

    bool found;
    auto *generator = static_cast<Generator *>(hash_search(generators, &relid, HASH_ENTER, &found));
    if (!found) {
        *generator = Generator{};
        generator->relid = relid;
    }
    return generator;
}

pg_noinline void lock(Generator &generator) {
    lock_sequence(generator.relid);
    generator.locked_in = current_local_xid();

    // A relfilenode that the last transaction had made is like any other after its commit, and
    // needs WAL under wal_level = minimal too; no invalidation says so. And relation_open has to
    // note each transaction that uses a temporary sequence (XACT_FLAGS_ACCESSEDTEMPNAMESPACE).
    if (generator.has_own_storage)
        generator.checked_at = 0;
}

void check_storage(Relation relation) {
    check_session(relation);
    if (relation->rd_rel->relpersistence != RELPERSISTENCE_UNLOGGED)
        return;
    const char *name = qualified_name(RelationGetRelid(relation));
    ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
                    errmsg("cannot generate ids from unlogged sequence \"%s\"",
                           shown_name(RelationGetRelid(relation))),
                    errdetail("An unlogged sequence starts anew after a crash, and would then "
                              "generate duplicate ids."),
                    errhint("Run ALTER SEQUENCE %s SET LOGGED.", name)));
}

void read_limits(Generator &generator) {
    const FormData_pg_sequence definition = definition_of(generator.relid);
    generator.start_value = definition.seqstart;
    generator.max_value = definition.seqmax;
    generator.increment = definition.seqincrement;
}

// nextval on a descending sequence would return what next_id has drawn. A sequence that was created
// as descending has to be reset; one that has room above keeps what it knows.
void check_direction(const Generator &generator) {
    if (generator.increment > 0)
        return;
    const char *name = qualified_name(generator.relid);
    const char *anew =
        generator.max_value > 0 ? "" : " NO MINVALUE NO MAXVALUE START WITH 1 RESTART";
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("sequence \"%s\" counts downwards", shown_name(generator.relid)),
                    errdetail("Its INCREMENT is %lld, and ids increase.",
                              static_cast<long long>(generator.increment)),
                    errhint("Run ALTER SEQUENCE %s INCREMENT BY 1%s.", name, anew)));
}

// Past its end nextval would start over, and return what next_id has drawn.
void check_cycle(Oid relid) {
    if (!definition_of(relid).seqcycle)
        return;
    const char *name = qualified_name(relid);
    ereport(ERROR,
            (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
             errmsg("sequence \"%s\" has CYCLE", shown_name(relid)),
             errdetail("After its MAXVALUE nextval goes back to its MINVALUE, and ids increase."),
             errhint("Run ALTER SEQUENCE %s NO CYCLE.", name)));
}

// Until it has come to its end, nothing that it has found counts.
pg_noinline void check(Generator &generator) {
    const uint64 version = catalogue_version;
    generator.checked_at = 0;

    Assert(no_page_is_locked());
    Relation relation = open_sequence(generator.relid, NoLock,
                                      "Pass the name of a sequence; a shard of type bigint has to "
                                      "be cast to integer.");
    check_privilege(relation, ACL_USAGE | ACL_UPDATE, "neither USAGE nor UPDATE", "USAGE");
    check_storage(relation);
    read_limits(generator);
    check_direction(generator);
    check_cycle(generator.relid);

    generator.may_update = has_privilege(relation, ACL_UPDATE);
    generator.makes = made_from(relation);
    generator.known = nothing_known(unbound);
    generator.lease.state = LeaseState::unknown;
    generator.is_temporary = relation->rd_islocaltemp;
    generator.needs_wal = RelationNeedsWAL(relation);
    generator.has_own_storage = relation->rd_islocaltemp || has_new_storage(relation);
    generator.has_replaced_storage = has_replaced_storage(relation);
    if (!generator.is_temporary)
        generator.temporary = nullptr;
    drop_kept_pin(generator.pin);
    generator.locator = locator_of(relation);
    generator.stamp = stamp_of(generator.locator);
    raise_storage_in_use(generator, relation);
    relation_close(relation, NoLock);

    generator.checked_for = GetUserId();
    generator.checked_at = version;
}

bool is_checked(const Generator &generator) {
    return generator.checked_at == catalogue_version && generator.checked_for == GetUserId();
}

}  // namespace

uint32 stamp_of(const Locator &locator) {
    // An odd factor is a bijection of uint32, so neither part hides a difference in the other.
    constexpr uint32 odd_factor = 0x9E3779B1;
    const uint32 stamp = database_of(locator) * odd_factor ^ storage_number_of(locator);
    return stamp == FirstCommandId ? odd_factor : stamp;
}

void forget_generator(Oid relid, bool all) {
    if (relid == InvalidOid || all ||
        (generators != nullptr && hash_search(generators, &relid, HASH_FIND, nullptr) != nullptr))
        ++catalogue_version;
}

Generator &use_generator(Oid relid, const char *caller) {
    if (unlikely(last_used == nullptr || last_used->relid != relid))
        last_used = find_or_add(relid);
    Generator &generator = *last_used;

    if (unlikely(generator.locked_in != current_local_xid()))
        lock(generator);
    if (unlikely(!is_checked(generator)))
        check(generator);

    if (unlikely(XactReadOnly && !generator.is_temporary))
        PreventCommandIfReadOnly(caller);
    if (unlikely(IsInParallelMode()))
        PreventCommandIfParallelMode(caller);
    Assert(generator.relid == relid && generator.stamp == stamp_of(generator.locator));
    return generator;
}

void refuse_max_value(const Generator &generator, uint64 needed) {
    const char *command =
        psprintf("ALTER SEQUENCE %s AS bigint NO MAXVALUE", qualified_name(generator.relid));
    ereport(
        ERROR,
        (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
         errmsg("MAXVALUE of sequence \"%s\" is too small for ids", shown_name(generator.relid)),
         errdetail("MAXVALUE is %lld, and these ids need %lld.",
                   static_cast<long long>(generator.max_value), static_cast<long long>(needed)),
         errhint("%s", hint_on_altering(generator.relid, command))));
}

}  // namespace shardid
