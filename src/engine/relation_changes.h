// The library's one relcache callback: core has room for ten of all libraries.
#pragma once

namespace shardid {

// From the first call on, what a session knows of relations is forgotten when they change.
void follow_relation_changes();

}  // namespace shardid
