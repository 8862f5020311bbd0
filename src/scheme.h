// How the ids of one call are made: the layout of their bits and the epoch their time counts from.
#pragma once

#include "layout.hpp"

#include "compat.h"

namespace shardid {

struct Scheme {
    Layout layout;
    TimestampTz epoch;  // a whole millisecond, finite
};

}  // namespace shardid
