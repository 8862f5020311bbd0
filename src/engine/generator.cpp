#include "engine/generator.h"

#include "engine/refusals.h"

namespace shardid {

namespace {

// An earlier tick than that of the transaction's note needs another note.
uint64 first_noted(const Known &known) {
    if (!is_of_this_transaction(known.first_note))
        return 0;
    const uint64 time = time_of_first_ms(known.layout.epoch_us, known.first_note.ms);
    return make_tick(known.layout.widths, time, 0);
}

HTAB *generators = nullptr;

// The last generator used; most sessions have one only.
Generator *last_used = nullptr;

static_assert(offsetof(Generator, sequence) == 0 && offsetof(Sequence, relid) == 0);

// Counts the invalidations after which a generator has to be checked again. A check keeps the
// number from before it began, so that one that arrives while it is under way counts, too.
uint64 catalog_version = 1;

void note_catalog_change(Datum /*argument*/, SyscacheNumber /*cache*/, uint32 /*hash*/) {
    ++catalog_version;
}

// Privileges depend on the roles, their memberships and (for pg_database_owner) the database's
// owner, as in acl.c's initialize_acl; the limits of a sequence on its row in pg_sequence.
void create_table() {
    HASHCTL control{};
    control.keysize = sizeof(Oid);
    control.entrysize = sizeof(Generator);
    generators = hash_create("shardid generators", 16, &control, HASH_ELEM | HASH_BLOBS);
    follow_relation_changes();
    CacheRegisterSyscacheCallback(AUTHOID, note_catalog_change, Datum{0});
    CacheRegisterSyscacheCallback(AUTHMEMROLEMEM, note_catalog_change, Datum{0});
    CacheRegisterSyscacheCallback(DATABASEOID, note_catalog_change, Datum{0});
    CacheRegisterSyscacheCallback(SEQRELID, note_catalog_change, Datum{0});
}

// Forgets the sequences that are gone, and OIDs that never were one. A temporary one, whose DROP
// may be rolled back, stays if ids of it are remembered here only.
void forget_gone() {
    last_used = nullptr;
    HASH_SEQ_STATUS scan;
    hash_seq_init(&scan, generators);
    while (auto *generator = static_cast<Generator *>(hash_seq_search(&scan))) {
        const Oid relid = generator->sequence.relid;
        if (generator->checked.locked_in == current_lxid() ||
            generator->replaced.temporary != nullptr || get_rel_relkind(relid) == RELKIND_SEQUENCE)
            continue;
        if (generator->bounds.source != nullptr)
            pfree(generator->bounds.source);
        hash_search(generators, &relid, HASH_REMOVE, nullptr);
    }
}

pg_noinline Generator *find_or_add(Oid relid) {
    if (generators == nullptr)
        create_table();
    static long forget_at = 64;
    if (unlikely(hash_get_num_entries(generators) >= forget_at)) {
        forget_gone();
        forget_at = 64 + 2 * hash_get_num_entries(generators);
    }

    bool found;
    auto *generator = static_cast<Generator *>(hash_search(generators, &relid, HASH_ENTER, &found));
    if (!found) {
        *generator = Generator{};
        generator->sequence.relid = relid;
    }
    return generator;
}

pg_noinline void lock(const Sequence &sequence, Checked &checked, Known &known) {
    lock_sequence(sequence.relid);
    checked.locked_in = current_lxid();

    // A relfilenode that the last transaction had made is like any other after its commit, and
    // needs WAL under wal_level = minimal too; no invalidation says so. And relation_open has to
    // note each transaction that uses a temporary sequence (XACT_FLAGS_ACCESSEDTEMPNAMESPACE).
    if (sequence.has_own_storage)
        checked.at = 0;
    if (sequence.notes_first_ids)
        known.at_once_count = 0;
}

// A transaction that has replaced the storage may have changed CACHE, which others do not see yet.
bool notes_first_ids(const Sequence &sequence, const FormData_pg_sequence &definition) {
    return sequence.kind == Kind::ids && (definition.seqcache > 1 || sequence.has_replaced_storage);
}

void check_storage(Relation relation) {
    check_session(relation);
    const Oid relid = RelationGetRelid(relation);
    if (relation->rd_rel->relpersistence == RELPERSISTENCE_UNLOGGED)
        ereport(ERROR,
                (errcode(ERRCODE_WRONG_OBJECT_TYPE),
                 errmsg("cannot generate ids from unlogged sequence \"%s\"", shown_name(relid)),
                 errdetail("An unlogged sequence starts anew after a crash, and would then "
                           "generate duplicate ids."),
                 errhint("Run ALTER SEQUENCE %s SET LOGGED.", qualified_name(relid))));
    if (has_replaced_storage(relation) && has_replaced_unlogged_storage(relid))
        ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                        errmsg("cannot generate ids from sequence \"%s\" in the transaction that "
                               "has made it logged",
                               shown_name(relid)),
                        errdetail("After a rollback it is unlogged again, and after a crash it "
                                  "would generate duplicate ids."),
                        errhint("Generate ids after the commit.")));
}

