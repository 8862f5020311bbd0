// What the registry is asked, and what it answers. The fields are those that grant_one() of the
// script reads, and those that receipts() returns.
#pragma once

#include "lease/exchange.h"
#include "lease/membership.h"

namespace shardid {

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

const char *text_of(const pg_uuid_t &uuid);

// A JSON array of them.
const char *json_of(List *requests);

// One answer.
struct Granted {
    const char *origin;
    bool ok;
    bool is_final;  // of a refused return: nothing is left to be returned
    bool is_later;  // of a refusal: the same request can be granted later
    const char *error;
    const char *incarnation;
    const char *receipt;
    const char *registry;
    int64 shard, from, until, serial, lease_ms, epoch_ms, shard_bits, sequence_bits;
    bool is_readable;  // all numbers that an `ok` has are there
    Layout layout;
};

// The statements that ask: the first with the requests as its parameter, the second, after its
// commit, with what it returned.
inline constexpr const char *grant_statement =
    "SELECT shardid_lease.grant_shards($1::pg_catalog.jsonb)";
const char *receipt_statement();

// Of row n of what they return.
Granted granted_of(const Reply &reply, int row);

}  // namespace shardid
