// The rows that the extension shardid_lease keeps of a leased generator, in its tables
// leased_generator and lease_window. They are read by a snapshot of their own, so that every
// transaction sees what is committed now.
#pragma once

#include "core/window.hpp"

#include "compat.h"

namespace shardid {

struct LeasedRow {
    char *space;
    int32 shard;
    char *server;  // null: the registry is this database
    Oid role;
    char *origin;
    char *state;
    Layout layout;
    int64 from_ms;  // where a permanent lease begins, by which the registry knows it; else 0
    bool is_uncommitted = false;  // this transaction has written it: no other sees it yet
};

// Returns false if there is none.
bool read_leased_row(Oid table, Oid generator, LeasedRow *row);

// Replaces the one that is there. REQUIRED: the caller has locked the table, and nobody else writes
// this row.
void put_leased_row(Relation table, Oid generator, const LeasedRow &row);

struct WindowRow {
    char *family;
    XLogRecPtr moved_at;
    Window window;
    uint64 length_ms;
    TimestampTz failed_at;  // 0: the last answer gave the window
    char *error;            // null if there was none
};

bool read_window_row(Oid table, Oid generator, WindowRow *row);

}  // namespace shardid
