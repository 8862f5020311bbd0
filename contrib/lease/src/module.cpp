// The library shardid_lease as PostgreSQL and the engine see it.
#include "keeper.h"

namespace shardid {

extern "C" {

PG_MODULE_MAGIC;

// fmgr.h declares it only from 16 on.
PGDLLEXPORT void _PG_init(void);
PGDLLEXPORT const LeaseKeeper *shardid_lease_keeper(void);

// The library shardid, whose functions this one calls, is then mapped, but may not be initialized.
void _PG_init(void) {
    load_file("shardid", false);
}

const LeaseKeeper *shardid_lease_keeper() {
    return &keeper_of_leases;
}

}  // extern "C"

}  // namespace shardid
