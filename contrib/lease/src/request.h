// What the registry is asked. The fields are those that grant_one() of the script reads.
#pragma once

#include "lease_tables.h"
#include "start_worker.h"

namespace shardid {

// The content of the page: read under its lock, with no lock on the relation needed except one that
// keeps it.
struct Standing {
    uint64 tick;          // the last one
    XLogRecPtr moved_at;  // where others have moved the page to; 0: nowhere
    uint64 binding;
    Digest family;
};

// One generator's.
struct Request {
    LeasedRow row;
    WindowRow window;  // what is known of the last one
    Standing standing;
    XLogRecPtr moved_at;  // of the incarnation that asks
    bool joins;
    bool takes_over;
    bool returns;
};

// Reads the page of the row's generator, unless a session has said what is on its own. Returns
// false where somebody has the sequence locked, so that it is not waited for.
bool describe(Request *request, const WorkerTask *session);

// "family@moved_at", as the registry compares it.
const char *incarnation_text(const Digest &family, XLogRecPtr moved_at);

const char *text_of(const pg_uuid_t &uuid);

// A JSON array of them.
const char *json_of(List *requests);

}  // namespace shardid
