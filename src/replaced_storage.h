// ALTER SEQUENCE and TRUNCATE ... RESTART IDENTITY give a sequence new storage, and rolling them
// back gives the old storage back, which knows nothing of the ids drawn in between. So these ids
// are remembered there too.
#pragma once

#include "generator.h"

namespace shardid {

// Makes every storage that a rollback of this transaction, or of a part of it, could bring back
// remember that `tick` was drawn; where that takes WAL, it is written up to `log_to`. Returns how
// far WAL has to be durable before the tick is shown. REQUIRED: generator.has_replaced_storage,
// generator.known is what the tick was drawn as.
XLogRecPtr remember_in_replaced_storage(Generator &generator, uint64 tick, uint64 log_to);

}  // namespace shardid
