#include "core/window.hpp"

#include "lease/release.h"

namespace shardid {

// The window stays this incarnation's for ever: so a session that still uses it, or a transaction
// that has begun before, generates no id that another holder of the shard generates.
Outcome give_back(const Job &job, const LeasedRow &row, Oid role) {
    Request request{};
    request.row = row;
    request.returns = true;
    begin_transaction();
    const bool is_described = describe(&request, nullptr);
    commit_transaction();
    Outcome outcome{"The sequence is locked by a transaction", false, false, false};
    if (is_described)
        outcome = ask_for(row.server, role, list_make1(&request));
    if (outcome.fault == nullptr)
        tell(job, 0, 0, "", nullptr, nullptr);
    else if (outcome.is_final)
        tell(job, NOTICE, 0, psprintf("generator \"%s\" had no shard to release", row.name),
             psprintf("It generates no more ids. %s.", outcome.fault), nullptr);
    else
        tell(job, WARNING, ERRCODE_CANNOT_CONNECT_NOW,
             psprintf("generator \"%s\" has released its lease, but the registry does not know it",
                      row.name),
             psprintf("Shard %d of id space \"%s\" stays granted to this server. %s.", row.shard,
                      row.space, outcome.fault),
             "The next renewal tries it again, and so does release_shard().");
    return outcome;
}

void forget_request(LeasedRow row) {
    if (joins_first(row)) {
        delete_leased_row(row);
        return;
    }
    WindowRow window;
    if (read_window_row(row.origin, &window)) {
        window.failed_at = 0;
        window.error = nullptr;
        put_window_row(row.origin, window);
    }
    row.state = Membership::released;
    put_leased_row(row);
}

// A generator that joins may have been granted a shard, whose answer was lost.
void release(Job &job, LeasedRow row, Oid role) {
    if (row.state == Membership::leased) {
        begin_transaction();
        row.state = Membership::sealed;
        put_leased_row(row);
        commit_transaction();
    }
    const Outcome outcome = give_back(job, row, role);
    if (row.state != Membership::joining)
        return;
    begin_transaction();
    forget_request(row);
    commit_transaction();
    if (outcome.fault != nullptr && !outcome.is_final)
        tell(job, NOTICE, 0, psprintf("generator \"%s\" had not been granted a shard", row.name),
             psprintf(
                 "If the registry has granted one, it stays held until it is evicted there. %s.",
                 outcome.fault),
             "See shardid_lease.id_space_shards on the registry.");
}

}  // namespace shardid
