#include "engine/server.h"

extern "C" {
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/stringinfo.h"
#include "storage/fd.h"
}

namespace shardid {

namespace {

constexpr int max_host_name = 256;

struct stat directory_at(const char *path) {
    struct stat directory;
    if (stat(path, &directory) != 0)
        ereport(ERROR,
                (errcode_for_file_access(), errmsg("could not stat directory \"%s\": %m", path)));
    return directory;
}

const char *describe_database() {
    StringInfoData text;
    initStringInfo(&text);
    appendStringInfo(&text, "%u|%llu", MyDatabaseId,
                     static_cast<unsigned long long>(directory_at(DatabasePath).st_ino));
#ifdef STATX_BTIME
    // A file system that does not keep it may give a new directory the inode of a deleted one.
    struct statx born;
    if (statx(AT_FDCWD, DatabasePath, 0, STATX_BTIME, &born) == 0 &&
        (born.stx_mask & STATX_BTIME) != 0)
        appendStringInfo(&text, "|%lld.%u", static_cast<long long>(born.stx_btime.tv_sec),
                         born.stx_btime.tv_nsec);
#endif
    return text.data;
}

const char *describe_server() {
    const struct stat directory = directory_at(DataDir);
    StringInfoData text;
    initStringInfo(&text);
    appendStringInfo(&text, UINT64_FORMAT "|%llu|%llu", GetSystemIdentifier(),
                     static_cast<unsigned long long>(directory.st_dev),
                     static_cast<unsigned long long>(directory.st_ino));
    // Where there is no machine id, or it cannot be read, the data directory has to suffice.
    FILE *file = AllocateFile("/etc/machine-id", "r");
    if (file != nullptr) {
        char line[64];
        if (fgets(line, sizeof(line), file) != nullptr)
            appendStringInfo(&text, "|%s", line);
        FreeFile(file);
    }
    return text.data;
}

}  // namespace

const char *described_server() {
    static const char *text = MemoryContextStrdup(TopMemoryContext, describe_server());
    return text;
}

const char *described_database() {
    static const char *text = MemoryContextStrdup(TopMemoryContext, describe_database());
    return text;
}

Digest digest_of(const char *text) {
    Datum bytes = DirectFunctionCall1(sha256_bytea, PointerGetDatum(cstring_to_text(text)));
    const auto *digest = reinterpret_cast<const uint8 *>(VARDATA_ANY(DatumGetPointer(bytes)));
    Digest result;
    for (std::size_t i = 0; i < digest_length / 2; ++i)
        snprintf(result.text + 2 * i, 3, "%02x", digest[i]);
    return result;
}

// Includes a secret that copies have in common, so that a machine's name and the number of a
// directory cannot be found by trying.
Digest public_place() {
    const auto *nonce = reinterpret_cast<const uint8 *>(GetMockAuthenticationNonce());
    StringInfoData text;
    initStringInfo(&text);
    for (int i = 0; i < MOCK_AUTH_NONCE_LEN; ++i)
        appendStringInfo(&text, "%02x", nonce[i]);
    appendStringInfo(&text, "|%s|%s", described_server(), host_name());
    return digest_of(text.data);
}

const char *host_name() {
    char *name = static_cast<char *>(palloc0(max_host_name));
    return gethostname(name, max_host_name - 1) == 0 ? name : "?";
}

}  // namespace shardid
