// The identity of this server: where it keeps its data, and on which machine.
#pragma once

#include "compat.h"

namespace shardid {

// 128 bits of a digest, in hexadecimal digits.
inline constexpr int digest_length = 32;

struct Digest {
    char text[digest_length + 1];
};

Digest digest_of(const char *text);

// What no copy of the server on another machine or in another directory has: system identifier,
// data directory and machine. Does not change while the server runs.
const char *described_server();

// What no other database of this server has, not even one that is made with the OID of a dropped
// one: the OID, and its directory, by the inode and the time of its birth. ALTER DATABASE ... SET
// TABLESPACE makes another directory.
const char *described_database();

// The same as described_server, for every role to see: equal for two servers with the same data
// directory on the same machine. It reveals neither of them, nor described_server.
Digest public_place();

// The machine's name, "?" if it has none.
const char *host_name();

}  // namespace shardid
