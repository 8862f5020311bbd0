// The SQL function that identifies the server and database, so that two can be compared:
// shard_fingerprint.
#include "engine/arguments.h"
#include "engine/server.h"

extern "C" {
#include "access/xlogrecovery.h"
#include "catalog/dependency.h"
#include "catalog/pg_authid_d.h"
}

namespace shardid {

extern "C" {

PG_FUNCTION_INFO_V1(shardid_shard_fingerprint);
Datum shardid_shard_fingerprint(PG_FUNCTION_ARGS) {
    const Oid extension = getExtensionOfObject(ProcedureRelationId, fcinfo->flinfo->fn_oid);
    // As PostgreSQL has it for the setting data_directory.
    const bool sees_settings = has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_SETTINGS);
    TimeLineID timeline;
    if (RecoveryInProgress())
        GetXLogReplayRecPtr(&timeline);
    else
        timeline = GetWALInsertionTimeLine();
    ResultRow row;
    row.add(Int64GetDatum(static_cast<int64>(GetSystemIdentifier())));
    row.add(Int32GetDatum(static_cast<int32>(timeline)));
    row.add(ObjectIdGetDatum(MyDatabaseId));
    row.add(ObjectIdGetDatum(extension));
    row.add(TimestampTzGetDatum(PgStartTime));
    row.add(CStringGetTextDatum(public_place().text));
    row.add(CStringGetTextDatum(DataDir), !sees_settings);
    row.add(CStringGetTextDatum(host_name()), !sees_settings);
    return make_row(fcinfo, row);
}

}  // extern "C"

}  // namespace shardid
