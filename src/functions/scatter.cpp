// The SQL functions that scatter ids over ranges, and gather them.
#include "core/forms.hpp"

#include "engine/arguments.h"

namespace shardid {

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
    if (decimal_digits(id) <= digits)
        ereport(ERROR,
                (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE), errmsg("number has too few digits"),
                 errdetail("The number is %lld and digits is %d.", static_cast<long long>(number),
                           digits),
                 errhint("Pass a number with more digits than are moved, or move fewer.")));
    return id;
}

}  // namespace

extern "C" {

PG_FUNCTION_INFO_V1(shardid_scatter_digits);
Datum shardid_scatter_digits(PG_FUNCTION_ARGS) {
    const int digits = checked_digits(PG_GETARG_INT32(1));
    const uint64 id = checked_id_to_move(PG_GETARG_INT64(0), digits);
    const uint64 result = scatter_digits(id, digits);
    if (result > max_scattered)
        ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
                        errmsg("scattered id is out of range"),
                        errdetail("Id %llu becomes %llu, which no bigint holds.",
                                  static_cast<unsigned long long>(id),
                                  static_cast<unsigned long long>(result)),
                        errhint("Use scatter_bits, which has a result for every id.")));
    PG_RETURN_INT64(static_cast<int64>(result));
}

PG_FUNCTION_INFO_V1(shardid_gather_digits);
Datum shardid_gather_digits(PG_FUNCTION_ARGS) {
    const int digits = checked_digits(PG_GETARG_INT32(1));
    const uint64 number = checked_id_to_move(PG_GETARG_INT64(0), digits);
    const uint64 result = gather_digits(number, digits);
    if (result > max_scattered)
        ereport(
            ERROR,
            (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE), errmsg("number is not a scattered id"),
             errdetail("The number %llu would come from %llu, which no bigint holds.",
                       static_cast<unsigned long long>(number),
                       static_cast<unsigned long long>(result)),
             errhint("Pass a result of scatter_digits, and the same number of digits.")));
    PG_RETURN_INT64(static_cast<int64>(result));
}

PG_FUNCTION_INFO_V1(shardid_scatter_bits);
Datum shardid_scatter_bits(PG_FUNCTION_ARGS) {
    const int bits = checked_bits(PG_GETARG_INT32(1));
    const uint64 id = checked_id(PG_GETARG_INT64(0));
    PG_RETURN_INT64(static_cast<int64>(scatter_bits(id, bits)));
}

PG_FUNCTION_INFO_V1(shardid_gather_bits);
Datum shardid_gather_bits(PG_FUNCTION_ARGS) {
    const int bits = checked_bits(PG_GETARG_INT32(1));
    const uint64 id = checked_id(PG_GETARG_INT64(0));
    PG_RETURN_INT64(static_cast<int64>(gather_bits(id, bits)));
}

}  // extern "C"

}  // namespace shardid
