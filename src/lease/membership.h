// A generator that is leased, or is to be, as the member's functions and the worker see it: who may
// lease it, what its page says, and which incarnation asks for a window.
#pragma once

#include "lease/incarnation.h"
#include "lease/lease_tables.h"

namespace shardid {

// Whose user mapping the registry is asked with. InvalidOid if there is no such sequence.
Oid owner_of_sequence(Oid generator);

// Raises 42501 unless the caller owns the sequence, 42809 if it is none. REQUIRED of NoLock: it is
// locked.
void check_owner(Oid generator, Oid caller, LOCKMODE lock = AccessShareLock);

// What the page says: read under its lock, with no lock on the relation needed but one that keeps
// it.
struct Standing {
    uint64 tick;          // the last one
    XLogRecPtr moved_at;  // where others have moved the page to; 0: nowhere
    uint64 binding;
    Digest family;
};

Standing standing_of(Relation sequence);

// The incarnation that a window is asked for: a page that nobody has moved goes on in that which
// its window was granted to. REQUIRED: the window is the row's own, or zero.
XLogRecPtr incarnation_move(const Standing &standing, const WindowRow &window);

// "family@moved_at", as the registry compares it.
const char *incarnation_text(const Digest &family, XLogRecPtr moved_at);

}  // namespace shardid
