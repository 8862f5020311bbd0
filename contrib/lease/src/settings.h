// The settings of shardid_lease, defined in module.cpp.
#pragma once

namespace shardid {

// shardid_lease.timeout, in milliseconds: how long a call waits for a lease to be renewed.
extern int lease_timeout_ms;

// shardid_lease.registry_timeout, in milliseconds: how long a request waits for the registry.
extern int registry_timeout_ms;

}  // namespace shardid
