// Having the registry asked: by a background worker (src/lease/worker.cpp), which a session starts
// where its lease is to be renewed, since what is granted has to be committed whatever becomes of
// the session's transaction.
#pragma once

#include "core/window.hpp"

#include "engine/attempt.h"
#include "engine/generator.h"

extern "C" {
#include "postmaster/bgworker.h"
}

namespace shardid {

// What the worker is told, in the 128 bytes that bgw_extra has.
struct WorkerTask {
    enum class Kind : uint8 { renew, release } kind;
    Oid database;
    Oid generator;
    Digest family;
    XLogRecPtr moved_at;  // where others have moved the page to; 0: nowhere
    uint64 tick;          // the first one wanted
};

static_assert(sizeof(WorkerTask) <= BGW_EXTRALEN);

// What was done of it.
enum class WorkerEnd { done, no_slot, too_late };

WorkerTask renewal_of(const Generator &generator, XLogRecPtr moved_at, uint64 tick);

// Starts the worker, and waits for its end for so long; not at all if that is 0. Can be cancelled;
// a worker that releases a shard is then ended.
WorkerEnd run_worker(const WorkerTask &task, int64 wait_ms);

// Sleeps so long at most, less if the session's latch is set. Can be cancelled.
void nap(int64 ms);

// For a draw that found no window that holds its tick: has the registry asked, and returns when the
// session has a window to try. Raises 55000 after shardid.lease_timeout. REQUIRED: no page is
// locked; is_limited(generator.lease).
void wait_for_window(Generator &generator, const Attempt &attempt);

// For a draw that came far in its window: has it renewed, without waiting. REQUIRED: no page is
// locked; is_limited(generator.lease).
void renew_ahead(Generator &generator, uint64 last);

}  // namespace shardid
