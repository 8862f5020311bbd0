// A generator that is leased, or is to be, as the member's functions and the worker see it: the
// role that may lease it, the content of its page, and the incarnation that asks for a window.
#pragma once

#include "engine/incarnation.h"
#include "lease/lease_tables.h"

namespace shardid {

// The role whose user mapping is used for the registry. InvalidOid if there is no such sequence.
Oid owner_of_sequence(Oid generator);

// Raises 42501 unless the caller owns the sequence, 42809 if it is none. REQUIRED of NoLock: it is
// locked.
void check_owner(Oid generator, Oid caller, LOCKMODE lock = AccessShareLock);

// The content of the page: read under its lock, with no lock on the relation needed except one that
// keeps it.
struct Standing {
    uint64 tick;          // the last one
    XLogRecPtr moved_at;  // where others have moved the page to; 0: nowhere
    uint64 binding;
    Digest family;
};

Standing standing_of(Relation sequence);

// The incarnation that a window is asked for: as long as others do not move the page, it is the one
// to which its window was granted. REQUIRED: the window is the row's own, or zero.
XLogRecPtr incarnation_move(const Standing &standing, const WindowRow &window);

// "family@moved_at", as the registry compares it.
const char *incarnation_text(const Digest &family, XLogRecPtr moved_at);

}  // namespace shardid
