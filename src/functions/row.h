// Results that are a row of several columns.
#pragma once

#include "compat.h"

namespace shardid {

// The row that the function returns, whose result type is looked up once for the call site.
// REQUIRED: as many values as the type has columns.
Datum make_row(FunctionCallInfo fcinfo, Datum *values, bool *nulls);

}  // namespace shardid
