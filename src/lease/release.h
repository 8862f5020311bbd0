// Releasing a lease: no more ids, then the registry is told. What it has not heard of is tried
// again by the next worker.
#pragma once

#include "lease/job.h"

namespace shardid {

// The task. REQUIRED: the row is the task's own, and not released; outside of transactions.
void release(Job &job, LeasedRow row, Oid role);

// Tells the registry that the generator has released its shard, and the session that waits how that
// went. Returns whether the registry has answered. REQUIRED: the row is sealed; outside of
// transactions.
bool give_back(const Job &job, LeasedRow row, Oid role);

// Forgets a request that was not granted, or whose caller no longer waits. REQUIRED: in a
// transaction.
void forget_request(LeasedRow row);

}  // namespace shardid
