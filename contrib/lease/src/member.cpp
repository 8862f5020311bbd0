// The SQL functions of a member: lease_shard, take_over_shard, release_shard, which have the
// background worker do something, and wait for it without any lock that others need; and renew_now,
// for renew_leases().
#include "engine/arguments.h"
#include "engine/sequence.h"
#include "engine/settings.h"
#include "engine/wait.h"
#include "start_worker.h"
#include "known_lease.h"

extern "C" {
#include "access/twophase.h"
#include "catalog/pg_type_d.h"
#include "utils/array.h"
}

namespace shardid {

namespace {

constexpr int64 lock_poll_ms = 10;

Oid generator_or_default(FunctionCallInfo fcinfo, int number) {
    if (!PG_ARGISNULL(number))
        return PG_GETARG_OID(number);
    OwnSequence sequence{"shardid_seq", InvalidOid};
    find_own_sequence(sequence);
    return sequence.relid;
}

// Raises an error unless the caller owns the generator, as others see it. Waits no longer than the
// call may: an ALTER SEQUENCE that is prepared may not end.
void check_caller(Oid generator, const char *caller) {
    PreventCommandIfReadOnly(caller);
    const instr_time start = this_moment();
    while (!ConditionalLockRelationOid(generator, sequence_lockmode)) {
        if (ms_since(start) >= Max(lease_timeout_ms, 1))
            ereport(ERROR,
                    (errcode(ERRCODE_OBJECT_IN_USE),
                     errmsg("sequence \"%s\" is locked by a transaction", shown_name(generator)),
                     errhint("Call it again when that has ended; pg_locks shows it.")));
        nap(lock_poll_ms);
    }
    Relation relation = open_sequence(generator, NoLock, "Pass the name of a sequence.");
    check_owner(generator, GetUserId());
    if (has_new_storage(relation))
        ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                        errmsg("%s cannot run in this transaction", caller),
                        errdetail("The transaction has created or altered sequence \"%s\".",
                                  shown_name(generator)),
                        errhint("Call it after the commit.")));
    relation_close(relation, sequence_lockmode);
}

// As a draw would find; which MAXVALUE is enough, only the layout of the id space says.
void check_leasable(Oid generator) {
    Relation relation = open_sequence(generator, sequence_lockmode, "Pass the name of a sequence.");
    check_session(relation);
    const FormData_pg_sequence definition = definition_of(generator);
    const bool is_permanent = relation->rd_rel->relpersistence == RELPERSISTENCE_PERMANENT;
    const bool is_ordinary = is_permanent && kind_of_sequence(relation) == Kind::ids;
    relation_close(relation, sequence_lockmode);
    const char *is = !is_permanent                    ? "It is unlogged or temporary."
                     : !is_ordinary                   ? "It is used for UUIDs or ObjectIds."
                     : definition.seqincrement <= 0   ? "It counts downwards."
                     : definition.seqcycle            ? "It has CYCLE."
                     : definition.seqtypid != INT8OID ? "It is not of type bigint."
                                                      : nullptr;
    if (is != nullptr)
        ereport(ERROR,
                (errcode(is_ordinary ? ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE
                                     : ERRCODE_WRONG_OBJECT_TYPE),
                 errmsg("cannot lease a shard for sequence \"%s\"", shown_name(generator)),
                 errdetail("%s", is),
                 is_ordinary ? errhint("Run ALTER SEQUENCE %s AS bigint INCREMENT BY 1 NO MINVALUE "
                                       "NO MAXVALUE NO CYCLE START WITH 1 RESTART.",
                                       qualified_name(generator))
                             : errhint("Use an ordinary sequence.")));
}

// Raises 55000 if the generator has no lease: else any role could have workers started.
const char *server_of(Oid generator) {
    const KnownLease known = read_lease(generator);
    if (!known.is_there || has_state(known, "released"))
        ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                        errmsg("generator \"%s\" holds no lease", shown_name(generator)),
                        errhint("SELECT * FROM shardid_lease.shard_leases shows those that do.")));
    return known.server;
}

// From before the server's start, or from since then.
bool is_prepared(VirtualTransactionId transaction) {
    bool has_more;
    return VirtualTransactionIdIsRecoveredPreparedXact(transaction) ||
           TransactionIdIsValid(TwoPhaseGetXidByVirtualXID(transaction, &has_more));
}

// Transactions that have used the generator before it was leased continue without the lease until
// they end, or are prepared; those from before a release, with what they know of it. No id of
// theirs is another generator's, but the caller may rely on the order.
void wait_for_earlier_users(Oid generator, instr_time start, const char *caller) {
    LOCKTAG tag;
    SET_LOCKTAG_RELATION(tag, MyDatabaseId, generator);
    int count;
    const VirtualTransactionId *users = GetLockConflicts(&tag, ShareRowExclusiveLock, &count);
    for (int i = 0; i < count; ++i)
        while (!is_prepared(users[i]) && !VirtualXactLock(users[i], false)) {
            if (ms_since(start) > Max(lease_timeout_ms, 1))
                ereport(ERROR,
                        (errcode(ERRCODE_OBJECT_IN_USE),
                         errmsg("a transaction can still generate ids of \"%s\" as before",
                                shown_name(generator)),
                         errdetail("It has used the generator, and has not ended within %d ms. For "
                                   "all others %s is complete.",
                                   lease_timeout_ms, caller),
                         errhint("End that transaction, which pg_locks shows; %s need not be "
                                 "called again.",
                                 caller)));
            nap(lock_poll_ms);
        }
}

