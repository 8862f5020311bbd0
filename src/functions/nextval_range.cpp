// The SQL function that takes many values of a plain sequence in one step: nextval_range.
#include "core/range.hpp"

#include "engine/arguments.h"
#include "engine/sequence_page.h"

namespace shardid {

namespace {

constexpr const char *function_name = "nextval_range()";

// WAL is written ahead for as many values as nextval does it for, or for another range of this
// size, unless that is so large that users would notice the gap after a crash.
constexpr uint64 logged_ahead_by_nextval = 32;
constexpr uint64 most_logged_ahead = 1024;

constexpr uint64 most_with_usage = 10000;

uint64 values_logged_ahead(uint64 count) {
    return count > most_logged_ahead ? logged_ahead_by_nextval
                                     : Max(count, logged_ahead_by_nextval);
}

[[noreturn]] void refuse_without_update(Relation relation, const char *what) {
    refuse_privilege(RelationGetRelid(relation), psprintf("no UPDATE, which %s requires,", what),
                     "UPDATE");
}

// Locked, and checked as nextval does: the user, then the transaction. More than most_with_usage
// values at once are a jump, for which core asks UPDATE (setval).
Relation open_for_nextval(Oid relid, uint64 count) {
    lock_sequence(relid);
    Relation relation = open_sequence(relid, NoLock, "Pass the name of a sequence.");
    check_privilege(relation, ACL_USAGE | ACL_UPDATE, "neither USAGE nor UPDATE", "USAGE");
    if (count > most_with_usage && !has_privilege(relation, ACL_UPDATE))
        refuse_without_update(relation, psprintf("a count of more than %llu",
                                                 static_cast<unsigned long long>(most_with_usage)));
    check_session(relation);
    if (!relation->rd_islocaltemp)
        PreventCommandIfReadOnly(function_name);
    PreventCommandIfParallelMode(function_name);
    return relation;
}

[[noreturn]] void refuse_count(Relation relation, const Limits &limits, uint64 count, uint64 left) {
    const bool is_ascending = limits.increment > 0;
    const char *name = qualified_name(RelationGetRelid(relation));
    ereport(
        ERROR,
        (errcode(ERRCODE_SEQUENCE_GENERATOR_LIMIT_EXCEEDED),
         errmsg("sequence \"%s\" has too few values left", shown_name(RelationGetRelid(relation))),
         errdetail("The count is %llu, and %llu are left up to %s %lld.",
                   static_cast<unsigned long long>(count), static_cast<unsigned long long>(left),
                   is_ascending ? "MAXVALUE" : "MINVALUE",
                   static_cast<long long>(is_ascending ? limits.max : limits.min)),
         errhint("Pass a smaller count, or move that limit by ALTER SEQUENCE %s; a range never "
                 "wraps around, even if the sequence has CYCLE.",
                 name)));
}

// Nothing is taken if there are too few.
Range take(Relation relation, uint64 count) {
    const FormData_pg_sequence definition = definition_of(RelationGetRelid(relation));
    const Limits limits{definition.seqmin, definition.seqmax, definition.seqincrement};

    // The values of a generator are times: a range of them moves it into the future.
    const bool may_move_generators = has_privilege(relation, ACL_UPDATE);

    const OpenPage page = open_page(relation);
    const int64 last_value = page.data->last_value;
    const bool is_called = page.data->is_called;
    const uint64 left = values_left(limits, last_value, is_called);
    if (!may_move_generators && binding_of(page) != unbound) {
        close_page(page);
        refuse_without_update(relation, "a range of a generator");
    }
    if (left < count) {
        close_page(page);
        refuse_count(relation, limits, count, left);
    }
    const Range range = next_range(limits, last_value, is_called, count);
    const uint64 ahead = Min(values_logged_ahead(count), steps_left(limits, range.last));
    const Move move{range.last, static_cast<int64>(range.steps),
                    value_after(limits, range.last, ahead), static_cast<int64>(ahead)};
    const XLogRecPtr covered_by = record_move(page, relation, move);
    close_page(page);
    make_durable(covered_by);
    return range;
}

}  // namespace

extern "C" {

PG_FUNCTION_INFO_V1(shardid_nextval_range);
Datum shardid_nextval_range(PG_FUNCTION_ARGS) {
    const int64 given = PG_GETARG_INT64(1);
    if (given < 1)
        ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("count must be positive"),
                        errdetail("The count is %lld.", static_cast<long long>(given)),
                        errhint("Pass a number of values, 1 or more.")));
    const auto count = static_cast<uint64>(given);
    Relation relation = open_for_nextval(PG_GETARG_OID(0), count);
    const Range range = take(relation, count);
    relation_close(relation, NoLock);

    ResultRow row;
    row.add(Int64GetDatum(range.first));
    row.add(Int64GetDatum(range.last));
    return make_row(fcinfo, row);
}

}  // extern "C"

}  // namespace shardid
