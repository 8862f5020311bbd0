// A transaction's note of its first id, for settled_below: a heavyweight lock whose tag contains
// the millisecond of that id. The lock manager keeps it as long as the transaction's other locks:
// to its end, for a prepared one over a restart, too. SQL cannot take a lock of this type
// (LOCKTAG_USERLOCK), so no role can hold readers back but by generating ids.
//
// Only transactions on generators with a CACHE above 1 note their first ids: for ids it has no
// other meaning. It is dumped, restored and copied with the sequence, its owner alone can change
// it, and ALTER SEQUENCE waits for all transactions that have generated ids without a note.
#pragma once

#include "compat.h"

namespace shardid {

struct FirstNote {
    LocalTransactionId made_in;  // the transaction that it is known of
    uint64 ms;                   // see core/notes.hpp
};

inline bool is_of_this_transaction(const FirstNote &note) {
    return note.made_in == current_lxid();
}

// Whether the transaction has a note that says so. A setval or ALTER SEQUENCE can move a generator
// back below the first note of a transaction; then there is another one.
inline bool is_noted(const FirstNote &note, uint64 ms) {
    return is_of_this_transaction(note) && note.ms <= ms;
}

// Notes that the transaction generates an id in this millisecond. To be called with the page locked
// exclusively, before the id is recorded there: then a session that finds the generator at a later
// position finds the note, too. Does not wait for other transactions. Raises 53200 if the shared
// lock table is full. REQUIRED: the sequence is locked.
void note_first_ms(FirstNote &note, Oid relid, uint64 ms);

// The earliest note on the generator of all transactions that have not ended, this one among them.
struct EarliestNote {
    bool exists;
    uint64 ms;
    int pid;  // of the session; 0 for a prepared transaction
};

EarliestNote earliest_note(Oid relid);

}  // namespace shardid
