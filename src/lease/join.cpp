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
    return strcmp(row.space, space) == 0 &&
           (server == nullptr ? row.server == nullptr
                              : row.server != nullptr && strcmp(row.server, server) == 0);
}

LeasedRow new_row(const char *server) {
    LeasedRow row{};
    row.origin = *DatumGetUUIDP(DirectFunctionCall1(gen_random_uuid, Datum{0}));
    row.state = Membership::released;
    row.server = server;
    return row;
}

}  // namespace

// The origin is stored before the registry is asked: a caller that asks again, because the answer
// was lost, has the same origin.
void join(const Job &job, const char *server, Oid role) {
    const WorkerTask &task = job.task;
    WorkerCall *call = job.call;
    LeasedRow before;
    begin_transaction();
    bool is_known = read_leased_row(task.generator, &before);
    commit_transaction();
    if (is_known && before.state == Membership::leased) {
        if (!is_from(before, call->space, server) ||
            (call->shard != any_shard && call->shard != before.shard))
            refuse_second_lease(before);
        call->granted = before.shard;
        return;
    }
    // An answer that it has another id space of this name does not keep the caller from leasing
    // there.
    const bool is_returned =
        !is_known || before.state != Membership::sealed || give_back(job, before, role);

    begin_transaction();
    is_known = read_leased_row(task.generator, &before);
    if (is_known && !is_returned && is_from(before, call->space, server))
        ereport(
            ERROR,
            (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
             errmsg("the release of generator \"%s\" has not reached its registry", before.name),
             errdetail("%s", call->detail),
             errhint("Call it again when the registry answers. If the registry no longer exists, "
                     "delete the generator's row from shardid_lease.leased_generator as a "
                     "superuser.")));
    if (!is_known)
        before = new_row(server);
    Request request{};
    request.row = before;
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
    bool is_answered;
    const char *fault = grant(server, role, list_make1(&request), &is_answered);
    if (fault == nullptr) {
        begin_transaction();
        call->granted =
            row_of_task(job, Membership::leased, Membership::leased, "Call lease_shard() again.")
                .shard;
        commit_transaction();
        return;
    }
    if (is_answered) {
        begin_transaction();
        if (is_known && before.state != Membership::joining)
            put_leased_row(before);
        else
            forget_request(request.row);
        commit_transaction();
    }
    ereport(
        ERROR,
        (errcode(is_answered ? ERRCODE_OBJECT_IN_USE
                             : ERRCODE_SQLCLIENT_UNABLE_TO_ESTABLISH_SQLCONNECTION),
         errmsg("id space \"%s\" grants no lease to generator \"%s\"", call->space,
                request.row.name),
         errdetail("%s.", fault),
         is_answered ? errhint("Do what the registry says; if the holder of the shard is gone, run "
                               "shardid_lease.evict_shard() there, or ask for another shard.")
                     : errhint("Call it again: it asks for the same shard.")));
}

}  // namespace shardid
