// The seats of the workers that ask registries: one for each group of generators, and a few for the
// whole server. A worker has one of both for as long as it lives. They are advisory locks, which
// SQL cannot take: nothing is left of them when their holder has ended.
#pragma once

#include "core/window.hpp"

#include "lease/lease.h"

extern "C" {
#include "storage/lock.h"
}

namespace shardid {

using Seat = LOCKTAG;

Seat seat_of(const LeaseGroup &group);
Seat seat_of_server(int number);

// A quarter of max_worker_processes: registries that hang leave the others to parallel queries,
// replication and the like.
int seats_of_server();

// For a session that starts a worker, until that has the seat: then give_up. False if a worker has
// it, or another session has reserved it. The end of the transaction gives it up as well.
bool reserve(const Seat &seat);
void give_up(const Seat &seat);

bool is_taken(const Seat &seat);

// For a worker, until it ends. False if another one has it.
bool take(const Seat &seat);

}  // namespace shardid
