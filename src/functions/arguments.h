// What the SQL functions' arguments have in common: reading and checking shard, epoch and layout.
#pragma once

#include "engine/scheme.h"

namespace shardid {

// What the functions below raise.
[[noreturn]] void refuse_layout(Layout layout);
[[noreturn]] void refuse_epoch(TimestampTz epoch);
[[noreturn]] void refuse_shard(int32 shard, Layout layout);

// Raises 22003 unless both are 0 .. 31 and together at most 32.
inline Layout checked_layout(int32 shard_bits, int32 sequence_bits) {
    const Layout layout{shard_bits, sequence_bits};
    if (unlikely(!is_valid(layout)))
        refuse_layout(layout);
    return layout;
}

// Raises 22008 unless the epoch is finite and a whole millisecond; 22003 as checked_layout.
inline Scheme checked_scheme(TimestampTz epoch, int32 shard_bits, int32 sequence_bits) {
    if (unlikely(TIMESTAMP_NOT_FINITE(epoch) || epoch % us_per_ms != 0))
        refuse_epoch(epoch);
    return {checked_layout(shard_bits, sequence_bits), epoch};
}

// Raises 22003 unless 0 <= shard <= max_shard(layout).
inline uint64 checked_shard(int32 shard, Layout layout) {
    if (unlikely(shard < 0 || static_cast<uint64>(shard) > max_shard(layout)))
        refuse_shard(shard, layout);
    return static_cast<uint64>(shard);
}

}  // namespace shardid
