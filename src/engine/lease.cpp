#include "engine/lease.h"

#include "core/binding.hpp"

#include "engine/refusals.h"
#include "engine/relation_changes.h"
#include "engine/sequence_page.h"

extern "C" {
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

void load_library() {
    if (!OidIsValid(get_extension_oid(lease_extension, true)))
        return;
    const auto keeper_of = reinterpret_cast<const LeaseKeeper *(*)()>(
        load_external_function(lease_extension, "shardid_lease_keeper", true, nullptr));
    lease_keeper = keeper_of();
}

// Whether no lease was found in this transaction after it had changed something, perhaps the
// extension. A rollback brings that back, and not every session is told.
bool found_none_after_change = false;

void look_again_after_rollback(XactEvent event, void * /*argument*/) {
    if (found_none_after_change && event == XACT_EVENT_ABORT)
        forget_relation(InvalidOid);
    if (event == XACT_EVENT_ABORT || event == XACT_EVENT_COMMIT || event == XACT_EVENT_PREPARE)
        found_none_after_change = false;
}

void look_again_after_subtransaction(SubXactEvent event, SubTransactionId /*own*/,
                                     SubTransactionId /*parent*/, void * /*argument*/) {
    if (found_none_after_change && event == SUBXACT_EVENT_ABORT_SUB)
        forget_relation(InvalidOid);
}

}  // namespace

const LeaseKeeper *lease_keeper;

const char *version_of_engine() {
    return library_version;
}

void start_looking_again() {
    RegisterXactCallback(look_again_after_rollback, nullptr);
    RegisterSubXactCallback(look_again_after_subtransaction, nullptr);
}

void load_lease(Lease &lease, const Sequence &sequence, bool is_reader) {
    if (lease_keeper == nullptr)
        load_library();
    // Its state stays unknown if an error is raised.
    lease = Lease{};
    lease.window = any_time;
    lease.look_at = UINT64_MAX;
    if (lease_keeper == nullptr)
        lease.state = LeaseState::none;
    else
        lease_keeper->load(lease, sequence, is_reader);
    if (lease.state == LeaseState::none && TransactionIdIsValid(GetTopTransactionIdIfAny()))
        found_none_after_change = true;
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
