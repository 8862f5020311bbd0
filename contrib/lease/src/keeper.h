// What the engine asks of leases (LeaseKeeper in engine/lease.h): whether a sequence is leased, and
// windows for it, which the session reads from the tables and has a worker renew.
#pragma once

namespace shardid {

// Sets lease_keeper. To be called once, when the library is loaded.
void keep_leases();

}  // namespace shardid
