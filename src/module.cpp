// The shared library as PostgreSQL sees it: its magic block, its settings, and what is called when
// relations change.
#include <climits>

#include "engine/generator.h"
#include "engine/lease.h"
#include "engine/settings.h"
#include "engine/wait.h"

namespace shardid {

int shard_id = unset_shard_id;
uint64 max_lead_ms;
int max_borrow_ms;

namespace {

constexpr double ms_per_day = 24 * 60 * 60 * 1000;

// As the server keeps it: an integer of milliseconds would end at 24.8 days.
double max_lead = ms_per_day;

void assign_max_lead(double new_value, void * /*extra*/) {
    max_lead_ms = static_cast<uint64>(new_value);
}

void define_settings() {
    DefineCustomIntVariable("shardid.shard_id",
                            "Sets the shard of ids that next_id() generates without a shard "
                            "argument.",
                            "-1 means that no shard is set.", &shard_id, unset_shard_id,
                            unset_shard_id, INT_MAX, PGC_USERSET, 0, nullptr, nullptr, nullptr);
    DefineCustomRealVariable("shardid.max_lead",
                             "Sets how far ahead of the clock a generator may be before it "
                             "refuses to generate ids.",
                             nullptr, &max_lead, ms_per_day, 0,
                             static_cast<double>(longest_lead_ms), PGC_SUSET, GUC_UNIT_MS, nullptr,
                             assign_max_lead, nullptr);
    DefineCustomIntVariable("shardid.max_borrow",
                            "Sets how far ahead of the clock ids may be generated instead of "
                            "waiting, when those of a millisecond are used up.",
                            "0 means to wait. Ids that other sessions generate meanwhile are as "
                            "far ahead.",
                            &max_borrow_ms, 0, 0, INT_MAX, PGC_SUSET, GUC_UNIT_MS, nullptr, nullptr,
                            nullptr);
    MarkGUCPrefixReserved("shardid");
}

void forget_all_of(Oid relid) {
    forget_own_sequences(relid);
    forget_generator(relid, forget_table_of_bounds(relid));
}

}  // namespace

void check_build(const char *library, const char *version, uint32 abi_version) {
    if (strcmp(version, library_version) == 0 && abi_version == library_abi_version)
        return;
    ereport(ERROR,
            (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
             errmsg("library \"%s\" is of another build", library),
             errdetail("Its version is %s (ABI version %x), and that of library \"shardid\" is %s "
                       "(ABI version %x).",
                       version, abi_version, library_version, library_abi_version),
             errhint("Install both from the same build, and connect again.")));
}

// A placeholder, which a session may have set before the library is loaded, has no unit.
void refuse_second_copy(const char *library, const char *setting) {
    if ((GetConfigOptionFlags(setting, true) & GUC_UNIT_TIME) != GUC_UNIT_MS)
        return;
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("library \"%s\" is loaded already, from another file", library),
                    errhint("Connect again. If there are two files of it in the directories of "
                            "dynamic_library_path, remove one of them.")));
}

extern "C" {

PG_MODULE_MAGIC;

// fmgr.h declares it only from 16 on.
PGDLLEXPORT void _PG_init(void);

void _PG_init(void) {
    refuse_second_copy("shardid", "shardid.max_lead");
    define_settings();
    known_durability.status_codes = standby_status_codes();
    start_unpinning_at_commit();
    start_following_rollbacks();
    start_forgetting_bounds();
    forget_relation = forget_all_of;
}

}  // extern "C"

}  // namespace shardid
