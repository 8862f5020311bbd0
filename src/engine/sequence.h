// A sequence as the catalogue knows it, and the checks that all functions that use one share.
#pragma once

#include "compat.h"

namespace shardid {

// Takes RowExclusiveLock to the end of the transaction, also if the subtransaction rolls back. It
// conflicts with ALTER SEQUENCE, TRUNCATE ... RESTART IDENTITY and DROP.
void lock_sequence(Oid relid);

// Opens it. Raises 42P01, with this hint, if there is no relation, 42809 if it is not a sequence.
// REQUIRED of NoLock: it is locked.
Relation open_sequence(Oid relid, LOCKMODE lock, const char *hint);

// Whether the current user has one of these privileges.
bool has_privilege(Relation relation, AclMode any_of);

// Raises 42501 unless has_privilege; `lacks` and `grant` are the missing privilege and the one to
// grant, in the message's words.
void check_privilege(Relation relation, AclMode any_of, const char *lacks, const char *grant);
[[noreturn]] void refuse_privilege(Relation relation, const char *lacks, const char *grant);

// Raises 0A000 for a temporary sequence of another session.
void check_session(Relation relation);

// Its row in pg_sequence.
FormData_pg_sequence definition_of(Oid relid);

// Its schema-qualified name for a command, quoted where it needs it; palloc'd. REQUIRED: it is
// locked.
char *qualified_name(Oid relid);

// The same without those quotes, for a message that has the name in quotes.
char *shown_name(Oid relid);

}  // namespace shardid
