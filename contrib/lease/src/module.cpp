// The library shardid_lease as PostgreSQL loads it, and its settings.
#include <climits>

#include "engine/lease.h"
#include "start_worker.h"

namespace shardid {

int lease_timeout_ms;
int registry_timeout_ms;

namespace {

void define_settings() {
    DefineCustomIntVariable("shardid_lease.timeout",
                            "Sets how long a call waits for a lease to be renewed, taken over or "
                            "released before it fails.",
                            "0 means not to wait.", &lease_timeout_ms, 5000, 0, INT_MAX,
                            PGC_USERSET, GUC_UNIT_MS, nullptr, nullptr, nullptr);
    DefineCustomIntVariable("shardid_lease.registry_timeout",
                            "Sets how long a request waits for a connection to a registry and for "
                            "its answer.",
                            "Set it for the server or the database: the worker does not see what a "
                            "session sets.",
                            &registry_timeout_ms, 5000, 1, INT_MAX, PGC_SUSET, GUC_UNIT_MS, nullptr,
                            nullptr, nullptr);
    MarkGUCPrefixReserved("shardid_lease");
}

}  // namespace

extern "C" {

PG_MODULE_MAGIC;

// fmgr.h declares it only from 16 on.
PGDLLEXPORT void _PG_init(void);

// The library shardid, whose functions this one calls, is mapped by now, but may not be
// initialized.
void _PG_init(void) {
    load_file("shardid", false);
    refuse_second_copy("shardid_lease", "shardid_lease.timeout");
    check_build("shardid_lease", library_version, library_abi_version);
    define_settings();
}

}  // extern "C"

}  // namespace shardid
