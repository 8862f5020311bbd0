#include "lease/join.h"

#include "engine/sequence.h"
#include "lease/grant.h"
#include "lease/release.h"

namespace shardid {

namespace {

[[noreturn]] void refuse_second_lease(const LeasedRow &row) {
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("generator \"%s\" holds a lease already", row.name),
                    errdetail("It has shard %d of id space \"%s\".", row.shard, row.space),
                    errhint("Run shardid_lease.release_shard() first.")));
}

// The same id space, by the same way.
bool is_from(const LeasedRow &row, const char *space, const char *server) {
    return strcmp(row.space, space) == 0 && strcmp(row.server, server) == 0;
}

pg_uuid_t new_uuid() {
    return *DatumGetUUIDP(DirectFunctionCall1(gen_random_uuid, Datum{0}));
}

[[noreturn]] void refuse_unreturned(const LeasedRow &row, const char *fault) {
    ereport(
        ERROR,
        (errcode(ERRCODE_CANNOT_CONNECT_NOW),
         errmsg("the release of generator \"%s\" has not reached its registry", row.name),
         errdetail("%s.", fault),
         errhint(
             "Call it again when the registry answers. If the registry no longer exists, "
             "delete the generator's row from shardid_lease.leased_generator as a superuser.")));
}

}  // namespace

// The lease is stored before the registry is asked: a caller that asks again, because the answer
// was lost, has the same one.
void join(const Job &job, const char *server, Oid role) {
    const WorkerTask &task = job.task;
    WorkerCall *call = job.call;
    LeasedRow row;
    begin_transaction();
    bool is_known = read_leased_row(task.generator, &row);
    commit_transaction();
    if (is_known && row.state == Membership::leased) {
        if (!is_from(row, call->space, server) ||
            (call->shard != any_shard && call->shard != row.shard))
            refuse_second_lease(row);
        call->granted = row.shard;
        return;
    }
    // An answer that it has another id space of this name does not keep the caller from leasing
    // there.
    if (is_known && row.state == Membership::sealed) {
        const Outcome returned = give_back(job, row, role);
        if (!returned.is_answered && is_from(row, call->space, server))
            refuse_unreturned(row, returned.fault);
    }

    begin_transaction();
    is_known = read_leased_row(task.generator, &row);
    if (!is_known) {
        row = {};
        row.origin = new_uuid();
    }
    if (!is_known || row.state != Membership::joining)
        row.lease = new_uuid();
    Request request{};
    request.row = row;
    request.row.generator = task.generator;
    request.row.name = shown_name(task.generator);
    request.row.space = call->space;
    request.row.server = server;
    request.row.shard = call->shard;
    request.row.state = Membership::joining;
    request.row.has_layout = false;
    request.joins = true;
    if (!describe(&request, nullptr))
        ereport(ERROR, (errcode(ERRCODE_OBJECT_IN_USE),
                        errmsg("sequence \"%s\" is locked by a transaction", request.row.name),
                        errhint("Call it again when that has ended.")));
    put_leased_row(request.row);
    commit_transaction();

    tell(job, 0, 0, "", nullptr, nullptr);
    const Outcome outcome = ask_for(server, role, list_make1(&request));
    begin_transaction();
    if (outcome.fault == nullptr)
        call->granted =
            row_of_task(job, Membership::leased, Membership::leased, "Call lease_shard() again.")
                .shard;
    else if (outcome.is_answered)
        forget_request(request.row);
    commit_transaction();
    if (outcome.fault == nullptr)
        return;
    ereport(ERROR,
            (errcode(outcome.is_refused ? ERRCODE_OBJECT_IN_USE : ERRCODE_CANNOT_CONNECT_NOW),
             errmsg("id space \"%s\" grants no lease to generator \"%s\"", call->space,
                    request.row.name),
             errdetail("%s.", outcome.fault),
             outcome.is_refused
                 ? errhint("Do what the registry says; if the holder of the shard is gone, run "
                           "shardid_lease.evict_shard() there, or ask for another shard.")
                 : errhint("Call it again later.")));
}

}  // namespace shardid