// nextval on a descending sequence would return what next_id has drawn. A sequence that was created
// as descending has to be reset; one that has room above keeps what it knows.
void check_direction(Oid relid, const FormData_pg_sequence &definition) {
    if (definition.seqincrement > 0)
        return;
    const char *name = qualified_name(relid);
    const char *anew = definition.seqmax > 0 ? "" : " NO MINVALUE NO MAXVALUE START WITH 1 RESTART";
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("sequence \"%s\" counts downwards", shown_name(relid)),
                    errdetail("Its INCREMENT is %lld, and ids increase.",
                              static_cast<long long>(definition.seqincrement)),
                    errhint("Run ALTER SEQUENCE %s INCREMENT BY 1%s.", name, anew)));
}

// Past its end nextval would start over, and return what next_id has drawn.
void check_cycle(Oid relid, const FormData_pg_sequence &definition) {
    if (!definition.seqcycle)
        return;
    ereport(ERROR,
            (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
             errmsg("sequence \"%s\" has CYCLE", shown_name(relid)),
             errdetail("After its MAXVALUE nextval goes back to its MINVALUE, and ids increase."),
             errhint("Run ALTER SEQUENCE %s NO CYCLE, unless from_extension.sql has set CYCLE: "
                     "then wait until that has ended, or run it again.",
                     qualified_name(relid))));
}

void check_definition(Sequence &sequence, Relation relation) {
    check_storage(relation);
    const FormData_pg_sequence definition = definition_of(sequence.relid);
    check_direction(sequence.relid, definition);
    check_cycle(sequence.relid, definition);

    sequence.is_temporary = relation->rd_islocaltemp;
    sequence.needs_wal = RelationNeedsWAL(relation);
    sequence.has_own_storage = relation->rd_islocaltemp || has_new_storage(relation);
    sequence.has_replaced_storage = has_replaced_storage(relation);
    sequence.start_value = definition.seqstart;
    sequence.max_value = definition.seqmax;
    sequence.locator = relation->rd_locator;
    sequence.stamp = stamp_of(sequence.locator);
    sequence.kind = kind_of_sequence(relation);
    sequence.notes_first_ids = notes_first_ids(sequence, definition);
}

// What depends on the user. Where two roles use a generator in turns, nothing else is checked anew.
void check_user(Sequence &sequence, Checked &checked, Relation relation) {
    check_privilege(relation, ACL_USAGE | ACL_UPDATE, "neither USAGE nor UPDATE", "USAGE");
    sequence.may_update = has_privilege(relation, ACL_UPDATE);
    checked.user = GetUserId();
}

// What was known of the storage: it may be other storage now.
void forget_storage(Generator &generator, Relation relation) {
    forget_binding(generator.known, unbound);
    generator.bounds.state = BoundsState::unknown;
    generator.bounds.window = any_time;
    if (!generator.sequence.is_temporary)
        generator.replaced.temporary = nullptr;
    drop_kept_pin(generator.pin);
    raise_storage_in_use(generator.replaced, relation);
}

