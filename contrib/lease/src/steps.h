// The steps of a job, which the script has: a request to the registry is built, and an answer
// stored or used, by SQL. A job is a jsonb object, which each step returns with what comes next.
#pragma once

#include "exchange.h"
#include "start_worker.h"

namespace shardid {

// The script's function of this name. Raises 42883 if it is missing.
Oid function_named(const char *name, int arguments, const Oid *types);

// The job for a task of the generator that has this row, or none; with what its call asks for.
Datum job_of(const WorkerTask &task, const WorkerCall *call, const LeasedRow *row);

// The next step, member_step() or session_step(), which sees what is committed now, whatever
// snapshot the transaction has. Returns 0 for null.
Datum step(const char *function, Datum job, const Reply &reply);

const char *lsn_text(XLogRecPtr lsn);

// A field of the object as text; null if it has none.
const char *field(Datum job, const char *name);

}  // namespace shardid
