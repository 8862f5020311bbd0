// The ids that a client received, as record writes and check reads them: one file per session, one
// line per id in the order received,
//     ID BEGIN END CLOCK
// where the call that returned the id began and ended at BEGIN and END (nanoseconds of the
// monotonic clock, which crashes of the server do not affect), and CLOCK is the wall clock when the
// id was received (microseconds since 1970). A line can have the ID alone. A call whose server was
// lost before it answered is a line
//     ? BEGIN END
#pragma once

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace judge {

struct Receipt {
    std::int64_t id;
    std::int64_t begin_ns;
    std::int64_t end_ns;
    std::int64_t clock_us;
    bool is_timed;
    bool is_lost;  // without an id
};

inline void write_receipt(std::FILE *file, const Receipt &receipt) {
    std::fprintf(file, "%" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 "\n", receipt.id,
                 receipt.begin_ns, receipt.end_ns, receipt.clock_us);
}

inline void write_lost(std::FILE *file, std::int64_t begin_ns, std::int64_t end_ns) {
    std::fprintf(file, "? %" PRId64 " %" PRId64 "\n", begin_ns, end_ns);
}

// False if the line is of no kind.
inline bool read_receipt(const char *line, Receipt &receipt) {
    receipt = {};
    receipt.is_lost = *line == '?';
    if (receipt.is_lost)
        return std::sscanf(line, "? %" SCNd64 " %" SCNd64, &receipt.begin_ns, &receipt.end_ns) == 2;
    char *rest;
    receipt.id = std::strtoll(line, &rest, 10);
    if (rest == line)
        return false;
    if (*rest == '\n')
        return true;
    receipt.is_timed = true;
    return std::sscanf(rest, " %" SCNd64 " %" SCNd64 " %" SCNd64, &receipt.begin_ns,
                       &receipt.end_ns, &receipt.clock_us) == 3;
}

}  // namespace judge
