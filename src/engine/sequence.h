// A sequence as the catalog knows it, and the checks that all functions that use one share; the
// library's relcache callback; the sequences that the extension has made; and what Citus does to
// sequences.
#pragma once

#include "core/binding.hpp"

#include "compat.h"

namespace shardid {

// What a check has found of a generator's sequence, and of its relfilenode; as it is until the next
// check.
struct Sequence {
    Oid relid;
    bool may_update;  // the user has UPDATE
    bool is_temporary;
    bool needs_wal;
    bool has_own_storage;       // temporary, or its relfilenode made in this transaction
    bool has_replaced_storage;  // its relfilenode made in this transaction in place of another
    int64 start_value;
    int64 max_value;
    RelFileLocator locator;
    uint32 stamp;          // stamp_of(locator)
    Kind kind;             // kind_of_sequence
    bool notes_first_ids;  // its transactions do, see FirstNote
};

// The locks and pins that `take` takes are the transaction's, also if the subtransaction rolls
// back.
template <typename Take>
void for_transaction(Take take) {
    ResourceOwner owner = CurrentResourceOwner;
    CurrentResourceOwner = TopTransactionResourceOwner;
    take();
    CurrentResourceOwner = owner;
}

// Takes RowExclusiveLock to the end of the transaction, as for_transaction. It conflicts with ALTER
// SEQUENCE, TRUNCATE ... RESTART IDENTITY and DROP.
void lock_sequence(Oid relid);

// The lock for a call that reads a sequence's page, as core's pg_sequence_last_value takes it:
// under a weaker one ALTER SEQUENCE replaces the storage, and an open relation can keep the old
// one.
inline constexpr LOCKMODE sequence_lockmode = RowExclusiveLock;

// Opens it, when it is locked. Raises 42P01, with this hint, if there is no relation, 42809 if it
// is not a sequence. REQUIRED of NoLock: it is locked.
Relation open_sequence(Oid relid, LOCKMODE lock, const char *hint);

// Whether the current user has one of these privileges.
bool has_privilege(Relation relation, AclMode any_of);

// Raises 42501 unless has_privilege; `lacks` and `grant` are the missing privilege and the one to
// grant, in the message's words.
void check_privilege(Relation relation, AclMode any_of, const char *lacks, const char *grant);
[[noreturn]] void refuse_privilege(Oid relid, const char *lacks, const char *grant);

// Raises 0A000 for a temporary sequence of another session.
void check_session(Relation relation);

// Its owner, of the extension's own sequences that of the database; InvalidOid if there is no such
// sequence.
Oid owner_of_sequence(Oid relid);

// Raises 42501 unless this role is a member of its owner, 42P01 if it does not exist.
void check_owner(Oid relid, Oid caller);

// Its row in pg_sequence.
FormData_pg_sequence definition_of(Oid relid);

// Its schema-qualified name for a command, quoted where it needs it; palloc'd. REQUIRED: it is
// locked.
char *qualified_name(Oid relid);

// The same without those quotes, for a message that has the name in quotes.
char *shown_name(Oid relid);

// The relation of this name that the extension made, in whatever schema it is; InvalidOid if there
// is none, or no such extension.
Oid find_extension_relation(const char *extension, const char *name);

// What is to be called when a relation has changed or been dropped; InvalidOid: any may have. To be
// set once, when the library is loaded. Core has room for ten relcache callbacks of all libraries.
extern void (*forget_relation)(Oid relid);

// From the first call on, what a session knows of relations is forgotten when they change.
void follow_relation_changes();

// A sequence that this extension made. Its OID is known until a relcache invalidation says that the
// relation has changed or been dropped.
struct OwnSequence {
    const char *name;
    Oid relid;  // InvalidOid: not known
};

extern OwnSequence uuid_sequence;
extern OwnSequence objectid_sequence;

// Looks it up among the extension's own relations, so that no other sequence of this name is taken
// for it, and sets its OID. Raises 42P01 if there is none.
void find_own_sequence(OwnSequence &sequence);

// For the relcache callback.
void forget_own_sequences(Oid relid);

// What the extension generates from this sequence: ids, unless it is one of those above.
Kind kind_of_sequence(Relation relation);

inline Oid own_sequence(OwnSequence &sequence) {
    if (unlikely(!OidIsValid(sequence.relid)))
        find_own_sequence(sequence);
    return sequence.relid;
}

// Whether this database has Citus.
bool has_citus();

// What to do about the sequence where Citus has narrowed it, or nullptr: a worker's share of the
// values of a sequence that a distributed table's default names. Citus alters it no more.
const char *hint_on_narrowed(Oid sequence);

// The same where Citus is there, and may refuse to alter the sequence by this command; the command
// alone where it is not.
const char *hint_on_altering(Oid sequence, const char *command);

}  // namespace shardid
