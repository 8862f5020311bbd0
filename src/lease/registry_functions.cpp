// The registry's SQL functions that cannot be written in SQL.
#include "core/binding.hpp"
#include "core/count.hpp"
#include "core/window.hpp"
#include "core/worked_widths.hpp"

#include "engine/arguments.h"

#include "engine/durable.h"
#include "engine/incarnation.h"

extern "C" {
#include "access/xlog.h"
#include "access/xlog_internal.h"
#include "common/hashfn.h"
#include "lib/stringinfo.h"
#include "postmaster/postmaster.h"
#include "storage/fd.h"
#include "storage/lock.h"
#include "utils/json.h"
#include "utils/jsonb.h"
}

namespace shardid {

namespace {

// An advisory lock's fourth field: 1 and 2 are SQL's, 3 and 4 are those of start_worker.cpp.
constexpr uint16 shard_lock = 5;

// What the recovery that read it has left of the file backup_label; "" if there is none.
const char *started_from_backup() {
    FILE *label = AllocateFile(BACKUP_LABEL_OLD, "r");
    if (label == nullptr && errno != ENOENT)
        ereport(ERROR, (errcode_for_file_access(),
                        errmsg("could not open file \"%s\": %m", BACKUP_LABEL_OLD)));
    if (label == nullptr)
        return "";
    char content[MAXPGPATH];
    content[fread(content, 1, sizeof(content) - 1, label)] = '\0';
    FreeFile(label);
    return pstrdup(digest_of(content).text);
}

}  // namespace

extern "C" {

PG_FUNCTION_INFO_V1(shardid_registry_place);
PG_FUNCTION_INFO_V1(shardid_replayed_all_wal);
PG_FUNCTION_INFO_V1(shardid_try_shard_lock);
PG_FUNCTION_INFO_V1(shardid_wait_until_durable);
PG_FUNCTION_INFO_V1(shardid_check_layout);

Datum shardid_registry_place(FunctionCallInfo /*call*/) {
    PreventCommandDuringRecovery("registry_place()");
    StringInfoData json;
    initStringInfo(&json);
    appendStringInfo(&json,
                     "{\"place\": \"%s\", \"system_identifier\": \"" UINT64_FORMAT
                     "\", \"timeline\": %u, \"port\": %d, \"backup\": \"%s\", "
                     "\"started\": \"" INT64_FORMAT "\", \"host\": ",
                     place_of(InvalidOid), GetSystemIdentifier(), GetWALInsertionTimeLine(),
                     PostPortNumber, started_from_backup(), static_cast<int64>(PgStartTime));
    escape_json(&json, host_name());
    appendStringInfoChar(&json, '}');
    return DirectFunctionCall1(jsonb_in, CStringGetDatum(json.data));
}

// The history of a timeline, which stays in pg_wal, ends with what getRecoveryStopReason() of
// xlogrecovery.c wrote about the recovery that began it. A server without that file has lost WAL,
// by pg_resetwal for instance.
Datum shardid_replayed_all_wal(FunctionCallInfo /*call*/) {
    PreventCommandDuringRecovery("replayed_all_wal()");
    const TimeLineID timeline = GetWALInsertionTimeLine();
    if (timeline == 1)
        PG_RETURN_BOOL(true);
    char path[MAXPGPATH];
    TLHistoryFilePath(path, timeline);
    FILE *history = AllocateFile(path, "r");
    if (history == nullptr && errno != ENOENT)
        ereport(ERROR, (errcode_for_file_access(), errmsg("could not open file \"%s\": %m", path)));
    bool all = false;
    char line[MAXPGPATH];
    while (history != nullptr && fgets(line, sizeof(line), history) != nullptr)
        if (strspn(line, " \t\n") < strlen(line))
            all = strstr(line, "\tno recovery target specified\n") != nullptr;
    if (history != nullptr)
        FreeFile(history);
    PG_RETURN_BOOL(all);
}

Datum shardid_try_shard_lock(PG_FUNCTION_ARGS) {
    const text *space = PG_GETARG_TEXT_PP(0);
    const uint32 hash = hash_bytes(reinterpret_cast<const unsigned char *>(VARDATA_ANY(space)),
                                   static_cast<int>(VARSIZE_ANY_EXHDR(space)));
    LOCKTAG tag;
    SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, hash, static_cast<uint32>(PG_GETARG_INT32(1)),
                         shard_lock);
    PG_RETURN_BOOL(LockAcquire(&tag, ExclusiveLock, false, true) != LOCKACQUIRE_NOT_AVAIL);
}

Datum shardid_wait_until_durable(FunctionCallInfo /*call*/) {
    PreventCommandDuringRecovery("wait_until_durable()");
    make_present_durable();
    PG_RETURN_VOID();
}

Datum shardid_check_layout(PG_FUNCTION_ARGS) {
    checked_layout(PG_GETARG_TIMESTAMPTZ(0), PG_GETARG_INT32(1), PG_GETARG_INT32(2));
    PG_RETURN_VOID();
}

}  // extern "C"

}  // namespace shardid
