// How the ids of one call are made: the layout of their bits, or what is counted in place of bits,
// and the epoch their time counts from.
#pragma once

#include "core/binding.hpp"

#include "compat.h"

namespace shardid {

template <typename L>
struct SchemeOf {
    L layout;
    TimestampTz epoch;  // finite; of a Layout, a whole millisecond
};

using Scheme = SchemeOf<Layout>;

// The last time that timestamptz can show in milliseconds since the epoch.
inline uint64 last_shown_time(TimestampTz epoch) {
    return time_at(epoch, END_TIMESTAMP - 1);
}

}  // namespace shardid
