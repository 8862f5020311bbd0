// The SQL functions that decode ids, the one that builds an id, and the one that finds the smallest
// id of a time; those that write an id as short text, or scatter it, and back.
#include "core/forms.hpp"
#include "core/layout.hpp"

#include "engine/arguments.h"

#include "compat.h"

namespace shardid {

namespace {

[[noreturn]] pg_attribute_cold void refuse_late_id(uint64 id, uint64 time) {
    ereport(
        ERROR,
        (errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
         errmsg("timestamp of the id is out of range"),
         errdetail("Id %lld is %llu ms after the epoch.", static_cast<long long>(id),
                   static_cast<unsigned long long>(time)),
         errhint("Pass the epoch, shard_bits and sequence_bits that the id was generated with.")));
}

TimestampTz timestamp_of(uint64 id, const Layout &layout) {
    const uint64 time = id_time(layout.widths, id);
    if (time > last_shown_time(layout.epoch_us))
        refuse_late_id(id, time);
    return clock_at(layout.epoch_us, time);
}

[[noreturn]] pg_attribute_cold void refuse_outside_layout(TimestampTz ts, const Layout &layout) {
    const uint64 last = max_time(layout.widths) < last_shown_time(layout.epoch_us)
                            ? max_time(layout.widths)
                            : last_shown_time(layout.epoch_us);
    ereport(ERROR, (errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
                    errmsg("timestamp is outside the range of the ids"),
                    errdetail("The timestamp is %s, and the time field reaches from %s to %s.",
                              pstrdup(timestamptz_to_str(ts)),
                              pstrdup(timestamptz_to_str(layout.epoch_us)),
                              pstrdup(timestamptz_to_str(clock_at(layout.epoch_us, last)))),
                    errhint("Pass a timestamp in that range, or another layout.")));
}

bool is_since_epoch(TimestampTz ts, const Layout &layout) {
    return !TIMESTAMP_NOT_FINITE(ts) && ts >= layout.epoch_us;
}

uint64 lower_bound(TimestampTz ts, const Layout &layout) {
    if (!is_since_epoch(ts, layout) ||
        time_not_before(layout.epoch_us, ts) > max_time(layout.widths))
        refuse_outside_layout(ts, layout);
    return first_id_of(layout.widths, time_not_before(layout.epoch_us, ts));
}

uint64 checked_time(TimestampTz ts, const Layout &layout) {
    if (!is_since_epoch(ts, layout) || time_at(layout.epoch_us, ts) > max_time(layout.widths))
        refuse_outside_layout(ts, layout);
    return time_at(layout.epoch_us, ts);
}

uint64 id_argument(FunctionCallInfo fcinfo) {
    return static_cast<uint64>(PG_GETARG_INT64(0));
}

}  // namespace

SQL_FUNCTION(shardid_id_timestamp) {
    const Layout layout = layout_argument(fcinfo, 1);
    PG_RETURN_TIMESTAMPTZ(timestamp_of(id_argument(fcinfo), layout));
}

SQL_FUNCTION(shardid_id_shard) {
    const Widths widths = checked_widths(PG_GETARG_INT32(1), PG_GETARG_INT32(2));
    PG_RETURN_INT32(static_cast<int32>(id_shard(widths, id_argument(fcinfo))));
}

SQL_FUNCTION(shardid_id_sequence) {
    const Widths widths = checked_widths(0, PG_GETARG_INT32(1));
    PG_RETURN_INT32(static_cast<int32>(id_sequence(widths, id_argument(fcinfo))));
}

SQL_FUNCTION(shardid_id_parts) {
    const Layout layout = layout_argument(fcinfo, 1);
    const uint64 id = id_argument(fcinfo);
    ResultRow row;
    row.add(TimestampTzGetDatum(timestamp_of(id, layout)));
    row.add(Int32GetDatum(static_cast<int32>(id_shard(layout.widths, id))));
    row.add(Int32GetDatum(static_cast<int32>(id_sequence(layout.widths, id))));
    return make_row(fcinfo, row);
}

SQL_FUNCTION(shardid_id_from_parts) {
    const Layout layout = layout_argument(fcinfo, 3);
    const uint64 shard = checked_shard(PG_GETARG_INT32(1), layout.widths);
    const uint64 sequence = checked_field("sequence", "sequence number", PG_GETARG_INT32(2),
                                          layout.widths.sequence_bits);
    const uint64 time = checked_time(PG_GETARG_TIMESTAMPTZ(0), layout);
    PG_RETURN_INT64(static_cast<int64>(
        pack_id(layout.widths, shard, make_tick(layout.widths, time, sequence))));
}

SQL_FUNCTION(shardid_id_lower_bound) {
    const Layout layout = layout_argument(fcinfo, 1);
    PG_RETURN_INT64(static_cast<int64>(lower_bound(PG_GETARG_TIMESTAMPTZ(0), layout)));
}

namespace {

// The text is shown whole: a part of it might end within a character, which a server whose encoding
// is SQL_ASCII cannot tell and a client's encoding then refuses.
[[noreturn]] pg_attribute_cold void refuse_text(const text *argument,
                                                const Base32Reading &reading) {
    const char *shown = text_to_cstring(argument);
    const int good = static_cast<int>(reading.good);
    switch (reading.fault) {
        case Base32Fault::character:
            ereport(ERROR,
                    (errcode(ERRCODE_INVALID_TEXT_REPRESENTATION), errmsg("invalid text for an id"),
                     errdetail("The text is \"%s\", whose character %d is no digit of base 32.",
                               shown, good + 1),
                     errhint("Pass a result of id_to_text: digits and Latin letters but U, "
                             "without spaces or hyphens.")));
        case Base32Fault::size:
            ereport(
                ERROR,
                (errcode(ERRCODE_INVALID_TEXT_REPRESENTATION), errmsg("invalid text for an id"),
                 errdetail("The text is \"%s\", whose length is %d.", shown, good),
                 errhint("Pass a result of id_to_text, which has %d characters.", base32_size)));
        default:
            ereport(ERROR,
                    (errcode(ERRCODE_INVALID_TEXT_REPRESENTATION), errmsg("invalid text for an id"),
                     errdetail("The text is \"%s\", which is more than 64 bits hold.", shown),
                     errhint("Pass a result of id_to_text, which begins with 0 to F.")));
    }
}

}  // namespace

// ASCII is the same in every server encoding.
SQL_FUNCTION(shardid_id_to_text) {
    const Base32Text text = base32_of(static_cast<uint64>(PG_GETARG_INT64(0)));
    PG_RETURN_TEXT_P(cstring_to_text_with_len(text.character, base32_size));
}

SQL_FUNCTION(shardid_id_from_text) {
    const text *argument = PG_GETARG_TEXT_PP(0);
    const Base32Reading reading = read_base32(VARDATA_ANY(argument), VARSIZE_ANY_EXHDR(argument));
    if (reading.fault != Base32Fault::none)
        refuse_text(argument, reading);
    PG_RETURN_INT64(static_cast<int64>(reading.number));
}

namespace {

int checked_digits(int32 digits) {
    return checked_number("digits", digits, 1, max_moved_digits, "number of digits");
}

int checked_bits(int32 bits) {
    return checked_number("bits", bits, 1, max_moved_bits, "number of bits, not of partitions,");
}

uint64 checked_id(int64 id) {
    if (id < 0)
        ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE), errmsg("number is negative"),
                        errdetail("The number is %lld.", static_cast<long long>(id)),
                        errhint("Pass a number from 0 to %llu.",
                                static_cast<unsigned long long>(max_scattered))));
    return static_cast<uint64>(id);
}

