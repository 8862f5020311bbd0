// Having the registry grant windows and take shards back, and storing what it answers.
#pragma once

#include "lease/request.h"

namespace shardid {

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

}  // namespace shardid
