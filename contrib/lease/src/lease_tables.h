// The two tables that the extension shardid_lease keeps on a member: leased_generator, which dumps
// carry, and lease_window, which they do not. They are read by a
// snapshot of their own, so that every transaction sees what is committed now.
#pragma once

#include "core/window.hpp"

#include "engine/incarnation.h"

namespace shardid {

// joining: the registry has been asked, and no answer has been stored; the generator is as it was.
// sealed: released here, and the registry has not confirmed it. released: it has.
enum class Membership : uint8 { joining, leased, sealed, released };

inline constexpr int32 any_shard = -1;

struct LeasedRow {
    pg_uuid_t origin;
    pg_uuid_t lease;   // another one for each lease_shard()
    Oid generator;     // InvalidOid: there is no such sequence (any more)
    bool is_by_name;   // as a restored dump has left it
    const char *name;  // of the generator, for messages
    const char *server;
    int32 shard;           // any_shard: not known yet
    const char *registry;  // its identity; null: any
    Membership state;
    bool has_layout;  // not while joining
    Layout layout;
};

// A generator that is asked for its first lease is as it was, until there is an answer. One that
// has held a lease generates nothing without one: its old shard may be another generator's.
inline bool joins_first(const LeasedRow &row) {
    return row.state == Membership::joining && row.registry == nullptr;
}

struct WindowRow {
    pg_uuid_t lease;
    Digest family;
    XLogRecPtr moved_at;
    Window window;
    int64 length_ms;
    TimestampTz renewed_at;
    TimestampTz failed_at;     // 0: the last answer gave the window
    TimestampTz silent_since;  // 0: the registry has answered
    bool is_refused;           // it failed because the registry refused it
    const char *error;         // null if there was none
};

// Whether the extension's tables exist. Looked up once, until a relation changes.
bool has_lease_tables();

// Raises 42704 if there are none.
void require_lease_tables();

// For the relcache callback: forgets what it knew of the relation, and returns whether that is a
// table that leases are read from.
bool forget_lease_table(Oid relid);

// Returns false if there is none. Raises 55000 if there are two, or if there is none but one from a
// dump, whose sequence does not exist and may be this one, renamed; a reader, who generates no id,
// gets a sealed row then. REQUIRED: has_lease_tables(); it is a sequence, and no page is locked.
bool read_leased_row(Oid generator_oid, LeasedRow *result, bool is_reader = false);

// The row of this origin, for any generator. Returns false if there is none.
bool read_leased_row(const pg_uuid_t &origin, LeasedRow *result);

bool read_window_row(const pg_uuid_t &origin, WindowRow *result);

}  // namespace shardid