uint64 checked_id_to_move(int64 number, int digits) {
    const uint64 id = checked_id(number);
    if (!has_digits_to_move(id, digits))
        ereport(ERROR,
                (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE), errmsg("number has too few digits"),
                 errdetail("The number is %lld and digits is %d.", static_cast<long long>(number),
                           digits),
                 errhint("Pass a number with more digits than are moved, or move fewer.")));
    return id;
}

int64 scattered(uint64 id, int digits) {
    const uint64 result = scatter_digits(id, digits);
    if (result > max_scattered)
        ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
                        errmsg("scattered id is out of range"),
                        errdetail("Id %llu becomes %llu, which no bigint holds.",
                                  static_cast<unsigned long long>(id),
                                  static_cast<unsigned long long>(result)),
                        errhint("Use scatter_bits, which has a result for every id.")));
    return static_cast<int64>(result);
}

int64 gathered(uint64 number, int digits) {
    const uint64 result = gather_digits(number, digits);
    if (result > max_scattered)
        ereport(
            ERROR,
            (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE), errmsg("number is not a scattered id"),
             errdetail("The number %llu would come from %llu, which no bigint holds.",
                       static_cast<unsigned long long>(number),
                       static_cast<unsigned long long>(result)),
             errhint("Pass a result of scatter_digits, and the same number of digits.")));
    return static_cast<int64>(result);
}

}  // namespace

SQL_FUNCTION(shardid_scatter_digits) {
    const int digits = checked_digits(PG_GETARG_INT32(1));
    PG_RETURN_INT64(scattered(checked_id_to_move(PG_GETARG_INT64(0), digits), digits));
}

SQL_FUNCTION(shardid_gather_digits) {
    const int digits = checked_digits(PG_GETARG_INT32(1));
    PG_RETURN_INT64(gathered(checked_id_to_move(PG_GETARG_INT64(0), digits), digits));
}

SQL_FUNCTION(shardid_scatter_bits) {
    const int bits = checked_bits(PG_GETARG_INT32(1));
    const uint64 id = checked_id(PG_GETARG_INT64(0));
    PG_RETURN_INT64(static_cast<int64>(scatter_bits(id, bits)));
}

SQL_FUNCTION(shardid_gather_bits) {
    const int bits = checked_bits(PG_GETARG_INT32(1));
    const uint64 id = checked_id(PG_GETARG_INT64(0));
    PG_RETURN_INT64(static_cast<int64>(gather_bits(id, bits)));
}

}  // namespace shardid
