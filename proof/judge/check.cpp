// Judges ids only by what clients received:
//
//     check [--shard-bits N] [--sequence-bits N] [--epoch-ms N] [--lead-ms N] [--borrow-ms N]
//           [--clock-percent N] FILE...
//     check --one-space [--sequence-bits N] FILE...
//
// The files of the first form are histories of one generator, one session each (see history.hpp);
// the default layout is Instagram's. Prints, one per line, the numbers of
//
//     ids, sessions
//     duplicates     ids whose time and sequence were received before, whatever their shard
//     decreases      ids not above the one before them in their session
//     crossings      ids not above one whose call had returned before theirs began, in any session
//     too_fast       ids that came sooner than the layout's rate allows, by real time (or a clock
//                    that runs at --clock-percent of it), and the --borrow-ms (0) of sessions that
//                    may borrow time
//     ahead          ids later than the wall clock by more than --lead-ms (0) and what was
//                    borrowed; none if it is negative
//
// and the largest max_lead_ms.
//
// The second form reads histories of any number of generators of one id space: a duplicate is an id
// that was received before, anywhere. The first ten are printed as "twice ID FILE FILE". If files
// are named INCARNATION@ANYTHING, shared_ms counts the milliseconds of a shard of which two
// incarnations have ids: a violation even if these ids differ. They are printed as "shared ID FILE
// FILE", the ID without its sequence.
//
// Exit status: 0 if all counts of violations are 0, 1 if not, 2 if a file cannot be read or has an
// incomplete line.
#include "history.hpp"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

using judge::Receipt;

