// Releasing a lease: no more ids, then the registry is told. What it has not heard of is sent again
// with the next renewal.
#pragma once

#include "lease/job.h"
#include "lease/grant.h"

namespace shardid {

// The task. REQUIRED: the row is the task's own, and not released; outside of transactions.
void release(Job &job, LeasedRow row, Oid role);

// Tells the registry that the generator has released its shard, and the session that waits how that
// went. REQUIRED: the row is sealed; outside of transactions.
Outcome give_back(const Job &job, const LeasedRow &row, Oid role);

// Forgets a request that was not granted, or whose caller no longer waits. REQUIRED: in a
// transaction.
void forget_request(LeasedRow row);

}  // namespace shardid
