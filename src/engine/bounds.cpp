#include "engine/bounds.h"

#include "engine/arguments.h"
#include "engine/lease.h"
#include "engine/refusals.h"
#include "engine/sequence_page.h"

extern "C" {
#include "commands/extension.h"
}

namespace shardid {

namespace {

[[noreturn]] void refuse_released(const Bounds &bounds, Oid relid) {
    ereport(ERROR,
            (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
             errmsg("generator \"%s\" has released its lease", shown_name(relid)),
             bounds.shard < 0 ? errdetail("It has asked for another one, which was not granted.")
                              : errdetail("Its shard was %d.", bounds.shard),
             errhint("Run SELECT shardid_lease.lease_shard(...) with generator => %s, or "
                     "use another sequence.",
                     quote_literal_cstr(qualified_name(relid)))));
}

[[noreturn]] void refuse_layout(const Bounds &bounds, Oid relid, const Layout &layout) {
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("generator \"%s\" has a lease for another layout", shown_name(relid)),
                    errdetail("Its id space has %s, and this call asks for %s.",
                              described(binding_of(bounds.layout)), described(binding_of(layout))),
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

// That of its library; null until a session has met the extension in its database.
const LeaseKeeper *keeper = nullptr;

void load_library() {
    if (!OidIsValid(get_extension_oid(lease_extension, true)))
        return;
    const auto keeper_of = reinterpret_cast<const LeaseKeeper *(*)()>(
        load_external_function(lease_extension, "shardid_lease_keeper", true, nullptr));
    keeper = keeper_of();
}

// Whether no lease was found in this transaction after it had changed something, perhaps the
// extension. A rollback brings that back, and not every session gets an
// invalidation.
bool found_none_after_change = false;

void forget_after_rollback(XactEvent event, void * /*argument*/) {
    if (found_none_after_change && event == XACT_EVENT_ABORT)
        forget_relation(InvalidOid);
    if (event == XACT_EVENT_ABORT || event == XACT_EVENT_COMMIT || event == XACT_EVENT_PREPARE)
        found_none_after_change = false;
}

void forget_after_subtransaction(SubXactEvent event, SubTransactionId /*own*/,
                                 SubTransactionId /*parent*/, void * /*argument*/) {
    if (found_none_after_change && event == SUBXACT_EVENT_ABORT_SUB)
        forget_relation(InvalidOid);
}

}  // namespace

void start_forgetting_bounds() {
    RegisterXactCallback(forget_after_rollback, nullptr);
    RegisterSubXactCallback(forget_after_subtransaction, nullptr);
}

void load_bounds(Bounds &bounds, const Sequence &sequence, bool is_reader) {
    if (keeper == nullptr)
        load_library();
    // Their state stays unknown if an error is raised.
    void *source = bounds.source;
    bounds = Bounds{};
    bounds.source = source;
    if (keeper == nullptr)
        bounds.state = BoundsState::none;
    else
        keeper->load(bounds, sequence, is_reader);
    if (bounds.state == BoundsState::none && TransactionIdIsValid(GetTopTransactionIdIfAny()))
        found_none_after_change = true;
}

bool forget_table_of_bounds(Oid relid) {
    return keeper != nullptr && keeper->forget_table(relid);
}

void allow_shards(Bounds &bounds, const Sequence &sequence, const Layout &layout) {
    if (bounds.state == BoundsState::unknown)
        load_bounds(bounds, sequence, false);
    if (bounds.state == BoundsState::none) {
        bounds.first_shard = 0;
        bounds.other_shards = static_cast<uint32>(max_shard(layout.widths));
        return;
    }
    if (bounds.state == BoundsState::released)
        refuse_released(bounds, sequence.relid);
    if (bounds.layout != layout)
        refuse_layout(bounds, sequence.relid, layout);
    check_wal(sequence);
    bounds.first_shard = static_cast<uint32>(bounds.shard);
    bounds.other_shards = 0;
}

void refuse_shard(const Bounds &bounds, const Sequence &sequence, const Layout &layout,
                  int32 shard) {
    checked_shard(shard, layout.widths);
    ereport(
        ERROR,
        (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
         errmsg("generator \"%s\" has a lease for another shard", shown_name(sequence.relid)),
         errdetail("Its shard is %d, and this call asks for ids of shard %d.", bounds.shard, shard),
         errhint("Pass shard %d or none, or use another generator.", bounds.shard)));
}

bool has_window_for(const OpenPage &page, const Bounds &bounds, uint32 stamp) {
    return !is_limited(bounds) || is_ours(page, stamp) || bounds.moved_at == PageGetLSN(page.page);
}

void wait_for_window(Bounds &bounds, Oid relid, const Attempt &attempt) {
    keeper->wait_for_window(bounds, relid, attempt);
}

void renew_window(Bounds &bounds, Oid relid, uint64 last) {
    keeper->renew_window(bounds, relid, last);
}

uint64 at_once_limit(const Bounds &bounds, uint64 last) {
    if (!is_limited(bounds))
        return UINT64_MAX;
    const Widths widths = bounds.layout.widths;
    if (!is_in(bounds.window, tick_time(widths, last)))
        return 0;
    return drawn_at_once_below(widths, bounds.window, bounds.renew_from);
}

}  // namespace shardid
