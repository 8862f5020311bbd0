// How the ids of one call are made: the layout of their bits and the epoch their time counts from.
#pragma once

#include "layout.hpp"

#include "compat.h"

namespace shardid {

struct Scheme {
    Layout layout;
    TimestampTz epoch;  // a whole millisecond, finite
};

// The last time that timestamptz can show in milliseconds since the epoch.
inline uint64 last_shown_time(TimestampTz epoch) {
    return time_at(epoch, END_TIMESTAMP - 1);
}

}  // namespace shardid
