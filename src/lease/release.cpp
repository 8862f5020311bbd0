#include "core/window.hpp"

#include "lease/release.h"

#include "lease/grant.h"

namespace shardid {

namespace {

// The answer to one request.
Granted ask_for_one(Request *request, Oid role, const char *statement, Reply *reply) {
    begin_transaction();
    const char *json = request->returns ? json_of(*request) : json_of(list_make1(request));
    commit_transaction();
    *reply = ask_registry(request->row.server, role, statement, json);
    return reply->rows == 1 ? granted_of(*reply, 0) : Granted{};
}

// Where the answer to a renewal was lost, the registry knows a later grant than the member: then
// that one is asked for again, and no ids are generated in its window.
Granted return_shard(Request *request, Oid role, Reply *reply) {
    request->returns = true;
    const Granted refused = ask_for_one(request, role, return_statement(), reply);
    if (refused.ok || !refused.is_final)
        return refused;
    request->returns = false;
    const Granted renewed = ask_for_one(request, role, grant_statement(), reply);
    if (!renewed.ok)
        return refused;
    request->window.receipt = renewed.receipt;
    request->returns = true;
    return ask_for_one(request, role, return_statement(), reply);
}

// Held: the generator is not drawn from, and no transaction that has drawn from it is left.
void seal(Job &job, LeasedRow *row) {
    job.waits_for = "a transaction that uses the generator";
    LockRelationOid(job.task.generator, ShareRowExclusiveLock);
    check_owner(job.task.generator, job.task.caller, NoLock);
    *row =
        row_of_task(job, Membership::leased, Membership::sealed, "Nothing is left to be released.");
    WindowRow window{};
    read_window_row(row->origin, &window);
    window.window = no_time;
    put_window_row(row->origin, window);
    row->state = Membership::sealed;
    put_leased_row(*row);
}

}  // namespace

bool give_back(const Job &job, LeasedRow row, Oid role) {
    Request request{};
    request.row = row;
    begin_transaction();
    const bool is_described = describe(&request, nullptr);
    commit_transaction();
    if (!is_described)
        return false;
    Reply reply{};
    const Granted granted = return_shard(&request, role, &reply);
    const char *refusal =
        granted.error == nullptr ? nullptr : psprintf("the registry says: %s", granted.error);
    const char *error = reply.error != nullptr ? reply.error
                        : granted.ok           ? nullptr
                        : refusal != nullptr   ? refusal
                                               : "the registry gave no answer";
    begin_transaction();
    if (error == nullptr || granted.is_final) {
        row.state = Membership::released;
        put_leased_row(row);
    }
    if (error != nullptr) {
        note_failure(row, error);
    } else {
        WindowRow window = request.window;
        window.serial = Max(window.serial, granted.serial);
        window.receipt = granted.receipt;
        window.failed_at = 0;
        window.error = nullptr;
        put_window_row(row.origin, window);
    }
    commit_transaction();
    if (error == nullptr)
        tell(job, 0, 0, "", nullptr, nullptr);
    else if (granted.is_final)
        tell(job, NOTICE, 0, psprintf("generator \"%s\" had no shard to release", row.name),
             psprintf("It generates no more ids, and %s.", error), nullptr);
    else
        tell(job, WARNING, ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
             psprintf("generator \"%s\" has released its lease, but the registry does not know it",
                      row.name),
             psprintf("Shard %d of id space \"%s\" stays granted to this server: %s.", row.shard,
                      row.space, error),
             "The next renewal tries it again, and so does release_shard().");
    return granted.ok || granted.error != nullptr;
}

void forget_request(LeasedRow row) {
    if (joins_first(row)) {
        delete_leased_row(row);
        return;
    }
    row.state = Membership::released;
    put_leased_row(row);
}

void release(Job &job, LeasedRow row, Oid role) {
    begin_transaction();
    if (row.state == Membership::joining) {
        forget_request(row);
        tell(job, NOTICE, 0, psprintf("generator \"%s\" had not been granted a shard", row.name),
             "If the registry has granted one, and its answer was lost, it keeps it for this "
             "server.",
             "See shardid_lease.id_space_shards on the registry.");
    } else if (row.state == Membership::leased) {
        seal(job, &row);
    }
    commit_transaction();
    if (row.state == Membership::sealed)
        give_back(job, row, role);
}

}  // namespace shardid
