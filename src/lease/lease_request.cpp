// The SQL functions by which lease_shard() and the worker describe a generator to the registry:
// lease_request, and is_own_family for the view.

#include "core/binding.hpp"
#include "core/count.hpp"
#include "core/page_notes.hpp"
#include "core/window.hpp"
#include "core/worked_widths.hpp"

#include "lease/membership.h"

#include "engine/incarnation.h"
#include "engine/sequence.h"
#include "engine/sequence_page.h"

extern "C" {
#include "access/xlog.h"
#include "commands/dbcommands.h"
#include "lib/stringinfo.h"
#include "postmaster/postmaster.h"
#include "utils/json.h"
#include "utils/jsonb.h"
#include "utils/pg_lsn.h"
}

namespace shardid {

namespace {

constexpr int64 epoch_difference_ms =
    int64{POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE} * SECS_PER_DAY * 1000;

// In milliseconds since 1970.
int64 clock_ms() {
    return GetCurrentTimestamp() / us_per_ms + epoch_difference_ms;
}

void append(StringInfo json, const char *name, const char *value) {
    appendStringInfo(json, ", \"%s\": ", name);
    if (value == nullptr)
        appendStringInfoString(json, "null");
    else
        escape_json(json, value);
}

void append(StringInfo json, const char *name, int64 value) {
    appendStringInfo(json, ", \"%s\": " INT64_FORMAT, name, value);
}

void append_lease(StringInfo json, Oid generator) {
    LeasedRow row;
    if (!read_leased_row(lease_tables().generators, generator, &row))
        return;
    append(json, "space", row.space);
    append(json, "shard", int64{row.shard});
    append(json, "server", row.server);
    append(json, "origin", row.origin);
    append(json, "state", row.state);
    if (row.from_ms > 0)
        append(json, "from", row.from_ms);
}

// Of a generator that has drawn: what its tick means.
void append_layout(StringInfo json, uint64 binding) {
    if (binding == unbound || kind_of(binding) != Kind::ids)
        return;
    const Layout layout = layout_of(binding);
    append(json, "bound_epoch", layout.epoch_us / us_per_ms + epoch_difference_ms);
    append(json, "bound_shard_bits", int64{layout.widths.shard_bits});
    append(json, "bound_sequence_bits", int64{layout.widths.sequence_bits});
}

Datum described(Oid generator, const Standing &standing) {
    StringInfoData json;
    initStringInfo(&json);
    appendStringInfo(&json, "{\"generator\": %u", generator);
    append_lease(&json, generator);
    append(&json, "incarnation", incarnation_of(generator, standing.family, standing.moved_at));
    if (standing.moved_at != InvalidXLogRecPtr)
        append(&json, "moved", "true");
    append(&json, "place", place_of(generator));
    append(&json, "tick", static_cast<int64>(standing.tick));
    append_layout(&json, standing.binding);
    append(&json, "clock", clock_ms());
    append(&json, "host", host_name());
    append(&json, "port", int64{PostPortNumber});
    append(&json, "database", get_database_name(MyDatabaseId));
    append(&json, "system_identifier", psprintf(UINT64_FORMAT, GetSystemIdentifier()));
    append(&json, "timeline", int64{GetWALInsertionTimeLine()});
    appendStringInfoChar(&json, '}');
    return DirectFunctionCall1(jsonb_in, CStringGetDatum(json.data));
}

// Without waiting: who alters a sequence must not keep the others' leases from being renewed.
Relation open_at_once(Oid generator) {
    if (!ConditionalLockRelationOid(generator, AccessShareLock))
        return nullptr;
    Relation relation = try_relation_open(generator, NoLock);
    if (relation == nullptr)
        UnlockRelationOid(generator, AccessShareLock);
    return relation;
}

}  // namespace

extern "C" {

PG_FUNCTION_INFO_V1(shardid_lease_request);
PG_FUNCTION_INFO_V1(shardid_is_own_family);

Datum shardid_lease_request(PG_FUNCTION_ARGS) {
    if (PG_ARGISNULL(0))
        PG_RETURN_NULL();
    PreventCommandDuringRecovery("lease_request()");
    const Oid generator = PG_GETARG_OID(0);
    if (!PG_ARGISNULL(1)) {
        if (!superuser())
            ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                            errmsg("permission denied to ask for another incarnation")));
        Standing standing{};
        standing.binding = unbound;
        text_to_cstring_buffer(PG_GETARG_TEXT_PP(1), standing.family.text,
                               sizeof(standing.family.text));
        standing.moved_at = PG_GETARG_LSN(2);
        standing.tick = static_cast<uint64>(PG_GETARG_INT64(3));
        PG_RETURN_DATUM(described(generator, standing));
    }
    Relation relation = open_at_once(generator);
    if (relation == nullptr)
        PG_RETURN_NULL();
    relation_close(relation, NoLock);
    check_owner(generator);
    relation = open_sequence(generator, NoLock, "Pass the name of a sequence.");
    check_session(relation);
    const Standing standing = standing_of(relation);
    relation_close(relation, AccessShareLock);
    PG_RETURN_DATUM(described(generator, standing));
}

Datum shardid_is_own_family(PG_FUNCTION_ARGS) {
    const Oid generator = PG_GETARG_OID(0);
    Relation relation = open_at_once(generator);
    if (relation == nullptr)
        PG_RETURN_NULL();
    const Digest family = family_of(generator, locator_of(relation));
    relation_close(relation, AccessShareLock);
    PG_RETURN_BOOL(strcmp(family.text, text_to_cstring(PG_GETARG_TEXT_PP(1))) == 0);
}

}  // extern "C"

}  // namespace shardid
