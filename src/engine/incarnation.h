// The identity of the server that draws: the place where it keeps its data, and its incarnation. A
// copy of a server, or the same one started again, is another incarnation.
#pragma once

#include "compat.h"

namespace shardid {

// 128 bits of a digest, in hexadecimal digits.
inline constexpr int digest_length = 32;

struct Digest {
    char text[digest_length + 1];
};

Digest digest_of(const char *text);

// What this server keeps for as long as it runs, and no copy of it has, nor the same one started
// again: system identifier, data directory, machine, start of the postmaster; and the generator's
// database, OID and relfilenode. Its incarnations differ by where others have moved its page.
Digest family_of(Oid relid, const RelFileLocator &locator);

// Where only one server at a time can run, as the postmaster's lock file says: system identifier,
// data directory, machine and its name; and the database and the generator.
char *place_of(Oid relid);

// The same for every role to see: equal for two servers with the same data directory on the same
// machine. It reveals neither of them, nor place_of.
Digest public_place();

// The machine's name, "?" if it has none.
const char *host_name();

}  // namespace shardid
