// The sequences that the extension brings, as its functions find them.
#pragma once

#include "compat.h"

namespace shardid {

inline constexpr const char *uuid_sequence_name = "shardid_uuid_seq";
inline constexpr const char *objectid_sequence_name = "shardid_objectid_seq";

// The OID of the sequence of this name in the schema of the function that is called. Raises 42P01
// if there is none.
Oid find_own_sequence(FunctionCallInfo fcinfo, const char *name);

// The same, remembered for the call site, which always asks for the same name.
inline Oid own_sequence(FunctionCallInfo fcinfo, const char *name) {
    void *&remembered = fcinfo->flinfo->fn_extra;
    if (unlikely(remembered == nullptr))
        remembered = reinterpret_cast<void *>(uintptr_t{find_own_sequence(fcinfo, name)});
    return static_cast<Oid>(reinterpret_cast<uintptr_t>(remembered));
}

}  // namespace shardid
