#include "engine/refusals.h"

#include "core/advance.hpp"
#include "core/binding.hpp"

#include "engine/sequence.h"
#include "engine/settings.h"

namespace shardid {

const char *as_text(TimestampTz ts) {
    return pstrdup(timestamptz_to_str(ts));
}

const char *described(uint64 binding) {
    if (kind_of(binding) == Kind::uuids)
        return "UUIDs";
    if (kind_of(binding) == Kind::objectids)
        return "ObjectIds";
    const Layout bound = layout_of(binding);
    return psprintf("ids with epoch => '%s', shard_bits => %d, sequence_bits => %d",
                    as_text(bound.epoch_us), bound.widths.shard_bits, bound.widths.sequence_bits);
}

namespace {

[[noreturn]] void refuse_before_epoch(Kind kind, TimestampTz epoch, TimestampTz clock) {
    ereport(ERROR,
            (errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
             errmsg("clock is before the epoch of the ids"),
             errdetail("The clock is at %s, the epoch is %s.", as_text(clock), as_text(epoch)),
             errhint("Set the server's clock right%s.",
                     kind == Kind::ids ? ", or pass an earlier epoch" : "")));
}

// On Citus, the values of a worker whose number is high begin in the future.
const char *hint_on_lead(Oid relid, Kind kind, bool is_out_of_reach) {
    const char *narrowed = hint_on_narrowed(relid);
    if (narrowed != nullptr)
        return narrowed;
    if (is_out_of_reach)
        return psprintf("%sIf setval has moved it, run ALTER SEQUENCE %s RESTART.",
                        kind == Kind::ids ? "Pass the epoch and sequence_bits that the generator "
                                            "was used with. "
                                          : "",
                        qualified_name(relid));
    return psprintf(
        "Set the server's clock right%s or raise shardid.max_lead, as a superuser or with SET on "
        "this parameter.",
        kind == Kind::ids ? ", pass the epoch and sequence_bits that the generator was used with,"
                          : "");
}

template <typename L>
[[noreturn]] void refuse_too_far_ahead(Oid relid, Kind kind, const L &layout,
                                       const Attempt &attempt) {
    // After its last tick a layout has no time that a clock could show.
    const bool is_out_of_reach =
        attempt.position >= max_tick(layout.widths) || attempt.lead_ms > longest_lead_ms;
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("generator \"%s\" is too far ahead of the clock", shown_name(relid)),
                    errdetail("It is %llu ms ahead, and shardid.max_lead is %llu ms.",
                              static_cast<unsigned long long>(attempt.lead_ms),
                              static_cast<unsigned long long>(max_lead_ms)),
                    errhint("%s", hint_on_lead(relid, kind, is_out_of_reach))));
}

template <typename L>
[[noreturn]] void refuse_ended(const L &layout, TimestampTz clock) {
    if constexpr (is_of_ids<L>)
        ereport(
            ERROR,
            (errcode(ERRCODE_SEQUENCE_GENERATOR_LIMIT_EXCEEDED),
             errmsg("time field of the ids is exhausted"),
             errdetail("The clock is at %s, and %d bits of milliseconds since %s hold no later "
                       "time.",
                       as_text(clock), time_bits(layout.widths), as_text(layout.epoch_us)),
             errhint("Use a layout with a later epoch or fewer shard_bits and sequence_bits, and "
                     "a generator of its own.")));
    else
        ereport(ERROR, (errcode(ERRCODE_SEQUENCE_GENERATOR_LIMIT_EXCEEDED),
                        errmsg("time field of the ids is exhausted"),
                        errdetail("The clock is at %s, and the last time that they hold is %s.",
                                  as_text(clock),
                                  as_text(clock_at(layout.epoch_us, max_drawn_time(layout.widths),
                                                   step_us(layout.widths)))),
                        errhint("Set the server's clock right.")));
}

[[noreturn]] void refuse_jump(Oid relid, uint64 tick) {
    const char *user = GetUserNameFromId(GetUserId(), false);
    ereport(ERROR,
            (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
             errmsg("permission denied to make a generator of sequence \"%s\"", shown_name(relid)),
             errdetail("The first id would set its last value to %llu, and role \"%s\" has no "
                       "UPDATE on it.",
                       static_cast<unsigned long long>(tick), user),
             errhint("Generate the first id in the same way as its owner, or as a role with "
                     "UPDATE on it; after that USAGE is enough.")));
}

}  // namespace

