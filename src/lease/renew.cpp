#include "lease/renew.h"

#include "lease/grant.h"
#include "lease/release.h"

namespace shardid {

namespace {

bool is_in_group(const LeasedRow &row, const char *server, Oid role) {
    const bool is_same = row.server == nullptr || server == nullptr
                             ? row.server == server
                             : strcmp(row.server, server) == 0;
    return is_same && owner_of_sequence(row.generator) == role;
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

// Those that are leased, the task's own last.
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
        if (row.state != Membership::leased || !describe(request, is_own ? &task : nullptr))
            continue;
        requests = is_own ? lappend(requests, request) : lcons(request, requests);
    }
    commit_transaction();
    return requests;
}

}  // namespace

void renew_group(const Job &job, const LeasedRow &row, Oid role) {
    List *rows = rows_of_group(row.server, role);
    List *requests = requests_of(job.task, rows);
    bool is_answered;
    const char *fault = grant(row.server, role, requests, &is_answered);
    if (requests == NIL ||
        static_cast<Request *>(llast(requests))->row.generator != job.task.generator)
        fault = "the sequence is locked by a transaction";
    if (job.task.kind == TaskKind::take_over && fault != nullptr)
        ereport(ERROR,
                (errcode(ERRCODE_OBJECT_IN_USE),
                 errmsg("generator \"%s\" cannot take over its shard", row.name),
                 errdetail("%s.", fault),
                 errhint("Do what the registry says; if another holder of the shard is gone, run "
                         "shardid_lease.evict_shard() there.")));
    if (job.call != nullptr)
        job.call->granted = row.shard;
    ListCell *cell;
    foreach (cell, rows) {
        const auto &other = *static_cast<LeasedRow *>(lfirst(cell));
        if (is_answered && other.state == Membership::sealed)
            give_back(job, other, role);
    }
}

}  // namespace shardid
