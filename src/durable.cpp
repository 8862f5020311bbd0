#include "durable.h"

extern "C" {
#include "replication/syncrep.h"
#include "replication/walsender.h"
#include "replication/walsender_private.h"
#include "storage/lwlock.h"
}

namespace shardid {

namespace {

// XLogFlush finds out by itself that there is nothing to do, but that takes it longer.
void flush(XLogRecPtr up_to) {
    static XLogRecPtr known_flushed = InvalidXLogRecPtr;
    if (likely(up_to <= known_flushed))
        return;
    XLogFlush(up_to);
    known_flushed = up_to;
}

// As syncrep.c's own macro. The session's setting may be older than the server's until the
// statement ends; core's wait goes by the server's.
bool has_synchronous_standbys() {
    return SyncRepStandbyNames != nullptr && SyncRepStandbyNames[0] != '\0';
}

// What SyncRepWaitForLSN waits for when it is no commit.
int wait_mode() {
    return synchronous_commit == SYNCHRONOUS_COMMIT_REMOTE_WRITE ? SYNC_REP_WAIT_WRITE
                                                                 : SYNC_REP_WAIT_FLUSH;
}

bool has_reached_standbys(XLogRecPtr up_to, int mode) {
    LWLockAcquire(SyncRepLock, LW_SHARED);
    const bool has_reached = up_to <= WalSndCtl->lsn[mode];
    LWLockRelease(SyncRepLock);
    return has_reached;
}

// A transaction that only draws ids writes nothing, so its commit would wait for nobody. Core's
// wait was made for commits: when it is canceled it warns and returns, and leaves it to us to find
// out.
pg_noinline void wait_for_standbys(XLogRecPtr up_to) {
    static XLogRecPtr known_replicated[NUM_SYNC_REP_WAIT_MODE];
    const int mode = wait_mode();
    if (up_to <= known_replicated[mode])
        return;
    HOLD_INTERRUPTS();
    SyncRepWaitForLSN(up_to, false);
    RESUME_INTERRUPTS();
    CHECK_FOR_INTERRUPTS();
    if (!has_reached_standbys(up_to, mode))
        ereport(ERROR,
                (errcode(ERRCODE_QUERY_CANCELED),
                 errmsg("canceling statement while it waits for a synchronous standby"),
                 errdetail("What was drawn may not have reached the standby, and is withheld.")));
    known_replicated[mode] = up_to;
}

}  // namespace

void make_durable(XLogRecPtr up_to) {
    flush(up_to);
    if (unlikely(has_synchronous_standbys()) && SyncRepRequested() && up_to != InvalidXLogRecPtr)
        wait_for_standbys(up_to);
}

}  // namespace shardid
