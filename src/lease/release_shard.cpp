// The SQL functions of a member that have the background worker do something now, and wait for it:
// release_now, which release_shard() calls, and renew_now, for renew_leases().
#include "core/count.hpp"
#include "core/wait.hpp"
#include "core/window.hpp"
#include "core/worked_widths.hpp"

#include "lease/membership.h"

#include "engine/lease.h"
#include "engine/refusals.h"
#include "engine/renewal.h"
#include "engine/sequence.h"
#include "engine/settings.h"

namespace shardid {

namespace {

constexpr int64 for_ever_ms = INT64_MAX / 2;

LeasedRow leased_row_of(Oid generator) {
    LeasedRow row;
    if (!read_leased_row(lease_tables().generators, generator, &row) ||
        strcmp(row.state, "released") == 0)
        ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                        errmsg("generator \"%s\" holds no lease", shown_name(generator)),
                        errhint("SELECT * FROM shardid_lease.shard_leases shows those that do.")));
    return row;
}

// The worker would wait for this transaction, which waits for the worker.
void check_committed(Oid generator, const LeasedRow &row) {
    if (row.is_uncommitted)
        ereport(ERROR,
                (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                 errmsg("generator \"%s\" was leased in this transaction", shown_name(generator)),
                 errhint("Release its shard after the commit; or roll back.")));
}

void run(WorkerTask::Kind kind, Oid generator, int64 wait_ms) {
    const WorkerTask task{kind, MyDatabaseId, generator, {}, InvalidXLogRecPtr, 0};
    if (run_worker(task, wait_ms) == WorkerEnd::no_slot)
        ereport(ERROR, (errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
                        errmsg("there is no free slot for a background worker"),
                        errhint("Increase max_worker_processes.")));
}

}  // namespace

extern "C" {

PG_FUNCTION_INFO_V1(shardid_release_shard);
PG_FUNCTION_INFO_V1(shardid_renew_now);

// The lock that keeps drawers out is held to the end of the transaction; that the generator is
// sealed is committed before, by the worker, so that a rollback does not bring the window back.
Datum shardid_release_shard(PG_FUNCTION_ARGS) {
    const Oid generator = PG_GETARG_OID(0);
    PreventCommandIfReadOnly("release_shard()");
    check_owner(generator);
    LockRelationOid(generator, ShareRowExclusiveLock);
    check_owner(generator);
    const LeasedRow row = leased_row_of(generator);
    check_committed(generator, row);

    run(WorkerTask::Kind::release, generator, for_ever_ms);
    // This session holds its lock already, and may draw next.
    AcceptInvalidationMessages();

    LeasedRow after;
    if (!read_leased_row(lease_tables().generators, generator, &after) ||
        strcmp(after.state, "leased") == 0 || strcmp(after.state, "permanent") == 0)
        ereport(ERROR,
                (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                 errmsg("could not release the shard of generator \"%s\"", shown_name(generator)),
                 errdetail("The background worker has ended early; the server's log says why."),
                 errhint("Try again.")));
    if (strcmp(after.state, "released") != 0)
        ereport(WARNING, (errmsg("generator \"%s\" is sealed, but its registry does not know it",
                                 shown_name(generator)),
                          errdetail("Shard %d of id space \"%s\" stays granted to this server; the "
                                    "server's log says why.",
                                    row.shard, row.space),
                          errhint("Call release_shard() again later; or run "
                                  "shardid_lease.evict_shard(%s, %d) on the registry.",
                                  quote_literal_cstr(row.space), row.shard)));
    PG_RETURN_VOID();
}

Datum shardid_renew_now(PG_FUNCTION_ARGS) {
    const Oid generator = PG_GETARG_OID(0);
    PreventCommandIfReadOnly("renew_leases()");
    check_owner(generator);
    run(WorkerTask::Kind::renew, generator, Max(lease_timeout_ms, 1));
    PG_RETURN_VOID();
}

}  // extern "C"

}  // namespace shardid
