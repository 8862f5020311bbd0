// What a background worker works on, and what it tells the session that waits for it.
#pragma once

#include "core/window.hpp"

#include "lease/start_worker.h"

namespace shardid {

struct Job {
    WorkerTask task;
    WorkerCall *call;       // null: no session waits
    const char *waits_for;  // which lock, for the message if it waits in vain
};

// For the session that waits: the outcome, in addition to the worker's end.
void tell(const Job &job, int level, int sqlstate, const char *message, const char *detail,
          const char *hint);
void tell_error(const Job &job, const ErrorData *error);

// The row of the task's generator, as it is committed now. Raises 55000, with this hint, unless its
// state is one of these.
LeasedRow row_of_task(const Job &job, Membership least, Membership most, const char *hint);

}  // namespace shardid
