// What the SQL functions have in common: reading and checking shard, epoch and
// layout, and results of several columns.
#pragma once

#include "core/layout.hpp"

#include "compat.h"

namespace shardid {

// The last time that timestamptz can show in milliseconds since the epoch.
inline uint64 last_shown_time(TimestampTz epoch) {
    return time_at(epoch, END_TIMESTAMP - 1);
}

// The errors of the functions below.
[[noreturn]] pg_attribute_cold void refuse_widths(Widths widths);
[[noreturn]] pg_attribute_cold void refuse_epoch(TimestampTz epoch);
[[noreturn]] pg_attribute_cold void refuse_field(const char *name, const char *what, int32 value,
                                                 int bits);
[[noreturn]] pg_attribute_cold void refuse_number(const char *name, int value, int from, int to,
                                                  const char *what);

// Raises 22008: `what` can hold no such timestamp, only those of the range.
[[noreturn]] pg_attribute_cold void refuse_timestamp(const char *timestamp, const char *what,
                                                     const char *range);

// The argument of this name; raises 22003 unless from <= value <= to. `what` is for the hint.
inline int checked_number(const char *name, int value, int from, int to, const char *what) {
    if (unlikely(value < from || value > to))
        refuse_number(name, value, from, to, what);
    return value;
}

// Raises 22003 unless both are 0 .. 31 and together at most 32.
inline Widths checked_widths(int32 shard_bits, int32 sequence_bits) {
    const Widths widths{
        checked_number("shard_bits", shard_bits, 0, max_field_bits, "number of bits"),
        checked_number("sequence_bits", sequence_bits, 0, max_field_bits, "number of bits")};
    if (!is_valid(widths))
        refuse_widths(widths);
    return widths;
}

// Raises 22008 unless the epoch is finite and a whole millisecond; 22003 as checked_widths.
inline Layout checked_layout(TimestampTz epoch, int32 shard_bits, int32 sequence_bits) {
    if (TIMESTAMP_NOT_FINITE(epoch) || epoch % us_per_ms != 0)
        refuse_epoch(epoch);
    return {checked_widths(shard_bits, sequence_bits), epoch};
}

// The arguments (epoch timestamptz, shard_bits int, sequence_bits int), of which this is the first.
inline Layout layout_argument(FunctionCallInfo fcinfo, int first) {
    return checked_layout(PG_GETARG_TIMESTAMPTZ(first), PG_GETARG_INT32(first + 1),
                          PG_GETARG_INT32(first + 2));
}

// The argument of this name, which is `what`; raises 22003 unless it fits a field of so many bits.
inline uint64 checked_field(const char *name, const char *what, int32 value, int bits) {
    if (unlikely(value < 0 || static_cast<uint64>(value) > max_of(bits)))
        refuse_field(name, what, value, bits);
    return static_cast<uint64>(value);
}

inline uint64 checked_shard(int32 shard, Widths widths) {
    return checked_field("shard", "shard", shard, widths.shard_bits);
}

// The row that a function returns, column by column.
struct ResultRow {
    static constexpr int most_columns = 10;
    Datum values[most_columns];
    bool nulls[most_columns];
    int columns = 0;

    void add(Datum value, bool is_null = false) {
        values[columns] = value;
        nulls[columns++] = is_null;
    }
};

// As a result, whose type is looked up once for the call site. REQUIRED: it has as many columns as
// that type.
Datum make_row(FunctionCallInfo fcinfo, ResultRow &row);

}  // namespace shardid
