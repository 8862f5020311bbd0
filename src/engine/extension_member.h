// Relations that an extension has made, whatever schema they are in.
#pragma once

#include "compat.h"

namespace shardid {

// The relation of this name that the extension made; InvalidOid if there is none, or no such
// extension.
Oid find_member(const char *extension, const char *name);

}  // namespace shardid
