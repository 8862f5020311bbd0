// The library's one relcache callback: core has room for ten of all libraries.
#pragma once

#include "compat.h"

namespace shardid {

// What is to be called when a relation has changed or been dropped; InvalidOid: any may have. To be
// set once, when the library is loaded.
extern void (*forget_relation)(Oid relid);

// From the first call on, what a session knows of relations is forgotten when they change.
void follow_relation_changes();

}  // namespace shardid
