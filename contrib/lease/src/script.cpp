// What the script of shardid_lease cannot do in SQL: on the registry, what it has made durable; on
// a member, what is on a generator's page; on both sides, where this is, names that are looked up
// late, and keeping the extension's tables its own.
#include "engine/arguments.h"
#include "engine/sequence.h"
#include "engine/sequence_page.h"
#include "engine/wait.h"
#include "start_worker.h"
#include "known_lease.h"

extern "C" {
#include "catalog/namespace.h"
#include "commands/trigger.h"
#include "common/hashfn.h"
#include "replication/logicalworker.h"
#include "storage/lock.h"
#include "utils/pg_lsn.h"
#include "utils/varlena.h"
}

namespace shardid {

namespace {

// Of leased_generator.
constexpr AttrNumber generator_column = 3;

// Null if a transaction has locked it, or if it is no sequence: a session that alters a sequence
// must not keep the other leases from being renewed.
Relation try_open(Oid relid, LOCKMODE mode) {
    if (!ConditionalLockRelationOid(relid, mode))
        return nullptr;
    Relation relation = try_relation_open(relid, NoLock);
    if (relation != nullptr && relation->rd_rel->relkind == RELKIND_SEQUENCE)
        return relation;
    if (relation != nullptr)
        relation_close(relation, NoLock);
    UnlockRelationOid(relid, mode);
    return nullptr;
}

// Of PostgreSQL's timestamps, in milliseconds since 1970.
constexpr int64 epoch_ms = int64{POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE} * SECS_PER_DAY * 1000;

// The type late_name: a role or a sequence that is stored by its OID, and dumped by its name. A
// name that was read from a dump is looked up when it is needed, so that a row arrives although its
// role or sequence is missing.

// How it begins, before the OID or the name.
constexpr char role_follows = 'r';
constexpr char sequence_follows = 's';
constexpr char name_follows = 'n';

Oid oid_in(const char *late) {
    return atooid(late + 1);
}

bool is_sequence(Oid relation) {
    return OidIsValid(relation) && get_rel_relkind(relation) == RELKIND_SEQUENCE;
}

// By no search_path: a name without a schema is not found.
Oid relation_named(const char *name) {
    List *parts;
    if (!SplitIdentifierString(pstrdup(name), '.', &parts) || list_length(parts) != 2)
        return InvalidOid;
    const Oid schema = get_namespace_oid(static_cast<char *>(linitial(parts)), true);
    return OidIsValid(schema) ? get_relname_relid(static_cast<char *>(lsecond(parts)), schema)
                              : InvalidOid;
}

Oid role_of_ref(Datum ref) {
    const char *late = TextDatumGetCString(ref);
    if (late[0] == name_follows)
        return get_role_oid(late + 1, true);
    return SearchSysCacheExists1(AUTHOID, ObjectIdGetDatum(oid_in(late))) ? oid_in(late)
                                                                          : InvalidOid;
}

char *sequence_name(Oid sequence) {
    if (!is_sequence(sequence))
        return nullptr;
    const char *schema = get_namespace_name(get_rel_namespace(sequence));
    const char *name = get_rel_name(sequence);
    return schema == nullptr || name == nullptr ? nullptr
                                                : quote_qualified_identifier(schema, name);
}

Datum oid_or_null(FunctionCallInfo fcinfo, Oid object) {
    fcinfo->isnull = !OidIsValid(object);
    return ObjectIdGetDatum(object);
}

// InvalidOid if there is none.
Oid sequence_of_ref(Datum ref) {
    const char *late = TextDatumGetCString(ref);
    const Oid found = late[0] == name_follows ? relation_named(late + 1) : oid_in(late);
    return is_sequence(found) ? found : InvalidOid;
}

}  // namespace

extern "C" {

PG_FUNCTION_INFO_V1(shardid_late_name_in);
Datum shardid_late_name_in(PG_FUNCTION_ARGS) {
    PG_RETURN_DATUM(CStringGetTextDatum(psprintf("%c%s", name_follows, PG_GETARG_CSTRING(0))));
}

PG_FUNCTION_INFO_V1(shardid_late_name_out);
Datum shardid_late_name_out(PG_FUNCTION_ARGS) {
    const char *late = TextDatumGetCString(PG_GETARG_DATUM(0));
    char *name = late[0] == role_follows       ? GetUserNameFromId(oid_in(late), true)
                 : late[0] == sequence_follows ? sequence_name(oid_in(late))
                                               : nullptr;
    PG_RETURN_CSTRING(name == nullptr ? pstrdup(late + 1) : name);
}

PG_FUNCTION_INFO_V1(shardid_role_ref);
Datum shardid_role_ref(PG_FUNCTION_ARGS) {
    PG_RETURN_DATUM(CStringGetTextDatum(psprintf("%c%u", role_follows, PG_GETARG_OID(0))));
}

PG_FUNCTION_INFO_V1(shardid_sequence_ref);
Datum shardid_sequence_ref(PG_FUNCTION_ARGS) {
    PG_RETURN_DATUM(CStringGetTextDatum(psprintf("%c%u", sequence_follows, PG_GETARG_OID(0))));
}

PG_FUNCTION_INFO_V1(shardid_role_oid);
Datum shardid_role_oid(PG_FUNCTION_ARGS) {
    return oid_or_null(fcinfo, role_of_ref(PG_GETARG_DATUM(0)));
}

PG_FUNCTION_INFO_V1(shardid_sequence_oid);
Datum shardid_sequence_oid(PG_FUNCTION_ARGS) {
    return oid_or_null(fcinfo, sequence_of_ref(PG_GETARG_DATUM(0)));
}

// Where only one server at a time can run, as the postmaster's lock file says; and the database and
// the generator.
PG_FUNCTION_INFO_V1(shardid_place_of);
Datum shardid_place_of(PG_FUNCTION_ARGS) {
    const Digest server = digest_of(psprintf("%s|%s", described_server(), host_name()));
    PG_RETURN_DATUM(CStringGetTextDatum(
        psprintf("%s/%s/%u", server.text, digest_of(described_database()).text, PG_GETARG_OID(0))));
}

PG_FUNCTION_INFO_V1(shardid_host_name);
Datum shardid_host_name(FunctionCallInfo /*fcinfo*/) {
    PG_RETURN_DATUM(CStringGetTextDatum(host_name()));
}

PG_FUNCTION_INFO_V1(shardid_page_of);
Datum shardid_page_of(PG_FUNCTION_ARGS) {
    const Oid generator = PG_GETARG_OID(0);
    Relation sequence = try_open(generator, sequence_lockmode);
    if (sequence == nullptr)
        PG_RETURN_NULL();
    const RelFileLocator locator = sequence->rd_locator;
    const OpenPage page = lock_page(ReadBuffer(sequence, 0), BUFFER_LOCK_SHARE);
    const uint64 tick = last_tick_of(page);
    const XLogRecPtr moved_at =
        is_ours(page, stamp_of(locator)) ? InvalidXLogRecPtr : BufferGetLSNAtomic(page.buffer);
    const uint64 binding = binding_of(page);
    close_page(page);
    relation_close(sequence, sequence_lockmode);
    ResultRow row;
    row.add(CStringGetTextDatum(family_of(generator, locator).text));
    row.add(LSNGetDatum(moved_at));
    row.add(Int64GetDatum(static_cast<int64>(tick)));
    row.add(ObjectIdGetDatum(owner_of_sequence(generator)));
    // Of a generator that has generated ids.
    const bool is_bound = binding != unbound && kind_of(binding) == Kind::ids;
    const Layout layout = is_bound ? layout_of(binding) : Layout{};
    row.add(Int64GetDatum(layout.epoch_us / us_per_ms + epoch_ms), !is_bound);
    row.add(Int32GetDatum(layout.widths.shard_bits), !is_bound);
    row.add(Int32GetDatum(layout.widths.sequence_bits), !is_bound);
    return make_row(fcinfo, row);
}

// Whether this may be a leased sequence of a dump, renamed since its restore. Such storage has
// generated no id since it was made here, as its lease comes first; but raise_generator may have
// bound it. True also of a sequence that is being altered.
PG_FUNCTION_INFO_V1(shardid_may_be_restored);
Datum shardid_may_be_restored(PG_FUNCTION_ARGS) {
    Relation sequence = try_open(PG_GETARG_OID(0), sequence_lockmode);
    if (sequence == nullptr)
        PG_RETURN_BOOL(is_sequence(PG_GETARG_OID(0)));
    const bool is_other = !RelationIsPermanent(sequence) || read_position(sequence, 1).is_ours;
    relation_close(sequence, sequence_lockmode);
    PG_RETURN_BOOL(!is_other);
}

PG_FUNCTION_INFO_V1(shardid_is_own_family);
Datum shardid_is_own_family(PG_FUNCTION_ARGS) {
    const Oid generator = PG_GETARG_OID(0);
    Relation sequence = try_open(generator, AccessShareLock);
    if (sequence == nullptr)
        PG_RETURN_NULL();
    const Digest family = family_of(generator, sequence->rd_locator);
    relation_close(sequence, AccessShareLock);
    PG_RETURN_BOOL(strcmp(family.text, text_to_cstring(PG_GETARG_TEXT_PP(1))) == 0);
}

PG_FUNCTION_INFO_V1(shardid_try_shard_lock);
Datum shardid_try_shard_lock(PG_FUNCTION_ARGS) {
    const text *space = PG_GETARG_TEXT_PP(0);
    const uint32 hash = hash_bytes(reinterpret_cast<const unsigned char *>(VARDATA_ANY(space)),
                                   static_cast<int>(VARSIZE_ANY_EXHDR(space)));
    LOCKTAG tag;
    SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, hash, static_cast<uint32>(PG_GETARG_INT32(1)),
                         shard_lock);
    PG_RETURN_BOOL(LockAcquire(&tag, ExclusiveLock, false, true) != LOCKACQUIRE_NOT_AVAIL);
}

PG_FUNCTION_INFO_V1(shardid_wait_until_durable);
Datum shardid_wait_until_durable(FunctionCallInfo /*fcinfo*/) {
    PreventCommandDuringRecovery("wait_until_durable()");
    make_present_durable();
    PG_RETURN_VOID();
}

PG_FUNCTION_INFO_V1(shardid_check_layout);
Datum shardid_check_layout(PG_FUNCTION_ARGS) {
    checked_layout(PG_GETARG_TIMESTAMPTZ(0), PG_GETARG_INT32(1), PG_GETARG_INT32(2));
    PG_RETURN_VOID();
}

// For SQL that works on tables that only their owner can write, for a caller whose role decides
// what it may do: calls the function whose name ends in _by, and passes the role first. That one is
// SECURITY DEFINER, which would hide the role; session_user may be another role. What it has
// changed outlives a crash, whatever synchronous_commit says; and a member's open transaction does
// not keep others waiting for ever.
PG_FUNCTION_INFO_V1(shardid_as_owner);
Datum shardid_as_owner(PG_FUNCTION_ARGS) {
    FmgrInfo inner;
    fmgr_info(function_named(psprintf("%s_by", get_func_name(fcinfo->flinfo->fn_oid))), &inner);
    LOCAL_FCINFO(call, FUNC_MAX_ARGS);
    InitFunctionCallInfoData(*call, &inner, inner.fn_nargs, InvalidOid, nullptr, nullptr);
    call->args[0] = {ObjectIdGetDatum(GetUserId()), false};
    memcpy(call->args + 1, fcinfo->args,
           sizeof(NullableDatum) * static_cast<size_t>(fcinfo->nargs));

    constexpr const char *longest_wait = "10s";
    const int settings = NewGUCNestLevel();
    if (LockTimeout == 0)
        set_config_option("lock_timeout", longest_wait, PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE,
                          true, 0, false);
    const Datum result = FunctionCallInvoke(call);
    AtEOXact_GUC(true, settings);
    ForceSyncCommit();
    fcinfo->isnull = call->isnull;
    return result;
}

// The trigger on each table of shardid_lease. What the tables contain is true in this database
// only, so a logical replication worker leaves them as they are: a publication FOR ALL TABLES has
// them, too. All sessions look at a generator anew once a change of its lease is committed, those
// that have not looked for the extension since it was created as well; what a registry writes at
// each grant invalidates no plans.
PG_FUNCTION_INFO_V1(shardid_keep_own_rows);
Datum shardid_keep_own_rows(PG_FUNCTION_ARGS) {
    const auto *change = reinterpret_cast<TriggerData *>(fcinfo->context);
    if (!CALLED_AS_TRIGGER(fcinfo) || !TRIGGER_FIRED_BEFORE(change->tg_event) ||
        !TRIGGER_FIRED_FOR_ROW(change->tg_event))
        ereport(ERROR, (errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
                        errmsg("keep_own_rows() was not fired before a change of a row")));
    if (IsLogicalWorker())
        return Datum{0};
    HeapTuple row =
        TRIGGER_FIRED_BY_UPDATE(change->tg_event) ? change->tg_newtuple : change->tg_trigtuple;
    if (is_leased_table(RelationGetRelid(change->tg_relation))) {
        CacheInvalidateRelcacheByRelid(RelationGetRelid(change->tg_relation));
        bool is_null;
        const Oid generator = sequence_of_ref(
            heap_getattr(row, generator_column, RelationGetDescr(change->tg_relation), &is_null));
        if (OidIsValid(generator))
            CacheInvalidateRelcacheByRelid(generator);
    }
    return PointerGetDatum(row);
}

}  // extern "C"

}  // namespace shardid
