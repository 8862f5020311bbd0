// The two tables that the extension shardid_lease keeps on a member: leased_generator, which dumps
// carry, and lease_window, which they do not. The script reads them.
#pragma once

#include "compat.h"

namespace shardid {

// Whether the extension's tables exist. Looked up once, until a relation changes.
bool has_lease_tables();

// Raises 42704 if there are none.
void require_lease_tables();

// For the relcache callback: forgets what it knew of the relation, and returns whether that is a
// table that leases are read from.
bool forget_lease_table(Oid relid);

// The generator's lease and its window, as the columns of both; or of this origin's, if that is not
// null. Returns 0 if there is none. As it is committed now: nobody is told later of a change that
// this has not read. Raises 55000 if it is not to be seen which lease the generator has; for a
// reader, who generates no id, it is sealed then. REQUIRED: no page is locked.
Datum read_lease(Oid generator, const char *origin, bool is_reader = false);

}  // namespace shardid
