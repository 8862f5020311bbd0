// What the library knows of leases, and the functions of the script by which it reads them, has the
// worker work, and asks the registry.
#pragma once

#include "core/window.hpp"

#include "engine/server.h"

#include <initializer_list>

namespace shardid {

// The script's function, or procedure, of this name. Raises 42883 if it is missing.
Oid function_named(const char *name);

// Calls it. It sees what is committed now, whatever snapshot the transaction has.
NullableDatum call_script(const char *name, std::initializer_list<NullableDatum> values);

// Calls a procedure, which may commit. REQUIRED: a transaction, which has no snapshot.
Datum call_procedure(const char *name, std::initializer_list<NullableDatum> values);

inline constexpr NullableDatum no_value{Datum{0}, true};
NullableDatum text_or_null(const char *text);

// A row that it returns.
class Row {
    HeapTupleHeader row;

  public:
    explicit Row(Datum row) : row(DatumGetHeapTupleHeader(row)) {}
    NullableDatum operator[](const char *column) const;
    char *string(const char *column) const;               // null if it is null
    int32 integer(const char *column, int32 null) const;  // of a boolean 1 or 0
    int64 number(const char *column) const;  // bigint, timestamptz or pg_lsn; 0 if null
};

// Random, that of a lease or an origin.
bool operator==(const pg_uuid_t &a, const pg_uuid_t &b);

// What was granted last, and what has failed since then: the columns of lease_window, and 0 for
// what is null.
struct KnownWindow {
    bool is_there = false;
    pg_uuid_t lease;
    const char *family;  // null: nothing was granted
    XLogRecPtr moved_at;
    Window window;
    uint64 lease_ms;
    TimestampTz renewed_at;
    TimestampTz failed_at;
    TimestampTz silent_since;
    bool is_refused;
    const char *error;
};

KnownWindow known_window(const NullableDatum &datum);

// Those of leased_generator, and the window that was stored last, perhaps of another lease.
struct KnownLease {
    bool is_there = false;
    pg_uuid_t origin;
    pg_uuid_t lease;
    const char *server;
    const char *state;
    bool is_first;  // nothing was ever granted to the generator
    int32 shard;    // -1: none
    Layout layout;
    KnownWindow last;
};

bool has_state(const KnownLease &known, const char *state);

// Whether this is leased_generator.
bool is_leased_table(Oid relid);

// For the relcache callback: forgets what it knew of the relation, and returns whether that is a
// table that leases are read from.
bool forget_lease_table(Oid relid);

// The generator's lease; or of this origin's, if that is not null. As it is committed now: nobody
// is told later of a change that this has not read. Raises 55000 if it is not to be seen which
// lease the generator has; for a reader, who generates no id, it is sealed then. REQUIRED: no page
// is locked.
KnownLease read_lease(Oid generator, const pg_uuid_t *origin = nullptr, bool is_reader = false);

}  // namespace shardid
