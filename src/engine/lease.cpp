
#include "core/count.hpp"
#include "core/page_notes.hpp"
#include "core/wait.hpp"
#include "core/window.hpp"
#include "core/worked_widths.hpp"

#include "engine/lease.h"

#include "engine/extension_member.h"
#include "engine/generator.h"
#include "engine/lease_row.h"
#include "engine/refusals.h"
#include "engine/sequence.h"
#include "engine/sequence_page.h"

extern "C" {
#include "common/hashfn.h"
}

namespace shardid {

namespace {

constexpr const char *lease_extension = "shardid_lease";

// After a failure the registry is not asked again for so long: who waits for it has ids again
// within a second of its return.
constexpr int64 pause_after_failure_ms = 500;

Oid generators_table = InvalidOid;
Oid windows_table = InvalidOid;

// Whether these are the extension's tables still.
bool are_tables_known = false;

void note_relation_change(Datum /*argument*/, Oid relid) {
    if (relid == InvalidOid || is_lease_table(relid))
        are_tables_known = false;
}

void start_following_changes() {
    static bool is_following = false;
    if (!is_following)
        CacheRegisterRelcacheCallback(note_relation_change, Datum{0});
    is_following = true;
}

LeaseState state_named(const char *name) {
    if (strcmp(name, "leased") == 0)
        return LeaseState::leased;
    return strcmp(name, "permanent") == 0 ? LeaseState::permanent : LeaseState::sealed;
}

// Advisory locks' fourth field is 1 or 2 for what SQL can lock.
enum class LockUse : uint16 { worker = 3, starter };

// An advisory lock, as an error in the worker's transaction must not take it away.
LOCKTAG lock_for(LockUse use, const LeaseGroup &group) {
    LOCKTAG tag;
    SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, group.role, group.server, static_cast<uint16>(use));
    return tag;
}

// A transaction that made the storage under wal_level = minimal can move its page without leaving a
// mark in the page's LSN.
void check_wal(const Generator &generator) {
    if (generator.needs_wal)
        return;
    ereport(
        ERROR,
        (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
         errmsg("cannot draw ids from leased generator \"%s\" in this transaction",
                shown_name(generator.relid)),
         errdetail("The transaction has made its storage, without WAL since wal_level is minimal."),
         errhint("Draw after the commit, or set wal_level to replica.")));
}

}  // namespace

bool find_lease_tables(Oid *generators, Oid *windows) {
    if (!are_tables_known) {
        start_following_changes();
        generators_table = find_member(lease_extension, "leased_generator");
        windows_table = OidIsValid(generators_table) ? find_member(lease_extension, "lease_window")
                                                     : InvalidOid;
        are_tables_known = OidIsValid(windows_table);
    }
    *generators = generators_table;
    *windows = windows_table;
    return are_tables_known;
}

bool is_lease_table(Oid relid) {
    return OidIsValid(relid) && (relid == generators_table || relid == windows_table);
}

void load_lease(Generator &generator) {
    Lease &lease = generator.lease;
    if (lease.state != LeaseState::unknown)
        return;
    lease = Lease{};
    lease.window = any_time;
    lease.look_at = UINT64_MAX;

    LeasedRow row;
    Oid generators;
    Oid windows;
    if (!find_lease_tables(&generators, &windows) ||
        !read_leased_row(generators, generator.relid, &row)) {
        lease.state = LeaseState::none;
        return;
    }
    lease.shard = row.shard;
    lease.layout = row.layout;
    lease.group = group_of(row.server, row.role);
    lease.state = state_named(row.state);
    lease.is_uncommitted = row.is_uncommitted;
    if (!is_limited(lease))
        return;
    lease.family = family_of(generator.relid, generator.locator);
    lease.window = no_time;
    read_window(generator);
}

void allow_shards(Generator &generator, const Layout &layout) {
    load_lease(generator);
    generator.known = nothing_known(unbound);
    const Lease &lease = generator.lease;
    if (lease.state == LeaseState::none) {
        generator.shards = {0, static_cast<uint32>(max_shard(layout.widths))};
        return;
    }
    if (lease.state == LeaseState::sealed)
        refuse_sealed(generator);
    if (lease.layout != layout)
        refuse_layout_of_lease(generator, layout);
    if (is_limited(lease))
        check_wal(generator);
    generator.shards = {static_cast<uint32>(lease.shard), 0};
}

void check_lease_is_committed(Generator &generator) {
    if (!generator.lease.is_uncommitted)
        return;
    generator.lease.state = LeaseState::unknown;
    ereport(ERROR,
            (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
             errmsg("generator \"%s\" was leased in this transaction", shown_name(generator.relid)),
             errdetail("A rollback would give its shard away, with the ids that were drawn."),
             errhint("Draw after the commit.")));
}

void read_window(Generator &generator) {
    Lease &lease = generator.lease;
    WindowRow row;
    if (!read_window_row(windows_table, generator.relid, &row))
        return;
    lease.failed_at = row.failed_at;
    if (strcmp(row.family, lease.family.text) != 0)
        return;
    if (row.window == lease.window && row.moved_at == lease.moved_at)
        return;
    lease.window = row.window;
    lease.moved_at = row.moved_at;
    lease.length_ms = row.length_ms;
    lease.look_at = ask_from(row.window, row.length_ms, static_cast<uint64>(MyProcPid));
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

bool has_failed_lately(const Lease &lease) {
    const TimestampTz now = GetCurrentTimestamp();
    return lease.failed_at != 0 && lease.failed_at <= now &&
           !TimestampDifferenceExceeds(lease.failed_at, now, pause_after_failure_ms);
}

char *registry_error(const Generator &generator) {
    WindowRow row;
    return read_window_row(windows_table, generator.relid, &row) && row.failed_at != 0 ? row.error
                                                                                       : nullptr;
}

// Two servers whose names have one hash wait for each other: no role can find one that keeps
// another role's worker waiting.
LeaseGroup group_of(const char *server, Oid role) {
    const char *name = server == nullptr ? "" : server;
    return {role, hash_bytes(reinterpret_cast<const unsigned char *>(name),
                             static_cast<int>(strlen(name)))};
}

LOCKTAG lock_of_worker(const Lease &lease) {
    return worker_lock(lease.group);
}

LOCKTAG worker_lock(const LeaseGroup &group) {
    return lock_for(LockUse::worker, group);
}

LOCKTAG lock_of_starter(const Lease &lease) {
    return lock_for(LockUse::starter, lease.group);
}

}  // namespace shardid
