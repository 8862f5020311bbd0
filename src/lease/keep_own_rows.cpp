// The trigger on each table of shardid_lease. What the tables contain is true in this database
// only, so a logical replication worker leaves them as they are: a publication FOR ALL TABLES has
// them, too. All sessions look at leased_generator anew once a change of it is committed; what a
// registry writes at each grant invalidates no plans.
#include "compat.h"

extern "C" {
#include "commands/trigger.h"
#include "replication/logicalworker.h"
}

namespace shardid {

extern "C" {

PG_FUNCTION_INFO_V1(shardid_keep_own_rows);

Datum shardid_keep_own_rows(PG_FUNCTION_ARGS) {
    if (!CALLED_AS_TRIGGER(fcinfo))
        elog(ERROR, "keep_own_rows() was not called as a trigger");
    const auto &change = *reinterpret_cast<TriggerData *>(fcinfo->context);
    if (IsLogicalWorker())
        return Datum{0};
    if (strcmp(RelationGetRelationName(change.tg_relation), "leased_generator") == 0)
        CacheInvalidateRelcacheByRelid(RelationGetRelid(change.tg_relation));
    return PointerGetDatum(TRIGGER_FIRED_BY_UPDATE(change.tg_event) ? change.tg_newtuple
                                                                    : change.tg_trigtuple);
}

}  // extern "C"

}  // namespace shardid
