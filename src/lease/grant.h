// The worker's business with a registry: having it grant windows and take shards back, storing what
// it answers, and telling the session that waits for it.
#pragma once

#include "lease/request.h"

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

// What came of the last one of the requests.
struct Outcome {
    const char *fault;  // what is wrong with the answer, as a sentence without its period; or null
    bool is_answered;   // the registry has given one
    bool is_refused;    // it has refused, by its answer or by an error: a later try does not help
    bool is_final;      // of a refused return: nothing is left to be returned
};

// Sends all of these requests, and stores the answers. REQUIRED: outside of transactions, all are
// for this server.
Outcome ask_for(const char *server, Oid role, List *requests);

// The task: no more ids, then the registry is told. What it has not heard of is sent again with the
// next renewal. REQUIRED: the row is the task's own, and not released; outside of transactions.
void release(const Job &job, LeasedRow row, Oid role);

// Tells the registry that the generator has released its shard, and the session that waits how that
// went. REQUIRED: the row is sealed; outside of transactions.
Outcome give_back(const Job &job, const LeasedRow &row, Oid role);

// Forgets a request that was not granted, or whose caller no longer waits. REQUIRED: in a
// transaction.
void forget_request(LeasedRow row);

}  // namespace shardid
