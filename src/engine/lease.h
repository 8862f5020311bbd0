// What the extension shardid_lease does for the engine: a lease of a shard sets a generator's
// bounds. Only the library of contrib/lease knows its tables and its registry.
#pragma once

#include "engine/attempt.h"
#include "engine/bounds.h"

namespace shardid {

// Of all libraries of a build; and the version of the structs that they share, whose first number
// is to be raised where their sizes do not show a change.
inline constexpr const char *library_version = "1.0.0";
inline constexpr uint32 library_abi_version =
    1 << 24 | sizeof(Bounds) << 16 | sizeof(Sequence) << 8 | sizeof(Attempt);

// For libraries that are loaded next to shardid. Raises 55000 unless they are of its build, whose
// version and ABI version they pass.
void check_build(const char *library, const char *version, uint32 abi_version);

// Raises 55000 if another copy of the library has defined this setting of milliseconds. REQUIRED:
// nothing is defined or registered yet.
void refuse_second_copy(const char *library, const char *setting);

// As the functions of bounds.h say.
struct LeaseKeeper {
    void (*load)(Bounds &bounds, const Sequence &sequence, bool is_reader);
    bool (*forget_table)(Oid relid);
    void (*wait_for_window)(Bounds &bounds, Oid relid, const Attempt &attempt);
    void (*renew_window)(Bounds &bounds, Oid relid, uint64 last);
};

}  // namespace shardid
