#include "uuid_parts.h"

namespace shardid {

namespace {

void check_clock_seq(int32 clock_seq) {
    if (clock_seq >= 0 && static_cast<uint64>(clock_seq) <= max_uuid_clock_seq)
        return;
    ereport(ERROR,
            (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE), errmsg("clock sequence is out of range"),
             errdetail("The clock sequence is %d.", clock_seq),
             errhint("Pass a clock sequence from 0 to %d.", static_cast<int>(max_uuid_clock_seq))));
}

void check_time(TimestampTz ts, int32 hundred_ns, int version) {
    if (hundred_ns < 0 || hundred_ns >= hundred_ns_per_us)
        ereport(ERROR,
                (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE), errmsg("hundred_ns is out of range"),
                 errdetail("hundred_ns is %d.", hundred_ns),
                 errhint("Pass the number of 100 ns within the microsecond, 0 to 9.")));
    if (TIMESTAMP_NOT_FINITE(ts) || !fits_uuid_timestamp(ts, hundred_ns))
        ereport(ERROR, (errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
                        errmsg("timestamp is outside the range of UUID version %d", version),
                        errdetail("The timestamp is %s, with %d times 100 ns more.",
                                  timestamptz_to_str(ts), hundred_ns),
                        errhint("Pass a timestamp from 1582-10-15 00:00:00 to "
                                "5236-03-31 21:21:00.684697 UTC.")));
}

uint64 node_of(const macaddr *mac) {
    return uint64{mac->a} << 40 | uint64{mac->b} << 32 | uint64{mac->c} << 24 |
           uint64{mac->d} << 16 | uint64{mac->e} << 8 | uint64{mac->f};
}

}  // namespace

UuidParts checked_parts(FunctionCallInfo fcinfo, int version) {
    const TimestampTz ts = PG_GETARG_TIMESTAMPTZ(0);
    const int32 clock_seq = PG_GETARG_INT32(1);
    const int32 hundred_ns = PG_GETARG_INT32(3);
    check_clock_seq(clock_seq);
    check_time(ts, hundred_ns, version);
    return {uuid_timestamp_from_us(ts, hundred_ns), static_cast<uint64>(clock_seq),
            node_of(PG_GETARG_MACADDR_P(2))};
}

Datum mac_datum(uint64 node) {
    auto *mac = static_cast<macaddr *>(palloc(sizeof(macaddr)));
    mac->a = static_cast<unsigned char>(node >> 40);
    mac->b = static_cast<unsigned char>(node >> 32);
    mac->c = static_cast<unsigned char>(node >> 24);
    mac->d = static_cast<unsigned char>(node >> 16);
    mac->e = static_cast<unsigned char>(node >> 8);
    mac->f = static_cast<unsigned char>(node);
    return MacaddrPGetDatum(mac);
}

}  // namespace shardid
