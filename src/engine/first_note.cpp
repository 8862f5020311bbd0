#include "engine/first_note.h"

#include "core/notes.hpp"

#include "engine/sequence.h"

extern "C" {
#include "storage/lock.h"
}

namespace shardid {

namespace {

// Of the 48 bits, those that the tag's 16-bit field holds.
constexpr int low_bits = 16;

static_assert(first_ms_bits - low_bits == 32);

bool is_note_of(const LOCKTAG &tag, Oid relid) {
    return tag.locktag_type == LOCKTAG_USERLOCK && tag.locktag_field1 == MyDatabaseId &&
           tag.locktag_field2 == relid && tag.locktag_lockmethodid == DEFAULT_LOCKMETHOD;
}

}  // namespace

// Nothing takes a mode that conflicts with this one.
void note_first_ms(FirstNote &note, Oid relid, uint64 ms) {
    const LOCKTAG tag{.locktag_field1 = MyDatabaseId,
                      .locktag_field2 = relid,
                      .locktag_field3 = static_cast<uint32>(ms >> low_bits),
                      .locktag_field4 = static_cast<uint16>(ms & max_of(low_bits)),
                      .locktag_type = LOCKTAG_USERLOCK,
                      .locktag_lockmethodid = DEFAULT_LOCKMETHOD};
    LockAcquireResult result;
    for_transaction([&] { result = LockAcquire(&tag, AccessShareLock, false, true); });
    if (result == LOCKACQUIRE_NOT_AVAIL)
        elog(ERROR, "could not note the first id of the transaction");
    note = {current_lxid(), ms};
}

// GetLockStatusData locks all partitions of the lock table together, so that what it returns was
// true at one moment.
EarliestNote earliest_note(Oid relid) {
    const LockData *locks = GetLockStatusData();
    EarliestNote earliest{};
    for (int i = 0; i < locks->nelements; ++i) {
        const LockInstanceData &lock = locks->locks[i];
        if (lock.holdMask == 0 || !is_note_of(lock.locktag, relid))
            continue;
        const uint64 ms =
            uint64{lock.locktag.locktag_field3} << low_bits | lock.locktag.locktag_field4;
        if (!earliest.exists || ms < earliest.ms)
            earliest = {true, ms, lock.pid};
    }
    return earliest;
}

}  // namespace shardid
