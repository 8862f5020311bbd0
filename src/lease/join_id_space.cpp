// The SQL functions by which lease_shard() makes a generator a member of an id space:
// lock_for_lease, join_id_space, check_layout.

#include "core/binding.hpp"
#include "core/count.hpp"
#include "core/page_notes.hpp"
#include "core/wait.hpp"
#include "core/window.hpp"
#include "core/worked_widths.hpp"

#include "lease/membership.h"

#include "engine/own_sequence.h"
#include "engine/raise.h"
#include "engine/refusals.h"
#include "engine/sequence.h"
#include "engine/sequence_page.h"
#include "functions/arguments.h"

namespace shardid {

namespace {

constexpr const char *function_name = "lease_shard()";

void check_kind(Relation relation) {
    check_session(relation);
    if (relation->rd_rel->relpersistence == RELPERSISTENCE_PERMANENT &&
        made_from(relation) == Kind::ids)
        return;
    ereport(
        ERROR,
        (errcode(ERRCODE_WRONG_OBJECT_TYPE),
         errmsg("cannot lease a shard for sequence \"%s\"", shown_name(RelationGetRelid(relation))),
         errdetail("It is %s.", relation->rd_rel->relpersistence == RELPERSISTENCE_PERMANENT
                                    ? "what the extension makes UUIDs or ObjectIds from"
                                    : "unlogged or temporary"),
         errhint("Use an ordinary sequence.")));
}

// Ids that its shard's earlier holders made are behind it from now on. A window begins there;
// without one the generator itself has to.
void start_after(Generator &generator, const Layout &layout, int64 from_ms) {
    if (from_ms > 0)
        raise(generator, layout,
              make_tick(layout.widths, static_cast<uint64>(from_ms) - 1,
                        max_sequence(layout.widths)));
}

void check_binding(const Generator &generator, const Layout &layout) {
    Relation relation = relation_open(generator.relid, NoLock);
    const uint64 found = standing_of(relation).binding;
    relation_close(relation, NoLock);
    if (found != unbound && found != binding_of(layout))
        refuse_binding(generator, binding_of(layout), found);
}

char *name_or_null(FunctionCallInfo fcinfo, int number) {
    return PG_ARGISNULL(number) ? nullptr : text_to_cstring(PG_GETARG_TEXT_PP(number));
}

void lock_out_drawers(Oid generator) {
    check_owner(generator);
    LockRelationOid(generator, ShareRowExclusiveLock);
    Relation relation = open_sequence(generator, NoLock, "Pass the name of a sequence.");
    check_owner(generator);
    check_kind(relation);
    relation_close(relation, NoLock);
}

}  // namespace

extern "C" {

PG_FUNCTION_INFO_V1(shardid_check_layout);
PG_FUNCTION_INFO_V1(shardid_lock_for_lease);
PG_FUNCTION_INFO_V1(shardid_join_id_space);

Datum shardid_check_layout(PG_FUNCTION_ARGS) {
    checked_layout(PG_GETARG_TIMESTAMPTZ(0), PG_GETARG_INT32(1), PG_GETARG_INT32(2));
    PG_RETURN_VOID();
}

Datum shardid_lock_for_lease(PG_FUNCTION_ARGS) {
    PreventCommandIfReadOnly(text_to_cstring(PG_GETARG_TEXT_PP(1)));
    lock_out_drawers(PG_GETARG_OID(0));
    PG_RETURN_VOID();
}

// Any role may call it for a generator of its own: what it notes there can keep that from drawing,
// and no other.
Datum shardid_join_id_space(PG_FUNCTION_ARGS) {
    constexpr int may_be_null = 3;
    for (int i = 0; i < PG_NARGS(); ++i)
        if (i != may_be_null && PG_ARGISNULL(i))
            PG_RETURN_NULL();
    PreventCommandIfReadOnly(function_name);
    const Oid relid = PG_GETARG_OID(0);
    const bool is_permanent = PG_GETARG_BOOL(5);
    const Layout layout =
        checked_layout(PG_GETARG_TIMESTAMPTZ(6), PG_GETARG_INT32(7), PG_GETARG_INT32(8));
    const int32 shard = PG_GETARG_INT32(2);
    checked_shard(shard, layout.widths);
    lock_out_drawers(relid);
    Generator &generator = use_generator(relid, function_name);
    check_max_value(generator, max_tick(layout.widths));
    check_binding(generator, layout);

    char permanent[] = "permanent";
    char leased[] = "leased";
    write_leased_row(lease_tables(), relid,
                     {name_or_null(fcinfo, 1), shard, name_or_null(fcinfo, 3), GetUserId(),
                      name_or_null(fcinfo, 4), is_permanent ? permanent : leased, layout,
                      is_permanent ? PG_GETARG_INT64(9) : 0});
    if (is_permanent)
        start_after(use_generator(relid, function_name), layout, PG_GETARG_INT64(9));
    PG_RETURN_VOID();
}

}  // extern "C"

}  // namespace shardid