// Until it has come to its end, nothing that it has found counts.
pg_noinline void check_and_forget(Generator &generator) {
    const uint64 version = catalog_version;
    Assert(no_page_is_locked());
    Relation relation = open_sequence(generator.sequence.relid, NoLock,
                                      "Pass the name of a sequence; a shard of type bigint has to "
                                      "be cast to integer.");
    check_user(generator.sequence, generator.checked, relation);
    if (generator.checked.at != version) {
        check_definition(generator.sequence, relation);
        forget_storage(generator, relation);
        generator.checked.at = version;
    }
    relation_close(relation, NoLock);
}

}  // namespace

void learn(Known &known) {
    Assert(known.binding != unbound);
    known.kind = kind_of(known.binding);
    known.negative_soon = UINT64_MAX;
    if (known.kind != Kind::ids) {
        known.at_once_count = UINT64_MAX;
        return;
    }
    known.layout = layout_of(known.binding);
    known.worked = worked_out(known.layout.widths);
    if (!known.has_warned)
        known.negative_soon = negative_soon_from(known.layout.widths);
}

void limit_draws_at_once(Known &known, const Bounds &bounds, uint64 last) {
    const uint64 below = Min(known.negative_soon, at_once_limit(bounds, last));
    known.at_once_from = first_noted(known);
    known.at_once_count = below > known.at_once_from ? below - known.at_once_from : 0;
}

void forget_generator(Oid relid, bool all) {
    if (relid == InvalidOid || all ||
        (generators != nullptr && hash_search(generators, &relid, HASH_FIND, nullptr) != nullptr))
        ++catalog_version;
}

Generator &use_generator(Oid relid, const char *caller) {
    if (unlikely(last_used == nullptr || last_used->sequence.relid != relid))
        last_used = find_or_add(relid);
    Generator &generator = *last_used;

    if (unlikely(generator.checked.locked_in != current_lxid()))
        lock(generator.sequence, generator.checked, generator.known);
    if (unlikely(generator.checked.at != catalog_version || generator.checked.user != GetUserId()))
        check_and_forget(generator);

    if (unlikely(XactReadOnly && !generator.sequence.is_temporary))
        PreventCommandIfReadOnly(caller);
    if (unlikely(IsInParallelMode()))
        PreventCommandIfParallelMode(caller);
    Assert(generator.sequence.relid == relid && generator.checked.locked_in == current_lxid());
    Assert(generator.sequence.stamp == stamp_of(generator.sequence.locator));
    return generator;
}

void refuse_max_value(const Sequence &sequence, uint64 needed) {
    const char *command =
        psprintf("ALTER SEQUENCE %s AS bigint NO MAXVALUE", qualified_name(sequence.relid));
    ereport(ERROR,
            (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
             errmsg("MAXVALUE of sequence \"%s\" is too small for ids", shown_name(sequence.relid)),
             errdetail("MAXVALUE is %lld, and these ids need %lld.",
                       static_cast<long long>(sequence.max_value), static_cast<long long>(needed)),
             errhint("%s", hint_on_altering(sequence.relid, command))));
}

void begin_to_know(Known &known, Bounds &bounds, const Sequence &sequence, const Layout &layout) {
    Assert(is_valid(layout.widths));
    const uint64 wanted = binding_of(layout);
    if (sequence.kind != Kind::ids)
        refuse_binding(sequence.relid, wanted, binding_of(sequence.kind, 0));
    allow_shards(bounds, sequence, layout);
    forget_binding(known, wanted);
}

void begin_to_know(Known &known, const Sequence &sequence, const OwnLayout &layout) {
    check_max_value(sequence, max_tick(layout.widths));
    uint64 random;
    if (!pg_strong_random(&random, sizeof(random)))
        ereport(ERROR, (errcode(ERRCODE_INTERNAL_ERROR), errmsg("could not get random bits")));
    forget_binding(known, binding_of(layout.kind, random & max_of(seed_bits)));
}

}  // namespace shardid
