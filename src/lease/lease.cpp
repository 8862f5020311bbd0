#include "core/count.hpp"
#include "core/page_notes.hpp"
#include "core/wait.hpp"
#include "core/window.hpp"
#include "core/worked_widths.hpp"

#include "lease/lease.h"

#include "engine/draw.h"
#include "engine/generator.h"
#include "engine/sequence.h"
#include "engine/sequence_page.h"
#include "engine/settings.h"
#include "lease/lease_refusals.h"
#include "lease/lease_tables.h"
#include "lease/start_worker.h"

namespace shardid {

namespace {

// After a failure the registry is not asked again for this long: sessions that wait have ids again
// within a second of its return.
constexpr int64 pause_after_failure_ms = 500;

// How long a session that waits for a window sleeps before it looks again; and how long after a
// worker that has granted nothing.
constexpr int64 look_again_ms = 5;
constexpr int64 ask_again_ms = 100;

// How long after a session had the lease renewed, or saw that another session has, it looks again.
constexpr uint64 renew_again_ms = 1000;

// A transaction that made the storage under wal_level = minimal can move its page without leaving a
// mark in the page's LSN.
void check_wal(const Generator &generator) {
    if (generator.needs_wal)
        return;
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("cannot generate ids from leased generator \"%s\" in this transaction",
                           shown_name(generator.relid)),
                    errdetail("The transaction has made its storage, without WAL since wal_level "
                              "is minimal."),
                    errhint("Generate ids after the commit, or set wal_level to replica.")));
}

// Reads the window again, as it is committed now, whatever snapshot the transaction has. The
// session keeps what it has if no window was granted to this server since it was started, for the
// generator's present storage: within one incarnation windows only grow.
void read_window(Generator &generator) {
    Lease &lease = generator.lease;
    WindowRow row;
    if (!has_lease_tables() || !read_window_row(lease.origin, &row))
        return;
    lease.failed_at = row.failed_at;
    if (strcmp(row.family.text, lease.family.text) != 0)
        return;
    if (row.window == lease.window && row.moved_at == lease.moved_at)
        return;
    lease.window = row.window;
    lease.moved_at = row.moved_at;
    lease.length_ms = static_cast<uint64>(row.length_ms);
    lease.look_at = ask_from(row.window, lease.length_ms, static_cast<uint64>(MyProcPid));
}

// Reads whether the generator is leased, if that was not done since it was checked.
void load_lease(Generator &generator) {
    Lease &lease = generator.lease;
    if (lease.state != LeaseState::unknown)
        return;
    lease = Lease{};
    lease.window = any_time;
    lease.look_at = UINT64_MAX;

    LeasedRow row;
    if (!has_lease_tables() || !read_leased_row(generator.relid, &row) || joins_first(row)) {
        lease.state = LeaseState::none;
        return;
    }
    lease.origin = row.origin;
    lease.shard = row.shard;
    lease.layout = row.layout;
    lease.group = group_of(row);
    lease.state = row.state == Membership::leased && row.has_layout && row.shard != any_shard
                      ? LeaseState::leased
                      : LeaseState::sealed;
    if (!is_limited(lease))
        return;
    lease.family = family_of(generator.relid, generator.locator);
    lease.window = no_time;
    read_window(generator);
}

bool serves(const Lease &lease, const Attempt &attempt) {
    const uint64 wanted = tick_time(lease.layout.widths, attempt.tick);
    return wanted < lease.window.until &&
           (attempt.moved_at == InvalidXLogRecPtr || attempt.moved_at == lease.moved_at);
}

// Whether a renewal failed a moment ago: then no other one is started yet.
bool has_failed_lately(const Lease &lease) {
    const TimestampTz now = GetCurrentTimestamp();
    return lease.failed_at != 0 && lease.failed_at <= now &&
           !TimestampDifferenceExceeds(lease.failed_at, now, pause_after_failure_ms);
}

WorkerTask renewal_of(const Generator &generator, XLogRecPtr moved_at, uint64 tick) {
    WorkerTask task = task_for(TaskKind::renew, generator.relid, generator.lease.group);
    task.family = generator.lease.family;
    task.moved_at = moved_at;
    task.tick = tick;
    return task;
}

}  // namespace

void allow_shards(Generator &generator, const Layout &layout) {
    load_lease(generator);
    const Lease &lease = generator.lease;
    if (lease.state == LeaseState::none) {
        generator.shards = {0, static_cast<uint32>(max_shard(layout.widths))};
        return;
    }
    if (lease.state == LeaseState::sealed)
        refuse_sealed(generator);
    if (lease.layout != layout)
        refuse_layout_of_lease(generator, layout);
    check_wal(generator);
    generator.shards = {static_cast<uint32>(lease.shard), 0};
}

bool has_window_for(const OpenPage &page, const Generator &generator) {
    return !is_limited(generator.lease) || is_ours(page, generator.stamp) ||
           generator.lease.moved_at == PageGetLSN(page.page);
}

uint64 at_once_limit(const Generator &generator, uint64 last) {
    const Lease &lease = generator.lease;
    if (!is_limited(lease))
        return UINT64_MAX;
    const Widths widths = lease.layout.widths;
    if (!is_in(lease.window, tick_time(widths, last)))
        return 0;
    return drawn_at_once_below(widths, lease.window, lease.look_at);
}

void wait_for_window(Generator &generator, const Attempt &attempt) {
    instr_time start;
    INSTR_TIME_SET_CURRENT(start);
    Started last = Started::yes;
    for (;;) {
        read_window(generator);
        if (serves(generator.lease, attempt))
            return;
        const int64 left = lease_timeout_ms - ms_since(start);
        Started started = Started::another;
        if (!has_failed_lately(generator.lease))
            started = run_worker(renewal_of(generator, attempt.moved_at, attempt.tick), left);
        if (started != Started::another || has_failed_lately(generator.lease))
            last = started;
        read_window(generator);
        if (serves(generator.lease, attempt))
            return;
        if (left <= 0)
            refuse_without_window(generator, attempt, last);
        nap(Min(left, started == Started::another ? look_again_ms : ask_again_ms));
    }
}

void renew_ahead(Generator &generator, uint64 last) {
    Lease &lease = generator.lease;
    const uint64 time = tick_time(lease.layout.widths, last);
    read_window(generator);
    if (time < lease.look_at)
        return;
    lease.look_at = time + renew_again_ms;
    if (!has_failed_lately(lease))
        run_worker(renewal_of(generator, InvalidXLogRecPtr, last), 0);
}

}  // namespace shardid
