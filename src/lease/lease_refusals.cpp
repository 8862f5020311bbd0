#include "core/binding.hpp"
#include "core/count.hpp"
#include "core/wait.hpp"
#include "core/window.hpp"
#include "core/worked_widths.hpp"

#include "lease/lease_refusals.h"

#include "engine/refusals.h"
#include "engine/sequence.h"
#include "engine/settings.h"
#include "lease/membership.h"
#include "lease/seats.h"

extern "C" {
#include "catalog/pg_authid.h"
}

namespace shardid {

namespace {

// A registry's address, and the holders of shards, are not for every role that may generate ids.
bool may_see_why(const Generator &generator) {
    return has_privs_of_role(GetUserId(), owner_of_sequence(generator.relid)) ||
           has_privs_of_role(GetUserId(), ROLE_PG_MONITOR);
}

struct Reason {
    int sqlstate;
    const char *text;
};

// A registry that has refused has to be told something; one that has not answered may do so later.
Reason reason_of(const Generator &generator, Started last) {
    WindowRow row;
    if (last == Started::no_slot)
        return {ERRCODE_CONFIGURATION_LIMIT_EXCEEDED,
                "There is no free slot for a background worker"};
    if (last == Started::no_seat)
        return {ERRCODE_CANNOT_CONNECT_NOW, why_no_seat()};
    if (!read_window_row(generator.lease.origin, &row) || row.failed_at == 0 ||
        row.error == nullptr)
        return {ERRCODE_CANNOT_CONNECT_NOW,
                psprintf("The registry did not answer within %d ms", lease_timeout_ms)};
    return {row.is_refused ? ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE : ERRCODE_CANNOT_CONNECT_NOW,
            may_see_why(generator) ? row.error : "The owner of the generator sees why"};
}

const char *server_of(const Generator &generator) {
    LeasedRow row{};
    read_leased_row(generator.lease.origin, &row);
    return row.server == nullptr ? "" : row.server;
}

}  // namespace

void refuse_sealed(const Generator &generator) {
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("generator \"%s\" has released its lease", shown_name(generator.relid)),
                    generator.lease.shard < 0
                        ? errdetail("It has asked for another one, which was not granted.")
                        : errdetail("Its shard was %d.", generator.lease.shard),
                    errhint("Run SELECT shardid_lease.lease_shard(...) with generator => %s, or "
                            "use another sequence.",
                            quote_literal_cstr(qualified_name(generator.relid)))));
}

void refuse_layout_of_lease(const Generator &generator, const Layout &layout) {
    ereport(
        ERROR,
        (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
         errmsg("generator \"%s\" has a lease for another layout", shown_name(generator.relid)),
         errdetail("Its id space has %s, and this call asks for %s.",
                   described(binding_of(generator.lease.layout)), described(binding_of(layout))),
         errhint("Pass the layout of the id space, or use another generator.")));
}

void refuse_shard_of_lease(const Generator &generator, int32 shard) {
    const int32 own = generator.lease.shard;
    ereport(ERROR,
            (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
             errmsg("generator \"%s\" has a lease for another shard", shown_name(generator.relid)),
             errdetail("Its shard is %d, and this call asks for ids of shard %d.", own, shard),
             errhint("Pass shard %d or none, or use another generator.", own)));
}

void refuse_without_window(const Generator &generator, const Attempt &attempt, Started last) {
    const Lease &lease = generator.lease;
    const char *until =
        lease.window == no_time
            ? "It has no window of time"
            : psprintf("Its window of time ends at %s",
                       as_text(clock_at(lease.layout.epoch_us, lease.window.until)));
    const Reason reason = reason_of(generator, last);
    ereport(
        ERROR,
        (errcode(reason.sqlstate),
         errmsg("generator \"%s\" has no lease of shard %d at this time",
                shown_name(generator.relid), lease.shard),
         errdetail("%s, and the clock is at %s. %s.", until, as_text(attempt.clock), reason.text),
         last == Started::no_slot
             ? errhint("Increase max_worker_processes.")
             : errhint("See shardid_lease.shard_leases here and shardid_lease.id_space_shards "
                       "on the registry of foreign server \"%s\".",
                       server_of(generator))));
}

const char *why_no_seat() {
    return psprintf("The server's %d workers for leases all wait for registries",
                    seats_of_server());
}

void refuse_two(const LeasedRow &row) {
    ereport(ERROR,
            (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
             errmsg("generator \"%s\" has two leases", row.name),
             errdetail("Table shardid_lease.leased_generator has two rows for it, perhaps one from "
                       "a dump that was restored."),
             errhint("As a superuser, delete the row that does not belong to it.")));
}

void refuse_lost(Oid generator_oid, const LeasedRow &lost) {
    ereport(ERROR,
            (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
             errmsg("generator \"%s\" may be leased under another name", shown_name(generator_oid)),
             errdetail("A dump that was restored here has a lease of sequence %s, which does not "
                       "exist.",
                       lost.name),
             errhint("Rename that sequence back and generate an id with it; or, if it is gone, "
                     "delete its row from shardid_lease.leased_generator as a superuser.")));
}

}  // namespace shardid
