// The types role_ref and sequence_ref: a role or a sequence that is stored by its OID, and dumped
// by its name. A name that was read from a dump is looked up when it is needed, so that a row
// arrives although its role or sequence is missing.
#pragma once

#include "compat.h"

namespace shardid {

// The sequence of a sequence_ref; InvalidOid if there is none.
Oid sequence_of_ref(Datum ref);

// Whether it still has the name that was read from a dump.
bool is_by_name(Datum ref);

// As SQL shows it: the qualified name that the sequence has now. Of a sequence that is gone it is
// the name that was read from a dump, else the number.
char *name_of_sequence_ref(Datum ref);

}  // namespace shardid
