// The background worker that renews leases, for all generators of the database that share a
// registry and a role, in one round trip; or joins, takes over or releases one for a session that
// waits (start_worker.h). It does this once, and ends.
#include "core/window.hpp"

#include "lease/exchange.h"
#include "lease/join.h"
#include "lease/membership.h"
#include "lease/release.h"
#include "lease/renew.h"

#include "engine/settings.h"

extern "C" {
#include "storage/ipc.h"
#include "tcop/tcopprot.h"
}

namespace shardid {

namespace {

Job job = {.task = {}, .call = nullptr, .waits_for = "another request about the lease"};

// The session that waits is told the reason before the worker ends.
int most_of(int timeout_ms) {
    return Max(timeout_ms - timeout_ms / 5, 1);
}

// What the database, or the role, may have set differently. No standby is waited for: a promoted
// standby is another incarnation, so it does not matter which rows it has.
void set_defaults() {
    const struct {
        const char *name;
        const char *value;
    } settings[] = {
        {"search_path", "pg_catalog, pg_temp"},
        {"default_transaction_read_only", "off"},
        {"default_transaction_isolation", "read committed"},
        {"synchronous_commit", "local"},
        {"statement_timeout", "0"},
        {"lock_timeout", psprintf("%d", job.call == nullptr ? 2000 : most_of(job.task.timeout_ms))},
        {"idle_in_transaction_session_timeout", "0"},
        {longest_transaction_setting, "0"},
        {"role", "none"}};
    for (const auto &setting : settings)
        SetConfigOption(setting.name, setting.value, PGC_SUSET, PGC_S_OVERRIDE);
}

// The row on which a task other than join works, as it is committed now.
LeasedRow row_for_task() {
    if (job.task.kind == TaskKind::release)
        return row_of_task(job, Membership::joining, Membership::sealed,
                           "Nothing is to be released.");
    return row_of_task(job, Membership::leased,
                       job.call == nullptr ? Membership::sealed : Membership::leased,
                       "Run shardid_lease.lease_shard().");
}

void run() {
    begin_transaction();
    require_lease_tables();
    if (job.call != nullptr)
        check_owner(job.task.generator, job.task.caller);
    LeasedRow row{};
    const Oid role = owner_of_sequence(job.task.generator);
    const bool is_join = job.task.kind == TaskKind::join;
    if (!is_join)
        row = row_for_task();
    const char *server = is_join ? job.call->server : row.server;
    // A renewal that finds another worker at work ends.
    const bool is_locked = lock_group(group_of(server, role), job.call != nullptr);
    commit_transaction();
    if (!is_locked)
        return;
    start_deadline(job.call == nullptr ? registry_timeout_ms : most_of(job.task.timeout_ms));
    if (is_join) {
        join(job, server, role);
        return;
    }
    // The worker that had the lock may have changed the row.
    begin_transaction();
    row = row_for_task();
    commit_transaction();
    if (job.task.kind == TaskKind::release)
        release(job, row, role);
    else
        renew_group(job, row, role);
}

void run_for_caller() {
    dsm_segment *segment = dsm_attach(job.task.call);
    if (segment == nullptr)  // the session has given up
        return;
    dsm_pin_mapping(segment);
    job.call = static_cast<WorkerCall *>(dsm_segment_address(segment));
    set_defaults();
    PG_TRY();
    run();
    PG_CATCH();
    tell_error(job, error_of_failed_transaction());
    PG_END_TRY();
    job.call->is_done = true;
}

}  // namespace

extern "C" {

PGDLLEXPORT void shardid_lease_worker(Datum argument);

void shardid_lease_worker(Datum /*argument*/) {
    memcpy(&job.task, MyBgworkerEntry->bgw_extra, sizeof(job.task));
    pqsignal(SIGTERM, die);
    BackgroundWorkerUnblockSignals();
    BackgroundWorkerInitializeConnectionByOid(job.task.database, InvalidOid,
                                              BGWORKER_BYPASS_ALLOWCONN);
    pgstat_report_activity(STATE_RUNNING, "shardid lease");
    if (job.task.kind == TaskKind::renew) {
        set_defaults();
        run();
    } else {
        run_for_caller();
    }
    proc_exit(0);
}

}  // extern "C"

}  // namespace shardid
