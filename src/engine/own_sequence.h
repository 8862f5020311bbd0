// The relations that an extension has made, whatever schema they are in; and the sequences among
// them, as this extension's functions find them.
#pragma once

#include "core/binding.hpp"

#include "compat.h"

namespace shardid {

// The relation of this name that the extension made; InvalidOid if there is none, or no such
// extension.
Oid find_member(const char *extension, const char *name);

// Its OID is known until a relcache invalidation says that the relation has changed or been
// dropped.
struct OwnSequence {
    const char *name;
    Oid relid;  // InvalidOid: not known
};

extern OwnSequence uuid_sequence;
extern OwnSequence objectid_sequence;

// Looks it up among the extension's members, so that no other sequence of this name is taken for
// it, and sets its OID. Raises 42P01 if there is none.
void find_own_sequence(OwnSequence &sequence);

// For the relcache callback.
void forget_own_sequences(Oid relid);

// What the extension makes from this sequence: ids, unless it is one of those above.
Kind made_from(Relation relation);

inline Oid own_sequence(OwnSequence &sequence) {
    if (unlikely(!OidIsValid(sequence.relid)))
        find_own_sequence(sequence);
    return sequence.relid;
}

}  // namespace shardid
