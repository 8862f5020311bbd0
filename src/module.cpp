// The shared library as PostgreSQL sees it: its magic block and its settings.
#include <climits>

#include "binding.hpp"

#include "durable.h"
#include "page_pin.h"
#include "replaced_storage.h"
#include "settings.h"

namespace shardid {

int shard_id = unset_shard_id;
int max_lead_ms;

namespace {

constexpr int ms_per_day = 24 * 60 * 60 * 1000;

void define_settings() {
    DefineCustomIntVariable("shardid.shard_id",
                            "Sets the shard of the ids that next_id() makes without a shard "
                            "argument.",
                            "-1 means that no shard is set.", &shard_id, unset_shard_id,
                            unset_shard_id, INT_MAX, PGC_USERSET, 0, nullptr, nullptr, nullptr);
    DefineCustomIntVariable("shardid.max_lead",
                            "Sets how far a generator may be ahead of the clock before drawing "
                            "from it is refused.",
                            nullptr, &max_lead_ms, ms_per_day, 0, INT_MAX, PGC_SUSET, GUC_UNIT_MS,
                            nullptr, nullptr, nullptr);
    MarkGUCPrefixReserved("shardid");
}

}  // namespace

}  // namespace shardid

extern "C" {

PG_MODULE_MAGIC;

// fmgr.h declares it only from 16 on.
PGDLLEXPORT void _PG_init(void);

void _PG_init(void) {
    shardid::define_settings();
    shardid::ask_server_version();
    shardid::start_unpinning_at_commit();
    shardid::start_following_rollbacks();
}

}  // extern "C"
