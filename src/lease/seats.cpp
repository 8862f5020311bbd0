#include "lease/seats.h"

extern "C" {
#include "miscadmin.h"
}

namespace shardid {

namespace {

// Advisory locks' fourth field is 1 or 2 for what SQL can lock. A session cannot hand over a lock:
// so there is one for it, and one for its worker.
enum class LockUse : uint16 { reserved = 3, taken };

Seat seat(Oid database, uint32 first, uint32 second) {
    Seat seat;
    SET_LOCKTAG_ADVISORY(seat, database, first, second, static_cast<uint16>(LockUse::reserved));
    return seat;
}

LOCKTAG as_taken(Seat seat) {
    seat.locktag_field4 = static_cast<uint16>(LockUse::taken);
    return seat;
}

}  // namespace

Seat seat_of(const LeaseGroup &group) {
    return seat(MyDatabaseId, group.role, group.server);
}

Seat seat_of_server(int number) {
    return seat(InvalidOid, static_cast<uint32>(number), 0);
}

int seats_of_server() {
    return Max(max_worker_processes / 4, 1);
}

bool reserve(const Seat &seat) {
    if (LockAcquire(&seat, ExclusiveLock, false, true) == LOCKACQUIRE_NOT_AVAIL)
        return false;
    if (!is_taken(seat))
        return true;
    give_up(seat);
    return false;
}

void give_up(const Seat &seat) {
    LockRelease(&seat, ExclusiveLock, false);
}

// Without taking it for a moment, which would keep the worker from doing so.
bool is_taken(const Seat &seat) {
    const LOCKTAG taken = as_taken(seat);
    return LockWaiterCount(&taken) > 0;
}

// For the session, as an error in the worker's transaction must not take it away.
bool take(const Seat &seat) {
    const LOCKTAG taken = as_taken(seat);
    return LockAcquire(&taken, ExclusiveLock, true, true) != LOCKACQUIRE_NOT_AVAIL;
}

}  // namespace shardid
