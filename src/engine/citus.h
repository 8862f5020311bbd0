// What Citus does to the databases that it spreads over nodes, and to their sequences.
#pragma once

#include "engine/sequence.h"

namespace shardid {

// Whether this database has it.
bool has_citus();

// What to do about the sequence where Citus has narrowed it, or nullptr: a worker's share of the
// values of a sequence that a distributed table's default names. Citus alters it no more.
const char *hint_on_narrowed(Oid sequence);

// The same where Citus is there, and may refuse to alter the sequence by this command; the command
// alone where it is not.
const char *hint_on_altering(Oid sequence, const char *command);

}  // namespace shardid