int32 call_for_lease(const WorkerCall &call, Oid generator) {
    const int32 granted = call_worker(call, generator, server_of(generator));
    // This session may have the sequence locked already, and may generate ids next.
    AcceptInvalidationMessages();
    return granted;
}

}  // namespace

extern "C" {

PG_FUNCTION_INFO_V1(shardid_lease_shard);
Datum shardid_lease_shard(PG_FUNCTION_ARGS) {
    if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
        ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
                        errmsg("%s of lease_shard() is null", PG_ARGISNULL(0) ? "space" : "server"),
                        errhint("Pass the names of an id space and of a foreign server.")));
    const instr_time start = this_moment();
    const char *space = text_to_cstring(PG_GETARG_TEXT_PP(0));
    if (strlen(space) >= NAMEDATALEN)
        ereport(ERROR, (errcode(ERRCODE_NAME_TOO_LONG), errmsg("name is too long"),
                        errdetail("Names of id spaces have at most %d bytes.", NAMEDATALEN - 1),
                        errhint("Pass a shorter name.")));
    const char *server = NameStr(*PG_GETARG_NAME(1));
    const Oid generator = generator_or_default(fcinfo, 2);
    const bool is_any = PG_ARGISNULL(3);
    if (!is_any && PG_GETARG_INT32(3) < 0)
        refuse_field("shard", "shard", PG_GETARG_INT32(3), max_field_bits);
    check_caller(generator, "lease_shard()");
    check_leasable(generator);
    call_script("address_of",
                {text_or_null(server), {ObjectIdGetDatum(owner_of_sequence(generator)), false}});

    WorkerCall call = call_for("join");
    strlcpy(call.space, space, sizeof(call.space));
    strlcpy(call.server, server, sizeof(call.server));
    if (!is_any)
        call.shard = PG_GETARG_INT32(3);
    const int32 shard = call_worker(call, generator, server);
    AcceptInvalidationMessages();
    wait_for_earlier_users(generator, start, "lease_shard()");
    if (shard == shard_id)
        ereport(
            WARNING,
            (errmsg("shardid.shard_id is set to %d, the number that was leased", shard),
             errdetail("Generators without a lease use it, and then generate the same ids."),
             errhint("Lease a shard for each generator of this database, or run ALTER DATABASE ... "
                     "RESET shardid.shard_id, and the same for roles that have the setting.")));
    PG_RETURN_INT32(shard);
}

PG_FUNCTION_INFO_V1(shardid_take_over_shard);
Datum shardid_take_over_shard(PG_FUNCTION_ARGS) {
    const Oid generator = generator_or_default(fcinfo, 0);
    check_caller(generator, "take_over_shard()");
    PG_RETURN_INT32(call_for_lease(call_for("take_over"), generator));
}

PG_FUNCTION_INFO_V1(shardid_take_over_batch);
Datum shardid_take_over_batch(PG_FUNCTION_ARGS) {
    ArrayIterator next = array_create_iterator(PG_GETARG_ARRAYTYPE_P(0), 0, nullptr);
    WorkerCall call = call_for("take_over");
    PreventCommandIfReadOnly("take_over_shards()");
    Datum generator;
    bool is_null;
    while (call.others < most_generators && array_iterate(next, &generator, &is_null)) {
        check_owner(is_null ? InvalidOid : DatumGetObjectId(generator), GetUserId());
        call.generators[call.others++] = DatumGetObjectId(generator);
    }
    PG_RETURN_INT32(call.others == 0 ? 0 : call_for_lease(call, call.generators[0]));
}

PG_FUNCTION_INFO_V1(shardid_release_shard);
Datum shardid_release_shard(PG_FUNCTION_ARGS) {
    const Oid generator = generator_or_default(fcinfo, 0);
    const instr_time start = this_moment();
    check_caller(generator, "release_shard()");
    call_for_lease(call_for("release"), generator);
    wait_for_earlier_users(generator, start, "release_shard()");
    PG_RETURN_VOID();
}

PG_FUNCTION_INFO_V1(shardid_renew_now);
Datum shardid_renew_now(PG_FUNCTION_ARGS) {
    const Oid generator = PG_GETARG_OID(0);
    PreventCommandIfReadOnly("renew_leases()");
    check_owner(generator, GetUserId());
    const LeaseGroup group = group_of(server_of(generator), owner_of_sequence(generator));
    refuse_without_worker(run_worker(task_for(generator, group), lease_timeout_ms));
    PG_RETURN_VOID();
}

}  // extern "C"

}  // namespace shardid
