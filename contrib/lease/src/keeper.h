// What the engine asks of leases (LeaseKeeper in engine/lease.h): whether a sequence is leased, and
// windows for it, which the session reads from the tables and has a worker renew.
#pragma once

#include "engine/lease.h"

namespace shardid {

extern const LeaseKeeper keeper_of_leases;

}  // namespace shardid
