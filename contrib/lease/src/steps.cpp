#include "steps.h"

#include "engine/sequence.h"

extern "C" {
#include "catalog/pg_extension_d.h"
#include "catalog/pg_type_d.h"
#include "commands/extension.h"
#include "nodes/makefuncs.h"
#include "parser/parse_func.h"
#include "storage/lmgr.h"
#include "utils/inval.h"
#include "utils/json.h"
#include "utils/pg_lsn.h"
#include "utils/resowner.h"
}

namespace shardid {

namespace {

constexpr const char *lease_extension = "shardid_lease";

Oid extension = InvalidOid;
Oid leased_table = InvalidOid;
Oid window_table = InvalidOid;

// How often one of them has changed, as far as this session knows.
uint64 changes = 0;

int level_named(const char *name) {
    return strcmp(name, "ERROR") == 0 ? ERROR : strcmp(name, "WARNING") == 0 ? WARNING : NOTICE;
}

}  // namespace

Oid function_named(const char *name, int arguments, const Oid *types) {
    List *qualified = list_make2(makeString(pstrdup("shardid_lease")), makeString(pstrdup(name)));
    return LookupFuncName(qualified, arguments, types, false);
}

Datum call_script(const char *name, const Oid *types, std::initializer_list<NullableDatum> values) {
    const auto count = static_cast<short>(values.size());
    FmgrInfo found;
    fmgr_info(function_named(name, count, types), &found);
    LOCAL_FCINFO(call, FUNC_MAX_ARGS);
    InitFunctionCallInfoData(*call, &found, count, InvalidOid, nullptr, nullptr);
    NullableDatum *argument = call->args;
    for (const NullableDatum &value : values)
        *argument++ = value;
    // As GetLatestSnapshot(), which a parallel query cannot take.
    PushActiveSnapshot(GetCatalogSnapshot(InvalidOid));
    const Datum result = FunctionCallInvoke(call);
    PopActiveSnapshot();
    return call->isnull ? Datum{0} : result;
}

NullableDatum text_or_null(const char *text) {
    return text == nullptr ? NullableDatum{Datum{0}, true}
                           : NullableDatum{CStringGetTextDatum(text), false};
}

Datum step(const char *function, Datum job, const Reply &reply) {
    const Oid types[] = {JSONBOID, TEXTOID, TEXTOID, BOOLOID};
    return call_script(function, types,
                       {{job, false},
                        text_or_null(reply.answers),
                        text_or_null(reply.error),
                        {BoolGetDatum(reply.is_refusal), false}});
}

Datum address_of(const char *server, Oid role) {
    const Oid types[] = {TEXTOID, OIDOID};
    return call_script("address_of", types,
                       {text_or_null(server), {ObjectIdGetDatum(role), false}});
}

bool has_lease_tables() {
    if (OidIsValid(window_table))
        return true;
    follow_relation_changes();
    extension = get_extension_oid(lease_extension, true);
    leased_table = find_member(lease_extension, "leased_generator");
    window_table =
        OidIsValid(leased_table) ? find_member(lease_extension, "lease_window") : InvalidOid;
    return OidIsValid(window_table);
}

bool is_leased_table(Oid relid) {
    return has_lease_tables() && relid == leased_table;
}

void require_lease_tables() {
    if (!has_lease_tables())
        ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
                        errmsg("extension \"%s\" does not exist in this database", lease_extension),
                        errhint("Run CREATE EXTENSION shardid_lease CASCADE.")));
}

bool forget_lease_table(Oid relid) {
    const bool is_one = relid == InvalidOid || relid == leased_table || relid == window_table;
    if (is_one)
        window_table = InvalidOid;
    // Where the caches are discarded all the time, that is no change.
    if (is_one && (OidIsValid(relid) || debug_discard_caches == 0))
        ++changes;
    return is_one;
}

