#include "engine/lease.h"

#include "core/binding.hpp"

#include "engine/refusals.h"
#include "engine/sequence_page.h"

extern "C" {
#include "catalog/namespace.h"
#include "commands/extension.h"
}

namespace shardid {

namespace {

[[noreturn]] void refuse_sealed(const Lease &lease, Oid relid) {
    ereport(ERROR,
            (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
             errmsg("generator \"%s\" has released its lease", shown_name(relid)),
             lease.shard < 0 ? errdetail("It has asked for another one, which was not granted.")
                             : errdetail("Its shard was %d.", lease.shard),
             errhint("Run SELECT shardid_lease.lease_shard(...) with generator => %s, or "
                     "use another sequence.",
                     quote_literal_cstr(qualified_name(relid)))));
}

[[noreturn]] void refuse_layout(const Lease &lease, Oid relid, const Layout &layout) {
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("generator \"%s\" has a lease for another layout", shown_name(relid)),
                    errdetail("Its id space has %s, and this call asks for %s.",
                              described(binding_of(lease.layout)), described(binding_of(layout))),
                    errhint("Pass the layout of the id space, or use another generator.")));
}

// A transaction that made the storage under wal_level = minimal can move its page without leaving a
// mark in the page's LSN.
void check_wal(const Sequence &sequence) {
    if (sequence.needs_wal)
        return;
    ereport(ERROR,
            (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
             errmsg("cannot generate ids from leased generator \"%s\" in this transaction",
                    shown_name(sequence.relid)),
             errdetail("The transaction has created its storage, without WAL since wal_level "
                       "is minimal."),
             errhint("Generate ids after the commit, or set wal_level to replica.")));
}

constexpr const char *lease_extension = "shardid_lease";

// Its schema is looked up first, as that look-up is cached.
bool is_extension_here() {
    return OidIsValid(get_namespace_oid(lease_extension, true)) &&
           OidIsValid(get_extension_oid(lease_extension, true));
}

void load_library() {
    const auto keeper_of = reinterpret_cast<const LeaseKeeper *(*)()>(
        load_external_function(lease_extension, "shardid_lease_keeper", true, nullptr));
    const LeaseKeeper *keeper = keeper_of();
    if (strcmp(keeper->version, library_version) != 0)
        ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                        errmsg("library \"%s\" is of another version", lease_extension),
                        errdetail("Its version is %s, and that of library \"shardid\" is %s.",
                                  keeper->version, library_version),
                        errhint("Install both from the same build, and connect again.")));
    lease_keeper = keeper;
}

}  // namespace

const LeaseKeeper *lease_keeper;

void load_lease(Lease &lease, const Sequence &sequence, bool is_reader) {
    if (lease_keeper == nullptr && is_extension_here())
        load_library();
    if (lease_keeper != nullptr) {
        lease_keeper->load(lease, sequence, is_reader);
        return;
    }
    lease = Lease{};
    lease.window = any_time;
    lease.look_at = UINT64_MAX;
    lease.state = LeaseState::none;
}

void allow_shards(Lease &lease, const Sequence &sequence, const Layout &layout) {
    if (lease.state == LeaseState::unknown)
        load_lease(lease, sequence, false);
    if (lease.state == LeaseState::none) {
        lease.shards = {0, static_cast<uint32>(max_shard(layout.widths))};
        return;
    }
    if (lease.state == LeaseState::sealed)
        refuse_sealed(lease, sequence.relid);
    if (lease.layout != layout)
        refuse_layout(lease, sequence.relid, layout);
    check_wal(sequence);
    lease.shards = {static_cast<uint32>(lease.shard), 0};
}

void refuse_shard(const Lease &lease, const Sequence &sequence, const Layout &layout, int32 shard) {
    checked_shard(shard, layout.widths);
    ereport(
        ERROR,
        (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
         errmsg("generator \"%s\" has a lease for another shard", shown_name(sequence.relid)),
         errdetail("Its shard is %d, and this call asks for ids of shard %d.", lease.shard, shard),
         errhint("Pass shard %d or none, or use another generator.", lease.shard)));
}

bool has_window_for(const OpenPage &page, const Lease &lease, uint32 stamp) {
    return !is_limited(lease) || is_ours(page, stamp) || lease.moved_at == PageGetLSN(page.page);
}

uint64 at_once_limit(const Lease &lease, uint64 last) {
    if (!is_limited(lease))
        return UINT64_MAX;
    const Widths widths = lease.layout.widths;
    if (!is_in(lease.window, tick_time(widths, last)))
        return 0;
    return drawn_at_once_below(widths, lease.window, lease.look_at);
}

}  // namespace shardid
