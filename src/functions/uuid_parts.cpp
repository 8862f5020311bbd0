#include "functions/uuid_parts.h"

namespace shardid {

void refuse_clock_seq(int32 clock_seq) {
    ereport(ERROR,
            (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE), errmsg("clock sequence is out of range"),
             errdetail("The clock sequence is %d.", clock_seq),
             errhint("Pass a clock sequence from 0 to %d.", static_cast<int>(max_uuid_clock_seq))));
}

void refuse_time(TimestampTz ts, int32 hundred_ns, int version) {
    if (hundred_ns < 0 || hundred_ns >= hundred_ns_per_us)
        ereport(ERROR,
                (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE), errmsg("hundred_ns is out of range"),
                 errdetail("hundred_ns is %d.", hundred_ns),
                 errhint("Pass the number of 100 ns within the microsecond, 0 to 9.")));
    ereport(ERROR, (errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
                    errmsg("timestamp is outside the range of UUID version %d", version),
                    errdetail("The timestamp is %s, with %d times 100 ns more.",
                              timestamptz_to_str(ts), hundred_ns),
                    errhint("Pass a timestamp from 1582-10-15 00:00:00 to "
                            "5236-03-31 21:21:00.684697 UTC.")));
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
