// The background worker that renews leases, for all generators of the database that share a
// registry and a role, in one round trip; or joins, takes over or releases one for a session that
// waits (start_worker.h). It does this once, and ends.
#include "core/window.hpp"

#include "lease/exchange.h"
#include "lease/join.h"
#include "lease/membership.h"
#include "lease/release.h"
#include "lease/renew.h"
#include "lease/seats.h"

#include "engine/settings.h"

extern "C" {
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "tcop/tcopprot.h"
}

namespace shardid {

namespace {

Job job = {.task = {}, .call = nullptr, .waits_for = "a lock on the sequence"};

// What the database, or the role, may have set differently. No standby is waited for: a promoted
// standby is another incarnation, so it does not matter which rows it has.
void set_defaults() {
    const struct {
        const char *name;
        const char *value;
    } settings[] = {{"search_path", "pg_catalog, pg_temp"},
                    {"default_transaction_read_only", "off"},
                    {"default_transaction_isolation", "read committed"},
                    {"synchronous_commit", "local"},
                    {"statement_timeout", "0"},
                    {"lock_timeout", psprintf("%d", registry_timeout_ms)},
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
    const Oid role = owner_of_sequence(job.task.generator);
    const bool is_join = job.task.kind == TaskKind::join;
    const LeasedRow row = is_join ? LeasedRow{} : row_for_task();
    const char *server = is_join ? job.call->server : row.server;
    const LeaseGroup group = group_of(server, role);
    commit_transaction();
    // Of another one by now, this is another worker's work.
    if (group.role != job.task.group.role || group.server != job.task.group.server)
        return;
    start_deadline();
    if (is_join) {
        join(job, server, role);
        return;
    }
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

// The session that has started this worker waits for that.
void tell_begun() {
    PGPROC *session = BackendPidGetProc(MyBgworkerEntry->bgw_notify_pid);
    if (session != nullptr)
        SetLatch(&session->procLatch);
}

// The session has reserved them; but it may have called the worker off.
bool take_seats() {
    const bool has_all = take(seat_of(job.task.group)) && take(seat_of_server(job.task.seat));
    tell_begun();
    return has_all;
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
    if (!take_seats())
        proc_exit(0);
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
