#include "lease/grant.h"

#include "engine/settings.h"

extern "C" {
#include "mb/pg_wchar.h"
}

namespace shardid {

namespace {

constexpr int longest_error = 1000;
constexpr int log_again_ms = 60 * 1000;

// Stores the error in the generator's row, and sends it to the log once per minute, as long as it
// lasts.
void note_failure(const LeasedRow &row, const char *error, bool is_refused) {
    WindowRow window{};
    read_window_row(row.origin, &window);
    const TimestampTz now = GetCurrentTimestamp();
    window.failed_at = now;
    window.is_refused = is_refused;
    window.error = pnstrdup(error, static_cast<Size>(pg_mbcliplen(
                                       error, static_cast<int>(strlen(error)), longest_error)));
    const bool is_due = window.logged_at == 0 || window.logged_at > now ||
                        TimestampDifferenceExceeds(window.logged_at, now, log_again_ms);
    if (is_due)
        window.logged_at = now;
    put_window_row(row.origin, window);
    if (is_due)
        ereport(LOG, (errmsg("could not renew the lease of generator \"%s\"", row.name),
                      errdetail("%s.", window.error), errhint("See shardid_lease.shard_leases.")));
}

void note_window(const Request &request, const Granted &granted) {
    WindowRow window = request.window;
    if (!request.returns) {
        window.family = request.standing.family;
        window.moved_at = request.moved_at;
        window.window = {static_cast<uint64>(granted.from), static_cast<uint64>(granted.until)};
        window.length_ms = granted.lease_ms;
        window.renewed_at = GetCurrentTimestamp();
    }
    window.serial = granted.serial;
    window.receipt = granted.receipt;
    window.failed_at = 0;
    window.error = nullptr;
    put_window_row(request.row.origin, window);
}

// Null if the answer grants what was asked for. The registry may belong to another party.
const char *fault_of(const Request &request, const Granted &granted) {
    if (!granted.ok)
        return psprintf("The registry says: %s", granted.error == nullptr ? "no" : granted.error);
    if (!granted.is_readable || granted.registry == nullptr)
        return "The registry gave an answer that cannot be read";
    if (request.returns)
        return nullptr;
    if (granted.incarnation == nullptr ||
        strcmp(granted.incarnation, incarnation_text(request.standing.family, request.moved_at)) !=
            0 ||
        (request.row.shard != any_shard && request.row.shard != granted.shard))
        return "The registry gave the answer to another request";
    if (request.row.has_layout && request.row.layout != granted.layout)
        return "The registry says: the id space has another layout than the one that was leased "
               "from";
    return nullptr;
}

// Whether the generator is still what the request was made for: else no answer to it is stored.
bool is_as_requested(const Request &request, LeasedRow *row) {
    WindowRow window{};
    if (!read_leased_row(request.row.origin, row))
        return false;
    read_window_row(request.row.origin, &window);
    return row->state == request.row.state && row->shard == request.row.shard &&
           row->generator == request.row.generator && window.serial == request.window.serial;
}

// The row after an answer without a fault, or of a release that is final.
bool follows(LeasedRow *row, const Request &request, const Granted &granted) {
    if (request.returns) {
        row->state = Membership::released;
        return true;
    }
    if (row->state == Membership::leased && row->registry != nullptr &&
        strcmp(row->registry, granted.registry) == 0)
        return false;
    row->state = Membership::leased;
    row->shard = static_cast<int32>(granted.shard);
    row->registry = granted.registry;
    row->layout = granted.layout;
    row->has_layout = true;
    return true;
}

// Granted{} if there is no answer, for the reply's reason.
Outcome note_answer(const Request &request, const Granted &granted, const Reply &reply) {
    LeasedRow row;
    Outcome outcome{nullptr, granted.origin != nullptr, reply.is_refusal, granted.is_final};
    if (outcome.is_answered)
        outcome.fault = fault_of(request, granted);
    else
        outcome.fault = reply.error != nullptr ? reply.error : "The registry gave no answer";
    outcome.is_refused |= outcome.is_answered && outcome.fault != nullptr && !granted.is_later;
    if (!is_as_requested(request, &row)) {
        outcome.fault = "The generator's lease is another one now";
        return outcome;
    }
    if (outcome.fault == nullptr)
        note_window(request, granted);
    else
        note_failure(row, outcome.fault, outcome.is_refused);
    if ((outcome.fault == nullptr || granted.is_final) && follows(&row, request, granted))
        put_leased_row(row);
    return outcome;
}

Granted answer_to(const Request &request, const Reply &reply) {
    const char *origin = text_of(request.row.origin);
    for (int n = 0; n < reply.rows; ++n) {
        const Granted granted = granted_of(reply, n);
        if (granted.origin != nullptr && strcmp(granted.origin, origin) == 0)
            return granted;
    }
    return {};
}

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

Outcome ask_for(const char *server, Oid role, List *requests) {
    Outcome outcome{};
    if (requests == NIL)
        return outcome;
    begin_transaction();
    const char *json = json_of(requests);
    commit_transaction();
    const Reply reply = ask_registry(server, role, json);
    begin_transaction();
    ListCell *cell;
    foreach (cell, requests) {
        const auto &request = *static_cast<Request *>(lfirst(cell));
        outcome = note_answer(request, answer_to(request, reply), reply);
    }
    commit_transaction();
    return outcome;
}

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
void release(const Job &job, LeasedRow row, Oid role) {
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