template <typename L>
void refuse(Oid relid, const L &layout, const Attempt &attempt) {
    Assert(no_page_is_locked());
    const Kind kind = kind_of(binding_of(layout));
    switch (attempt.outcome) {
        case Outcome::other_binding:
            refuse_binding(relid, binding_of(layout), attempt.binding);
        case Outcome::jump:
            refuse_jump(relid, attempt.position);
        case Outcome::before_epoch:
            refuse_before_epoch(kind, layout.epoch_us, attempt.clock);
        case Outcome::too_far_ahead:
            refuse_too_far_ahead(relid, kind, layout, attempt);
        case Outcome::drawn:
        case Outcome::wait:
        case Outcome::ask:
            Assert(false);
            [[fallthrough]];
        case Outcome::ended:
            refuse_ended(layout, attempt.clock);
    }
    pg_unreachable();
}

template void refuse(Oid, const Layout &, const Attempt &);
template void refuse(Oid, const OwnLayout &, const Attempt &);

void refuse_binding(Oid relid, uint64 wanted, uint64 found) {
    Assert(wanted != unbound && found != unbound);
    const char *name = qualified_name(relid);
    if (kind_of(wanted) != Kind::ids || kind_of(found) != Kind::ids)
        ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                        errmsg("generator \"%s\" is used for other values", shown_name(relid)),
                        errdetail("It generates %s, and this call asks for %s.", described(found),
                                  described(wanted)),
                        kind_of(wanted) == Kind::ids
                            ? errhint("Use another sequence.")
                            : errhint("Run ALTER SEQUENCE %s RESTART to reset it.", name)));
    ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("generator \"%s\" has another layout", shown_name(relid)),
                    errdetail("It generates %s, and this call asks for %s.", described(found),
                              described(wanted)),
                    errhint("Pass the generator's own layout, or use another generator. To change "
                            "the layout although new ids may then duplicate earlier ones, run "
                            "ALTER SEQUENCE %s RESTART first.",
                            name)));
}

void mention_lead(Oid relid, uint64 lead_ms) {
    ereport(LOG,
            (errmsg("generator \"%s\" is %llu ms ahead of the clock", shown_name(relid),
                    static_cast<unsigned long long>(lead_ms)),
             errdetail("Its ids carry a later time than the clock until the clock has caught up. "
                       "Perhaps the clock was set back, setval or nextval has moved the generator, "
                       "a session uses shardid.max_borrow, or its window of time begins later."),
             errhint("Check the server's clock.")));
}

void mention_borrowing(Oid relid, uint64 most_ms) {
    ereport(LOG,
            (errmsg("generator \"%s\" may get up to %llu ms ahead of the clock", shown_name(relid),
                    static_cast<unsigned long long>(most_ms)),
             errdetail("This session uses shardid.max_borrow. Until the clock has caught up, ids "
                       "that other sessions generate are as far ahead.")));
}

void warn_of_negative_ids(Oid relid, const Layout &layout, TimestampTz clock) {
    const uint64 last_time = tick_time(layout.widths, last_positive_tick(layout.widths));
    const TimestampTz since = clock_at(layout.epoch_us, last_time + 1);
    const int bits = most_positive_bits(time_at(layout.epoch_us, clock));
    const char *epoch =
        layout.widths.shard_bits + layout.widths.sequence_bits > most_positive_bits(0)
            ? ""
            : psprintf(", or a later epoch such as '%s'", as_text(clock - clock % USECS_PER_DAY));
    ereport(WARNING,
            (errmsg(since <= clock ? "ids of generator \"%s\" are negative"
                                   : "ids of generator \"%s\" will be negative within a year",
                    shown_name(relid)),
             errdetail("With epoch '%s' and %d bits for shard and sequence, ids are negative from "
                       "%s on, and sort below earlier ones.",
                       as_text(layout.epoch_us),
                       layout.widths.shard_bits + layout.widths.sequence_bits, as_text(since)),
             errhint("Use shard_bits and sequence_bits of at most %d together%s, with another "
                     "generator.",
                     bits, epoch)));
}

}  // namespace shardid
