#include "core/window.hpp"

#include "lease/grant.h"

extern "C" {
#include "mb/pg_wchar.h"
}

namespace shardid {

namespace {

constexpr int longest_error = 1000;
constexpr int log_again_ms = 60 * 1000;

void note_window(const Request &request, const Granted &granted) {
    WindowRow window = request.window;
    window.family = request.standing.family;
    window.moved_at = request.moved_at;
    window.window = {static_cast<uint64>(granted.from), static_cast<uint64>(granted.until)};
    window.length_ms = granted.lease_ms;
    window.serial = granted.serial;
    window.receipt = granted.receipt;
    window.renewed_at = GetCurrentTimestamp();
    window.failed_at = 0;
    window.error = nullptr;
    put_window_row(request.row.origin, window);
}

// Null if the answer grants what was asked for. The registry may belong to another party, and an
// answer can be one to an earlier request.
const char *fault_of(const Request &request, const Granted &granted) {
    if (!granted.ok)
        return psprintf("the registry says: %s", granted.error == nullptr ? "no" : granted.error);
    if (!granted.is_readable || granted.registry == nullptr)
        return "the registry gave an answer that cannot be read";
    if (granted.incarnation == nullptr ||
        strcmp(granted.incarnation, incarnation_text(request.standing.family, request.moved_at)) !=
            0 ||
        (request.row.shard != any_shard && request.row.shard != granted.shard))
        return "the registry gave the answer to another request";
    if (request.row.has_layout && request.row.layout != granted.layout)
        return "the registry says: the id space has another layout than the one that was leased "
               "from";
    const bool is_same_registry =
        request.row.registry != nullptr && strcmp(request.row.registry, granted.registry) == 0;
    // A shard has serials of its own, and a generator that joins can be given another shard.
    if (!request.joins && is_same_registry && granted.serial <= request.window.serial)
        return "the registry gave the answer to an earlier request";
    return nullptr;
}

// Returns what is wrong with it, or null.
const char *note_answer(const Request &request, const Granted &granted) {
    const char *fault = fault_of(request, granted);
    LeasedRow row;
    if (!read_leased_row(request.row.origin, &row) || row.state != request.row.state ||
        row.generator != request.row.generator)
        return "the generator's lease is another one now";
    if (fault != nullptr) {
        note_failure(row, fault);
        return fault;
    }
    note_window(request, granted);
    if (row.state == Membership::leased && row.registry != nullptr &&
        strcmp(row.registry, granted.registry) == 0)
        return nullptr;
    row.state = Membership::leased;
    row.shard = static_cast<int32>(granted.shard);
    row.registry = granted.registry;
    row.layout = granted.layout;
    row.has_layout = true;
    put_leased_row(row);
    return nullptr;
}

bool is_of(const Granted &granted, const Request &request) {
    return granted.origin != nullptr &&
           strcmp(granted.origin, DatumGetCString(DirectFunctionCall1(
                                      uuid_out, UUIDPGetDatum(&request.row.origin)))) == 0;
}

}  // namespace

void note_failure(const LeasedRow &row, const char *error) {
    WindowRow window{};
    read_window_row(row.origin, &window);
    const TimestampTz now = GetCurrentTimestamp();
    window.failed_at = now;
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

const char *grant(const char *server, Oid role, List *requests, bool *is_answered) {
    *is_answered = false;
    if (requests == NIL)
        return nullptr;
    begin_transaction();
    const char *json = json_of(requests);
    commit_transaction();
    const Reply reply = ask_registry(server, role, grant_statement(), json);
    const char *fault = nullptr;
    begin_transaction();
    ListCell *cell;
    foreach (cell, requests) {
        const auto &request = *static_cast<Request *>(lfirst(cell));
        fault = reply.error != nullptr ? reply.error : "the registry gave no answer";
        bool is_noted = false;
        for (int n = 0; n < reply.rows && !is_noted; ++n) {
            const Granted granted = granted_of(reply, n);
            is_noted = is_of(granted, request);
            if (!is_noted)
                continue;
            *is_answered = true;
            fault = note_answer(request, granted);
        }
        if (!is_noted)
            note_failure(request.row, fault);
    }
    commit_transaction();
    return fault;
}

}  // namespace shardid
