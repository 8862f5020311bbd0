// The extension's settings, defined in module.cpp.
#pragma once

#include "compat.h"

namespace shardid {

inline constexpr int unset_shard_id = -1;

// shardid.shard_id: the shard of next_id() without a shard argument; unset_shard_id when not set.
extern int shard_id;

// shardid.max_lead, in milliseconds: how far a generator may be ahead of the clock.
extern uint64 max_lead_ms;

// The largest one, 273,790 years: a double still represents every millisecond of them.
inline constexpr uint64 longest_lead_ms = uint64{100'000'000} * 24 * 60 * 60 * 1000;

// shardid.max_borrow, in milliseconds: how far ahead of the clock a draw may step instead of
// waiting.
extern int max_borrow_ms;

}  // namespace shardid
