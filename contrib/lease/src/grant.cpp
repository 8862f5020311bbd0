#include "grant.h"

#include "settings.h"

extern "C" {
#include "mb/pg_wchar.h"
}

namespace shardid {

namespace {

// Not inside a character.
template <int room>
void copy(char (&to)[room], const char *from) {
    const char *text = from == nullptr ? "" : from;
    const int length = pg_mbcliplen(text, static_cast<int>(strlen(text)), room - 1);
    strlcpy(to, text, static_cast<Size>(length) + 1);
}

}  // namespace

void tell(const Job &job, int level, int sqlstate, const char *message, const char *detail,
          const char *hint) {
    if (job.call == nullptr)
        return;
    WorkerCall *call = job.call;
    call->level = level;
    call->sqlstate = sqlstate;
    copy(call->message, message);
    copy(call->detail, detail);
    copy(call->hint, hint);
}

void tell_error(const Job &job, const ErrorData *error) {
    if (error->sqlerrcode == ERRCODE_LOCK_NOT_AVAILABLE)
        tell(
            job, ERROR, error->sqlerrcode,
            psprintf("could not wait for a lock on the sequence within %d ms", registry_timeout_ms),
            nullptr, "Call it again when that has ended; pg_locks shows what it waits for.");
    else
        tell(job, ERROR, error->sqlerrcode, error->message, error->detail, error->hint);
}

LeasedRow row_of_task(const Job &job, Membership least, Membership most, const char *hint) {
    LeasedRow row;
    if (!read_leased_row(job.task.generator, &row) || row.state < least || row.state > most)
        ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                        errmsg("generator \"%s\" holds no lease", shown_name(job.task.generator)),
                        errhint("%s", hint)));
    return row;
}

Answer ask_for(const char *server, Oid role, List *requests) {
    if (requests == NIL)
        return {};
    begin_transaction();
    const char *json = json_of(requests);
    commit_transaction();
    const Reply reply = ask_registry(server, role, json);
    begin_transaction();
    const Answer answer = store_answers(json, reply);
    commit_transaction();
    return answer;
}

// The window stays this incarnation's for ever: so a session that still uses it, or a transaction
// that has begun before, generates no id that another holder of the shard generates.
Answer give_back(const Job &job, const LeasedRow &row, Oid role) {
    Request request{};
    request.row = row;
    request.returns = true;
    begin_transaction();
    const bool is_described = describe(&request, nullptr);
    commit_transaction();
    Answer answer{};
    answer.fault = "The sequence is locked by a transaction";
    if (is_described)
        answer = ask_for(row.server, role, list_make1(&request));
    if (answer.fault == nullptr)
        tell(job, 0, 0, "", nullptr, nullptr);
    else if (answer.is_final)
        tell(job, NOTICE, 0, psprintf("generator \"%s\" had no shard to release", row.name),
             psprintf("It generates no more ids. %s.", answer.fault), nullptr);
    else
        tell(job, WARNING, ERRCODE_CANNOT_CONNECT_NOW,
             psprintf("generator \"%s\" has released its lease, but the registry does not know it",
                      row.name),
             psprintf("Shard %d of id space \"%s\" stays granted to this server. %s.", row.shard,
                      row.space, answer.fault),
             "The next renewal tries it again, and so does release_shard().");
    return answer;
}

// A generator that joins may have been granted a shard, whose answer was lost.
void release(const Job &job, LeasedRow row, Oid role) {
    if (row.state == Membership::leased) {
        begin_transaction();
        row.state = Membership::sealed;
        change_lease(row, "no_more_ids");
        commit_transaction();
    }
    const Answer answer = give_back(job, row, role);
    if (row.state != Membership::joining)
        return;
    begin_transaction();
    change_lease(row, "not_granted");
    commit_transaction();
    if (answer.fault != nullptr && !answer.is_final)
        tell(job, NOTICE, 0, psprintf("generator \"%s\" had not been granted a shard", row.name),
             psprintf(
                 "If the registry has granted one, it stays held until it is evicted there. %s.",
                 answer.fault),
             "See shardid_lease.id_space_shards on the registry.");
}

}  // namespace shardid
