#include "request.h"

#include "core/binding.hpp"

#include "engine/incarnation.h"
#include "engine/sequence_page.h"

extern "C" {
#include "access/xlog.h"
#include "commands/dbcommands.h"
#include "lib/stringinfo.h"
#include "postmaster/postmaster.h"
#include "utils/json.h"
}

namespace shardid {

namespace {

constexpr int64 epoch_difference_ms =
    int64{POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE} * SECS_PER_DAY * 1000;

// In milliseconds since 1970.
int64 unix_ms(TimestampTz ts) {
    return ts / us_per_ms + epoch_difference_ms;
}

void append_name(StringInfo json, const char *name) {
    appendStringInfo(json, "%s\"%s\": ", json->data[json->len - 1] == '{' ? "" : ", ", name);
}

void append(StringInfo json, const char *name, const char *value) {
    append_name(json, name);
    if (value == nullptr)
        appendStringInfoString(json, "null");
    else
        escape_json(json, value);
}

void append(StringInfo json, const char *name, int64 value) {
    append_name(json, name);
    appendStringInfo(json, INT64_FORMAT, value);
}

void append(StringInfo json, const char *name, bool value) {
    append_name(json, name);
    appendStringInfoString(json, value ? "true" : "false");
}

// Of a generator that has generated ids: the layout of its tick.
void append_layout(StringInfo json, uint64 binding) {
    if (binding == unbound || kind_of(binding) != Kind::ids)
        return;
    const Layout layout = layout_of(binding);
    append(json, "bound_epoch", unix_ms(layout.epoch_us));
    append(json, "bound_shard_bits", int64{layout.widths.shard_bits});
    append(json, "bound_sequence_bits", int64{layout.widths.sequence_bits});
}

void append_server(StringInfo json) {
    append(json, "host", host_name());
    append(json, "port", int64{PostPortNumber});
    append(json, "database", get_database_name(MyDatabaseId));
    append(json, "system_identifier", psprintf(UINT64_FORMAT, GetSystemIdentifier()));
    append(json, "timeline", int64{GetWALInsertionTimeLine()});
}

void append_request(StringInfo json, const Request &request) {
    const LeasedRow &row = request.row;
    append(json, "space", row.space);
    if (row.shard != any_shard)
        append(json, "shard", int64{row.shard});
    append(json, "origin", text_of(row.origin));
    append(json, "lease", text_of(row.lease));
    append(json, "registry", row.registry);
    append(json, "incarnation", incarnation_text(request.standing.family, request.moved_at));
    append(json, "place", place_of(row.generator));
    append(json, "started", int64{PgStartTime} + epoch_difference_ms * us_per_ms);
    append(json, "tick", static_cast<int64>(request.standing.tick));
    append_layout(json, request.standing.binding);
    append(json, "clock", unix_ms(GetCurrentTimestamp()));
    append(json, "receipt", request.window.receipt);
    append(json, "joins", request.joins);
    append(json, "takes_over", request.takes_over);
    append(json, "returns", request.returns);
    append_server(json);
}

// Without waiting: a session that alters a sequence must not keep the other leases from being
// renewed.
Relation open_at_once(Oid generator) {
    if (!ConditionalLockRelationOid(generator, page_lock))
        return nullptr;
    Relation relation = try_relation_open(generator, NoLock);
    if (relation == nullptr)
        UnlockRelationOid(generator, page_lock);
    return relation;
}

Standing standing_of(Relation sequence) {
    const Locator locator = locator_of(sequence);
    const OpenPage page = lock_page(ReadBuffer(sequence, 0), BUFFER_LOCK_SHARE);
    Standing standing{
        last_tick_of(page),
        is_ours(page, stamp_of(locator)) ? InvalidXLogRecPtr : BufferGetLSNAtomic(page.buffer),
        binding_of(page),
        {}};
    close_page(page);
    standing.family = family_of(RelationGetRelid(sequence), locator);
    return standing;
}

// The incarnation that a window is asked for: as long as others do not move the page, it is the one
// to which its window was granted. REQUIRED: the window is the row's own, or zero.
XLogRecPtr incarnation_move(const Standing &standing, const WindowRow &window) {
    if (standing.moved_at != InvalidXLogRecPtr ||
        strcmp(window.family.text, standing.family.text) != 0)
        return standing.moved_at;
    return window.moved_at;
}

}  // namespace

bool describe(Request *request, const WorkerTask *session) {
    const LeasedRow &row = request->row;
    request->window = {};
    read_window_row(row.origin, &request->window);
    if (session != nullptr && session->family.text[0] != '\0') {
        request->standing = {session->tick, session->moved_at, unbound, session->family};
    } else {
        Relation relation = open_at_once(row.generator);
        if (relation == nullptr)
            return false;
        request->standing = standing_of(relation);
        relation_close(relation, page_lock);
    }
    request->moved_at = incarnation_move(request->standing, request->window);
    return true;
}

const char *json_of(List *requests) {
    StringInfoData json;
    initStringInfo(&json);
    ListCell *cell;
    foreach (cell, requests) {
        appendStringInfoString(&json, json.len == 0 ? "[{" : "}, {");
        append_request(&json, *static_cast<Request *>(lfirst(cell)));
    }
    appendStringInfoString(&json, "}]");
    return json.data;
}

const char *incarnation_text(const Digest &family, XLogRecPtr moved_at) {
    return psprintf("%s@%X/%X", family.text, static_cast<uint32>(moved_at >> 32),
                    static_cast<uint32>(moved_at));
}

const char *text_of(const pg_uuid_t &uuid) {
    return DatumGetCString(DirectFunctionCall1(uuid_out, UUIDPGetDatum(&uuid)));
}

}  // namespace shardid
