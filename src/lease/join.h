// A generator's first lease, or another one after a release.
#pragma once

#include "lease/job.h"

namespace shardid {

// The task: leases for its generator from the id space of the call, or finds that it has that lease
// already, and sets call->granted. Raises 55000 if it holds another lease or one whose release the
// registry has not heard of, 55006 if its sequence is locked or the registry refuses, 08001 if the
// registry does not answer. REQUIRED: outside of transactions.
void join(const Job &job, const char *server, Oid role);

}  // namespace shardid
