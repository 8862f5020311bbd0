// One renewal: all leases of a role from a registry, in one round trip.
#pragma once

#include "lease/job.h"

namespace shardid {

// Renews those of the row's group, the task's own by taking it over if that is the task, and then
// tells the registry of releases that it has not heard of. Raises 55006 if a shard cannot be taken
// over. REQUIRED: outside of transactions.
void renew_group(const Job &job, const LeasedRow &row, Oid role);

}  // namespace shardid