// The script opens tables after its snapshot was taken, and is told then of changes that this does
// not see. DROP EXTENSION waits for this, or this for it; but not for the transaction: no lock is
// kept.
Datum read_lease(Oid generator, const char *origin, bool is_reader) {
    const Oid types[] = {OIDOID, TEXTOID, BOOLOID};
    const NullableDatum by_generator{ObjectIdGetDatum(generator), false};
    const NullableDatum for_reader{BoolGetDatum(is_reader), false};
    ResourceOwner before = CurrentResourceOwner;
    for (;;) {
        if (!has_lease_tables())
            return Datum{0};
        ResourceOwner own = ResourceOwnerCreate(before, "shardid lease");
        CurrentResourceOwner = own;
        LockDatabaseObject(ExtensionRelationId, extension, 0, AccessShareLock);
        const bool is_there = has_lease_tables();
        const uint64 known_changes = changes;
        const Datum found = is_there ? call_script("known_lease", types,
                                                   {by_generator, text_or_null(origin), for_reader})
                                     : Datum{0};
        CurrentResourceOwner = before;
        for (const auto phase :
             {RESOURCE_RELEASE_BEFORE_LOCKS, RESOURCE_RELEASE_LOCKS, RESOURCE_RELEASE_AFTER_LOCKS})
            ResourceOwnerRelease(own, phase, false, false);
        ResourceOwnerDelete(own);
        if (changes == known_changes)
            return found;
    }
}

void raise_message(Datum object) {
    const char *level = field(object, "level");
    if (level == nullptr)
        return;
    const char *code = field(object, "sqlstate");
    const char *detail = field(object, "detail");
    const char *hint = field(object, "hint");
    ereport(level_named(level),
            (errcode(MAKE_SQLSTATE(code[0], code[1], code[2], code[3], code[4])),
             errmsg_internal("%s", field(object, "message")),
             detail == nullptr ? 0 : errdetail_internal("%s", detail),
             hint == nullptr ? 0 : errhint("%s", hint)));
}

const char *field(Datum object, const char *name) {
    LOCAL_FCINFO(call, 2);
    InitFunctionCallInfoData(*call, nullptr, 2, InvalidOid, nullptr, nullptr);
    call->args[0] = {object, false};
    call->args[1] = {CStringGetTextDatum(name), false};
    const Datum found = jsonb_object_field_text(call);
    return call->isnull ? nullptr : TextDatumGetCString(found);
}

bool has(Datum object, const char *name, const char *value) {
    const char *found = field(object, name);
    return found != nullptr && strcmp(found, value) == 0;
}

uint64 number(Datum object, const char *name) {
    const char *value = field(object, name);
    return value == nullptr ? 0 : static_cast<uint64>(Max(pg_strtoint64(value), 0));
}

XLogRecPtr lsn(Datum object, const char *name) {
    const char *value = field(object, name);
    return value == nullptr ? InvalidXLogRecPtr
                            : DatumGetLSN(DirectFunctionCall1(pg_lsn_in, CStringGetDatum(value)));
}

TimestampTz time_of(Datum object, const char *name) {
    const char *value = field(object, name);
    return value == nullptr ? 0
                            : DatumGetTimestampTz(DirectFunctionCall3(
                                  timestamptz_in, CStringGetDatum(value),
                                  ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1)));
}

void begin_object(StringInfo json, const char *name, const char *value) {
    initStringInfo(json);
    appendStringInfo(json, "{\"%s\": ", name);
    escape_json(json, value);
}

void append(StringInfo json, const char *name, const char *value) {
    if (value == nullptr)
        return;
    appendStringInfo(json, ", \"%s\": ", name);
    escape_json(json, value);
}

void append(StringInfo json, const char *name, int64 value) {
    appendStringInfo(json, ", \"%s\": " INT64_FORMAT, name, value);
}

Datum end_object(StringInfo json) {
    appendStringInfoChar(json, '}');
    return DirectFunctionCall1(jsonb_in, CStringGetDatum(json->data));
}

void begin_page(StringInfo json, const Digest &family, XLogRecPtr moved_at, uint64 tick) {
    begin_object(json, "family", family.text);
    append(json, "moved_at",
           DatumGetCString(DirectFunctionCall1(pg_lsn_out, LSNGetDatum(moved_at))));
    append(json, "tick", static_cast<int64>(tick));
}

void begin_job(StringInfo json, const char *task, Oid generator) {
    begin_object(json, "task", task);
    append(json, "generator", static_cast<int64>(generator));
    append(json, "name", shown_name(generator));
}

}  // namespace shardid
