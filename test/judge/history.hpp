// What a client was told, as record writes it and check reads it: one file a session, one line an
// id in the order received,
//     ID BEGIN END CLOCK
// where the call that brought the id began and ended at BEGIN and END (nanoseconds of the monotonic
// clock, which crashes of the server do not disturb) and the wall clock was at CLOCK (microseconds
// since 1970) when the id had come. A line with the ID alone says nothing of time.
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
};

inline void write_receipt(std::FILE *file, const Receipt &receipt) {
    std::fprintf(file, "%" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 "\n", receipt.id,
                 receipt.begin_ns, receipt.end_ns, receipt.clock_us);
}

// False if the line is none of the two kinds.
inline bool read_receipt(const char *line, Receipt &receipt) {
    receipt = {};
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
