// What Citus does to the databases that it spreads over nodes, and to their sequences.
#pragma once

#include "compat.h"

namespace shardid {

// Whether this database has it.
bool has_citus();

}  // namespace shardid
