// A leased generator as the member's functions see it: who may lease it, what the registry is told
// of it, and its row in leased_generator, which nobody but the extension's owner writes.
#pragma once

#include "engine/incarnation.h"
#include "engine/lease_row.h"

namespace shardid {

struct LeaseTables {
    Oid generators;
    Oid windows;
};

// Raises 42704 if there is no extension shardid_lease.
LeaseTables lease_tables();

// Raises 42501 unless the current user owns the relation, 42809 if it is no sequence.
void check_owner(Oid generator);

// What the page says: read under its lock, with no lock on the relation needed but one that keeps
// it.
struct Standing {
    uint64 tick;          // the last one
    XLogRecPtr moved_at;  // where others have moved the page to; 0: nowhere
    uint64 binding;
    Digest family;
};

Standing standing_of(Relation sequence);

// "family@moved_at", as the registry compares it. A page that nobody has moved goes on in the
// incarnation that its window was granted to.
char *incarnation_of(Oid generator, const Digest &family, XLogRecPtr moved_at);

// Writes the row, as the owner of the table, and has all sessions look at the generator anew once
// this transaction commits. REQUIRED: nobody draws from it.
void write_leased_row(const LeaseTables &tables, Oid generator, const LeasedRow &row);

}  // namespace shardid
