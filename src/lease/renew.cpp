#include "lease/renew.h"

#include "lease/grant.h"

namespace shardid {

namespace {

bool is_in_group(const LeasedRow &row, const char *server, Oid role) {
    return strcmp(row.server, server) == 0 && owner_of_sequence(row.generator) == role;
}

// A row from a dump follows its sequence from now on, even if the sequence is renamed; a row whose
// sequence was dropped is deleted.
void tidy(const LeasedRow &row) {
    if (row.is_by_name && OidIsValid(row.generator))
        put_leased_row(row);
    else if (!row.is_by_name && !OidIsValid(row.generator))
        delete_leased_row(row);
}

List *rows_of_group(const char *server, Oid role) {
    List *rows = NIL;
    begin_transaction();
    ListCell *cell;
    foreach (cell, leased_rows()) {
        auto *row = static_cast<LeasedRow *>(lfirst(cell));
        tidy(*row);
        if (OidIsValid(row->generator) && is_in_group(*row, server, role))
            rows = lappend(rows, row);
    }
    commit_transaction();
    return rows;
}

// To renew those that are leased, and return those that are sealed; the task's own last.
List *requests_of(const WorkerTask &task, List *rows) {
    List *requests = NIL;
    begin_transaction();
    ListCell *cell;
    foreach (cell, rows) {
        const auto &row = *static_cast<LeasedRow *>(lfirst(cell));
        const bool is_own = row.generator == task.generator;
        auto *request = static_cast<Request *>(palloc0(sizeof(Request)));
        request->row = row;
        request->takes_over = is_own && task.kind == TaskKind::take_over;
        request->returns = row.state == Membership::sealed;
        if ((row.state != Membership::leased && row.state != Membership::sealed) ||
            !describe(request, is_own ? &task : nullptr))
            continue;
        requests = is_own ? lappend(requests, request) : lcons(request, requests);
    }
    commit_transaction();
    return requests;
}

}  // namespace

void renew_group(const Job &job, const LeasedRow &row, Oid role) {
    List *requests = requests_of(job.task, rows_of_group(row.server, role));
    Outcome outcome = ask_for(row.server, role, requests);
    if (requests == NIL ||
        static_cast<Request *>(llast(requests))->row.generator != job.task.generator)
        outcome = {"The sequence is locked by a transaction", false, false, false};
    if (job.task.kind == TaskKind::take_over && outcome.fault != nullptr)
        ereport(ERROR,
                (errcode(outcome.is_refused ? ERRCODE_OBJECT_IN_USE : ERRCODE_CANNOT_CONNECT_NOW),
                 errmsg("generator \"%s\" cannot take over its shard", row.name),
                 errdetail("%s.", outcome.fault),
                 outcome.is_refused
                     ? errhint("Do what the registry says; if another holder of the shard is gone, "
                               "run shardid_lease.evict_shard() there.")
                     : errhint("Call it again later.")));
    if (job.call != nullptr)
        job.call->granted = row.shard;
}

}  // namespace shardid
