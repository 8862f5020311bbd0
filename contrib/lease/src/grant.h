// The worker's business with a registry: having it grant windows and take shards back, and telling
// the session that waits for it.
#pragma once

#include "answer.h"
#include "request.h"

namespace shardid {

// What a background worker works on.
struct Job {
    WorkerTask task;
    WorkerCall *call;  // null: no session waits
};

// For the session that waits: the outcome, in addition to the worker's end.
void tell(const Job &job, int level, int sqlstate, const char *message, const char *detail,
          const char *hint);
void tell_error(const Job &job, const ErrorData *error);

// The row of the task's generator, as it is committed now. Raises 55000, with this hint, unless its
// state is one of these.
LeasedRow row_of_task(const Job &job, Membership least, Membership most, const char *hint);

// Sends all of these requests, stores the answers, and returns that of the last one. REQUIRED:
// outside of transactions, all are for this server.
Answer ask_for(const char *server, Oid role, List *requests);

// The task: no more ids, then the registry is told. What it has not heard of is sent again with the
// next renewal. REQUIRED: the row is the task's own, and not released; outside of transactions.
void release(const Job &job, LeasedRow row, Oid role);

// Tells the registry that the generator has released its shard, and the session that waits how that
// went. REQUIRED: the row is sealed; outside of transactions.
Answer give_back(const Job &job, const LeasedRow &row, Oid role);

}  // namespace shardid