namespace {

struct Options {
    std::int64_t shard_bits = 13;
    std::int64_t sequence_bits = 10;
    std::int64_t epoch_ms = 1314220021721;
    std::int64_t lead_ms = 0;
    std::int64_t borrow_ms = 0;
    std::int64_t clock_percent = 100;
    bool one_space = false;
    std::vector<std::string> files;
};

// A receipt, with the time of its id, and the time with the sequence.
struct Id {
    std::uint64_t time;
    std::uint64_t tick;
    Receipt receipt;
};

struct Verdict {
    long ids = 0;
    long duplicates = 0;
    long decreases = 0;
    long crossings = 0;
    long too_fast = 0;
    long ahead = 0;
    std::int64_t max_lead_ms = INT64_MIN;
};

Id take_apart(const Receipt &receipt, const Options &options) {
    const auto id = static_cast<std::uint64_t>(receipt.id);
    const std::uint64_t time = id >> (options.shard_bits + options.sequence_bits);
    const std::uint64_t sequence = id & ((std::uint64_t{1} << options.sequence_bits) - 1);
    return {time, time << options.sequence_bits | sequence, receipt};
}

template <typename Use>
void read_receipts(const std::string &name, Use use) {
    std::FILE *file = std::fopen(name.c_str(), "r");
    if (file == nullptr) {
        std::perror(name.c_str());
        std::exit(2);
    }
    char line[256];
    Receipt receipt;
    while (std::fgets(line, sizeof line, file) != nullptr) {
        if (!judge::read_receipt(line, receipt)) {
            std::fprintf(stderr, "%s: not a receipt: %s\n", name.c_str(), line);
            std::exit(2);
        }
        if (!receipt.is_lost)
            use(receipt);
    }
    std::fclose(file);
}

std::vector<Id> read_session(const std::string &name, const Options &options) {
    std::vector<Id> session;
    read_receipts(name,
                  [&](const Receipt &receipt) { session.push_back(take_apart(receipt, options)); });
    return session;
}

long decreases_in(const std::vector<Id> &session) {
    long count = 0;
    for (std::size_t i = 1; i < session.size(); ++i)
        count += session[i].tick <= session[i - 1].tick;
    return count;
}

std::vector<Id> only_timed(const std::vector<Id> &ids) {
    std::vector<Id> timed;
    std::copy_if(ids.begin(), ids.end(), std::back_inserter(timed),
                 [](const Id &id) { return id.receipt.is_timed; });
    return timed;
}

// For each call in the order of their beginnings: is its id above all that were returned before?
long count_crossings(const std::vector<Id> &timed) {
    std::vector<Id> by_begin = timed;
    std::vector<Id> by_end = timed;
    std::sort(by_begin.begin(), by_begin.end(),
              [](const Id &a, const Id &b) { return a.receipt.begin_ns < b.receipt.begin_ns; });
    std::sort(by_end.begin(), by_end.end(),
              [](const Id &a, const Id &b) { return a.receipt.end_ns < b.receipt.end_ns; });
    long count = 0;
    std::size_t told = 0;
    std::uint64_t highest_told = 0;
    for (const Id &id : by_begin) {
        for (; told < by_end.size() && by_end[told].receipt.end_ns < id.receipt.begin_ns; ++told)
            highest_told = std::max(highest_told, by_end[told].tick);
        count += told > 0 && id.tick <= highest_told;
    }
    return count;
}

// Ids i to j of a generator were drawn in this order, between the beginning of call i and the end
// of call j. This time, two milliseconds at its ends and the borrowed time must have room for them.
// For each j it is enough to check the i that leaves the least room.
long count_too_fast(const std::vector<Id> &by_tick, const Options &options) {
    const double ns_an_id = 1e8 / static_cast<double>(options.clock_percent) /
                            static_cast<double>(1L << options.sequence_bits);
    const double slack_ns = 2e6 + 1e6 * static_cast<double>(options.borrow_ms);
    long count = 0;
    double least_room = 0;
    for (std::size_t i = 0; i < by_tick.size(); ++i) {
        const double full_until = static_cast<double>(i) * ns_an_id;
        const double room = static_cast<double>(by_tick[i].receipt.begin_ns) - full_until;
        least_room = i == 0 ? room : std::max(least_room, room);
        const double end = static_cast<double>(by_tick[i].receipt.end_ns);
        count += end - (full_until + ns_an_id) + slack_ns < least_room;
    }
    return count;
}

void look_at_clock(const std::vector<Id> &timed, const Options &options, Verdict &verdict) {
    const std::int64_t most_ms = options.lead_ms + options.borrow_ms;
    for (const Id &id : timed) {
        const std::int64_t time_ms = static_cast<std::int64_t>(id.time) + options.epoch_ms;
        const std::int64_t lead_ms = time_ms - id.receipt.clock_us / 1000;
        verdict.max_lead_ms = std::max(verdict.max_lead_ms, lead_ms);
        verdict.ahead += options.lead_ms >= 0 && lead_ms > most_ms;
    }
}

Verdict judge_all(const Options &options) {
    Verdict verdict;
    std::vector<Id> ids;
    for (const std::string &file : options.files) {
        const std::vector<Id> session = read_session(file, options);
        verdict.decreases += decreases_in(session);
        ids.insert(ids.end(), session.begin(), session.end());
    }
    verdict.ids = static_cast<long>(ids.size());
    std::sort(ids.begin(), ids.end(), [](const Id &a, const Id &b) { return a.tick < b.tick; });
    for (std::size_t i = 1; i < ids.size(); ++i)
        verdict.duplicates += ids[i].tick == ids[i - 1].tick;

    const std::vector<Id> timed = only_timed(ids);
    verdict.crossings = count_crossings(timed);
    verdict.too_fast = count_too_fast(timed, options);
    look_at_clock(timed, options, verdict);
    return verdict;
}

// An id of an id space, and the number of its file.
using Found = std::pair<std::int64_t, std::uint32_t>;

std::vector<Found> read_space(const std::vector<std::string> &files) {
    std::vector<Found> ids;
    for (std::uint32_t number = 0; number < files.size(); ++number)
        read_receipts(files[number],
                      [&](const Receipt &receipt) { ids.emplace_back(receipt.id, number); });
    std::sort(ids.begin(), ids.end());
    return ids;
}

// Empty if the file's name contains none.
std::string incarnation_of(const std::string &file) {
    const std::string name = file.substr(file.rfind('/') + 1);
    const std::size_t end = name.find('@');
    return end == std::string::npos ? "" : name.substr(0, end);
}

constexpr long most_shown = 10;

long count_duplicates(const std::vector<Found> &ids, const Options &options) {
    long duplicates = 0;
    for (std::size_t i = 1; i < ids.size(); ++i)
        if (ids[i].first == ids[i - 1].first && ++duplicates <= most_shown)
            std::printf("twice %" PRId64 " %s %s\n", ids[i].first,
                        options.files[ids[i - 1].second].c_str(),
                        options.files[ids[i].second].c_str());
    return duplicates;
}

// REQUIRED: ids are sorted. Then those of one millisecond and shard follow each other: an id
// without its sequence is time and shard.
long count_shared_ms(const std::vector<Found> &ids, const Options &options) {
    std::vector<std::string> incarnations;
    std::transform(options.files.begin(), options.files.end(), std::back_inserter(incarnations),
                   incarnation_of);
    long shared = 0;
    std::int64_t last_shared = -1;
    const Found *first = nullptr;  // of this millisecond, from a known incarnation
    for (const Found &id : ids) {
        const std::int64_t time_and_shard = id.first >> options.sequence_bits;
        const std::string &incarnation = incarnations[id.second];
        if (incarnation.empty())
            continue;
        if (first == nullptr || first->first >> options.sequence_bits != time_and_shard) {
            first = &id;
        } else if (incarnation != incarnations[first->second] && last_shared != time_and_shard) {
            last_shared = time_and_shard;
            if (++shared <= most_shown)
                std::printf("shared %" PRId64 " %s %s\n", time_and_shard,
                            options.files[first->second].c_str(), options.files[id.second].c_str());
        }
    }
    return shared;
}

// Prints the counts, and returns the number of violations.
long judge_space(const Options &options) {
    const std::vector<Found> ids = read_space(options.files);
    const long duplicates = count_duplicates(ids, options);
    const long shared = count_shared_ms(ids, options);
    std::printf("ids %zu\nfiles %zu\nduplicates %ld\nshared_ms %ld\nviolations %ld\n", ids.size(),
                options.files.size(), duplicates, shared, duplicates + shared);
    return duplicates + shared;
}

long violations(const Verdict &v) {
    return v.duplicates + v.decreases + v.crossings + v.too_fast + v.ahead;
}

void print(const Verdict &v, std::size_t sessions) {
    std::printf(
        "ids %ld\nsessions %zu\nduplicates %ld\ndecreases %ld\ncrossings %ld\n"
        "too_fast %ld\nahead %ld\n",
        v.ids, sessions, v.duplicates, v.decreases, v.crossings, v.too_fast, v.ahead);
    if (v.max_lead_ms != INT64_MIN)
        std::printf("max_lead_ms %" PRId64 "\n", v.max_lead_ms);
    std::printf("violations %ld\n", violations(v));
}

[[noreturn]] void explain() {
    std::fprintf(stderr,
                 "usage: check [--shard-bits N] [--sequence-bits N] [--epoch-ms N] "
                 "[--lead-ms N] [--borrow-ms N] [--clock-percent N] FILE...\n"
                 "       check --one-space [--sequence-bits N] FILE...\n");
    std::exit(2);
}

Options read_options(int argc, char **argv) {
    Options options;
    options.one_space = argc > 1 && std::string(argv[1]) == "--one-space";
    int at = options.one_space ? 2 : 1;
    const std::map<std::string, std::int64_t *> numbers = {
        {"--shard-bits", &options.shard_bits}, {"--sequence-bits", &options.sequence_bits},
        {"--epoch-ms", &options.epoch_ms},     {"--lead-ms", &options.lead_ms},
        {"--borrow-ms", &options.borrow_ms},   {"--clock-percent", &options.clock_percent}};
    for (; at + 1 < argc && argv[at][0] == '-'; at += 2) {
        const auto number = numbers.find(argv[at]);
        if (number == numbers.end())
            explain();
        *number->second = std::atoll(argv[at + 1]);
    }
    options.files.assign(argv + at, argv + argc);
    if (options.files.empty())
        explain();
    return options;
}

}  // namespace

int main(int argc, char **argv) {
    const Options options = read_options(argc, argv);
    if (options.one_space)
        return judge_space(options) == 0 ? 0 : 1;
    const Verdict verdict = judge_all(options);
    print(verdict, options.files.size());
    return violations(verdict) == 0 ? 0 : 1;
}
