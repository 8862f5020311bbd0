// What functions of the script do with a member's rows: they check and store a registry's answers.
#pragma once

#include "exchange.h"
#include "lease_tables.h"

namespace shardid {

// What came of the last one of the requests, a JSON array.
struct Answer {
    const char *fault;  // what is wrong with the answer, as a sentence without its period; or null
    bool is_answered;   // the registry has given one
    bool is_refused;    // it has refused: a later try does not help
    bool is_final;      // of a refused return: nothing is left to be returned
    // Without a fault, except of a return.
    int64 from;
    int64 until;
    int64 lease_ms;
};

// Stores what is answered. REQUIRED: in the worker, in a transaction.
Answer store_answers(const char *requests, const Reply &reply);

// In any session: stores nothing.
Answer checked_answer(const char *requests, const Reply &reply);

// Stores a row, or changes it, as the script says. REQUIRED: in the worker, in a transaction.
void begin_lease(const LeasedRow &row);
void change_lease(const LeasedRow &row, const char *what);

}  // namespace shardid
