// What the extension shardid_lease does for the engine: a lease of a shard sets a generator's
// bounds. Only the library of contrib/lease knows its tables and its registry.
#pragma once

#include "engine/bounds.h"

namespace shardid {

// Of all libraries of a build.
inline constexpr const char *library_version = "1.0.0";

// Of the library shardid, for others that are loaded into the same process.
const char *version_of_engine();

// As the functions of bounds.h say.
struct LeaseKeeper {
    void (*load)(Bounds &bounds, const Sequence &sequence, bool is_reader);
    bool (*forget_table)(Oid relid);
    void (*wait_for_window)(Bounds &bounds, Oid relid, const Attempt &attempt);
    void (*renew_window)(Bounds &bounds, Oid relid, uint64 last);
};

}  // namespace shardid
