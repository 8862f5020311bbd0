// Having the registry grant windows, and storing what it answers.
#pragma once

#include "lease/request.h"

namespace shardid {

// Has all of these requests granted, and stores the answers. Returns what is wrong with the answer
// to the last of them, or null; *is_answered: the registry has given one. REQUIRED: outside of
// transactions.
const char *grant(const char *server, Oid role, List *requests, bool *is_answered);

// Stores the error in the generator's row, and sends it to the log once per minute, as long as it
// lasts. REQUIRED: in a transaction.
void note_failure(const LeasedRow &row, const char *error);

}  // namespace shardid
