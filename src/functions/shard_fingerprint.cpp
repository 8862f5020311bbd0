// The SQL function that identifies the server and database, so that two can be compared:
// shard_fingerprint.

#include "engine/arguments.h"
#include "engine/incarnation.h"

extern "C" {
#include "access/xlogrecovery.h"
#include "catalog/pg_authid_d.h"
#include "catalog/dependency.h"
}

namespace shardid {

namespace {

// In the order of the function's columns.
enum Column {
    system_identifier,
    timeline,
    database,
    extension,
    started,
    place,
    data_directory,
    machine,
    columns
};

TimeLineID current_timeline() {
    TimeLineID replayed;
    if (!RecoveryInProgress())
        return GetWALInsertionTimeLine();
    GetXLogReplayRecPtr(&replayed);
    return replayed;
}

// As PostgreSQL has it for the setting data_directory.
bool may_see_settings() {
    return has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_SETTINGS);
}

}  // namespace

extern "C" {

PG_FUNCTION_INFO_V1(shardid_shard_fingerprint);

Datum shardid_shard_fingerprint(PG_FUNCTION_ARGS) {
    Datum values[columns] = {};
    bool nulls[columns] = {};
    values[system_identifier] = Int64GetDatum(static_cast<int64>(GetSystemIdentifier()));
    values[timeline] = Int32GetDatum(static_cast<int32>(current_timeline()));
    values[database] = ObjectIdGetDatum(MyDatabaseId);
    values[extension] =
        ObjectIdGetDatum(getExtensionOfObject(ProcedureRelationId, fcinfo->flinfo->fn_oid));
    values[started] = TimestampTzGetDatum(PgStartTime);
    values[place] = CStringGetTextDatum(public_place().text);
    nulls[data_directory] = nulls[machine] = !may_see_settings();
    if (may_see_settings()) {
        values[data_directory] = CStringGetTextDatum(DataDir);
        values[machine] = CStringGetTextDatum(host_name());
    }
    PG_RETURN_DATUM(make_row(fcinfo, values, nulls));
}

}  // extern "C"

}  // namespace shardid
