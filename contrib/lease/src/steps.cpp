#include "steps.h"

#include "engine/sequence.h"

extern "C" {
#include "catalog/pg_type_d.h"
#include "lib/stringinfo.h"
#include "nodes/makefuncs.h"
#include "parser/parse_func.h"
#include "utils/json.h"
#include "utils/pg_lsn.h"
}

namespace shardid {

namespace {

constexpr const char *task_names[] = {"renew", "join", "take_over", "release"};

void append(StringInfo json, const char *name, const char *value) {
    appendStringInfo(json, ", \"%s\": ", name);
    escape_json(json, value);
}

void append(StringInfo json, const char *name, const pg_uuid_t &value) {
    append(json, name, DatumGetCString(DirectFunctionCall1(uuid_out, UUIDPGetDatum(&value))));
}

Datum text_or_null(const char *text) {
    return text == nullptr ? Datum{0} : CStringGetTextDatum(text);
}

}  // namespace

Oid function_named(const char *name, int arguments, const Oid *types) {
    List *qualified = list_make2(makeString(pstrdup("shardid_lease")), makeString(pstrdup(name)));
    return LookupFuncName(qualified, arguments, types, false);
}

Datum job_of(const WorkerTask &task, const WorkerCall *call, const LeasedRow *row) {
    StringInfoData json;
    initStringInfo(&json);
    appendStringInfo(&json, "{\"generator\": %u, \"owner\": %u", task.generator, task.group.role);
    append(&json, "task", task_names[static_cast<int>(task.kind)]);
    append(&json, "name", shown_name(task.generator));
    if (row != nullptr) {
        append(&json, "origin", row->origin);
        append(&json, "lease", row->lease);
    }
    if (task.kind == TaskKind::join) {
        append(&json, "space", call->space);
        append(&json, "server", call->server);
        if (call->shard != any_shard)
            appendStringInfo(&json, ", \"shard\": %d", call->shard);
    }
    if (task.family.text[0] != '\0')
        appendStringInfo(
            &json,
            ", \"page\": {\"family\": \"%s\", \"moved_at\": \"%s\", \"tick\": " UINT64_FORMAT "}",
            task.family.text, lsn_text(task.moved_at), task.tick);
    appendStringInfoChar(&json, '}');
    return DirectFunctionCall1(jsonb_in, CStringGetDatum(json.data));
}

Datum step(const char *function, Datum job, const Reply &reply) {
    const Oid types[] = {JSONBOID, TEXTOID, TEXTOID, BOOLOID};
    FmgrInfo found;
    fmgr_info(function_named(function, lengthof(types), types), &found);
    LOCAL_FCINFO(call, lengthof(types));
    InitFunctionCallInfoData(*call, &found, lengthof(types), InvalidOid, nullptr, nullptr);
    call->args[0] = {job, false};
    call->args[1] = {text_or_null(reply.answers), reply.answers == nullptr};
    call->args[2] = {text_or_null(reply.error), reply.error == nullptr};
    call->args[3] = {BoolGetDatum(reply.is_refusal), false};
    PushActiveSnapshot(GetLatestSnapshot());
    const Datum result = FunctionCallInvoke(call);
    PopActiveSnapshot();
    return call->isnull ? Datum{0} : result;
}

const char *lsn_text(XLogRecPtr lsn) {
    return DatumGetCString(DirectFunctionCall1(pg_lsn_out, LSNGetDatum(lsn)));
}

const char *field(Datum job, const char *name) {
    LOCAL_FCINFO(call, 2);
    InitFunctionCallInfoData(*call, nullptr, 2, InvalidOid, nullptr, nullptr);
    call->args[0] = {job, false};
    call->args[1] = {CStringGetTextDatum(name), false};
    const Datum found = jsonb_object_field_text(call);
    return call->isnull ? nullptr : TextDatumGetCString(found);
}

}  // namespace shardid
