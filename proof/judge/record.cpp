// Records every id that clients of a server receive, outside the server, so that the record
// survives the server's crash:
//
//     record [--sessions N] [--seconds S] [--rounds N] [--reconnect] [--tolerate SQLSTATE,...]
//            [--pause-ms N] FILE CONNINFO STATEMENT...
//
// Each of N sessions (16) sends the statements in turn, each as a message of its own, repeatedly,
// until S seconds or N rounds are over, its server is lost or SIGTERM comes; with --reconnect a
// session connects to a lost server again. Numbers in the first column of the results are the ids.
// The receipts of session I go to FILE.I (see history.hpp). After each turn a session sleeps, for
// the pause on average. Prints the number of ids. Fails if a statement fails, unless the connection
// was lost or the error is tolerated: then the session continues.
#include "history.hpp"

#include <libpq-fe.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int moment_ms = 20;

struct Options {
    int sessions = 16;
    double seconds = 0;
    long rounds = 0;
    bool reconnect = false;
    std::string tolerated;
    int pause_ms = 0;
    std::string file;
    std::string conninfo;
    std::vector<std::string> statements;
};

// If the parent ends, sessions end that would reconnect for ever.
const pid_t parent = getppid();

std::atomic<bool> is_over = false;
std::atomic<bool> has_failed = false;
std::atomic<long> received = 0;
thread_local std::minstd_rand generator{std::random_device{}()};

std::int64_t nanoseconds(clockid_t clock) {
    timespec now{};
    clock_gettime(clock, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

void note(std::FILE *file, const PGresult *result, std::int64_t begin_ns) {
    const std::int64_t end_ns = nanoseconds(CLOCK_MONOTONIC);
    const std::int64_t clock_us = nanoseconds(CLOCK_REALTIME) / 1000;
    for (int row = 0; row < PQntuples(result); ++row) {
        const char *text = PQgetvalue(result, row, 0);
        char *end;
        const std::int64_t id = std::strtoll(text, &end, 10);
        if (end == text || *end != '\0')
            continue;
        judge::write_receipt(file, {id, begin_ns, end_ns, clock_us, true, false});
        ++received;
    }
}

// A server that shuts down reports it with severity FATAL. Errors that libpq itself detects have no
// severity, and the connection's status may not show them at once.
bool is_lost(const PGconn *connection, const PGresult *result) {
    const char *severity = PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED);
    return PQstatus(connection) != CONNECTION_OK || severity == nullptr ||
           std::strcmp(severity, "ERROR") != 0;
}

bool is_tolerated(const PGresult *result, const Options &options) {
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    return state != nullptr && options.tolerated.find(state) != std::string::npos;
}

void sleep_ms(int ms) {
    std::this_thread::sleep_for(std::chrono::milliseconds(ms));
}

// False if the connection is lost or the statement failed with an error that is not tolerated.
bool run(PGconn *connection, const std::string &statement, const Options &options,
         std::FILE *file) {
    const std::int64_t begin_ns = nanoseconds(CLOCK_MONOTONIC);
    PGresult *result = PQexec(connection, statement.c_str());
    const ExecStatusType status = PQresultStatus(result);
    bool goes_on = status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK;
    if (goes_on)
        note(file, result, begin_ns);
    else if (is_lost(connection, result))
        judge::write_lost(file, begin_ns, nanoseconds(CLOCK_MONOTONIC));
    else {
        goes_on = is_tolerated(result, options);
        if (goes_on)
            sleep_ms(moment_ms);
        else {
            std::fprintf(stderr, "%s: %s", statement.c_str(), PQresultErrorMessage(result));
            has_failed = true;
            is_over = true;
        }
    }
    PQclear(result);
    return goes_on;
}

void talk(PGconn *connection, const Options &options, std::FILE *file) {
    for (long round = 0; options.rounds == 0 || round < options.rounds; ++round) {
        for (const std::string &statement : options.statements)
            if (is_over || !run(connection, statement, options, file))
                return;
        // With equal pauses, sessions would keep step, and repeat the interleaving of each second.
        sleep_ms(std::uniform_int_distribution{0, 2 * options.pause_ms}(generator));
    }
}

void ignore_notice(void * /*argument*/, const char * /*message*/) {}

void be_a_session(const Options &options, int number) {
    std::FILE *file = std::fopen((options.file + "." + std::to_string(number)).c_str(), "w");
    if (file == nullptr) {
        std::perror(options.file.c_str());
        has_failed = true;
        return;
    }
    do {
        PGconn *connection = PQconnectdb(options.conninfo.c_str());
        PQsetNoticeProcessor(connection, ignore_notice, nullptr);
        if (PQstatus(connection) == CONNECTION_OK)
            talk(connection, options, file);
        else if (options.reconnect)
            sleep_ms(moment_ms);
        else {
            std::fprintf(stderr, "%s", PQerrorMessage(connection));
            has_failed = true;
        }
        PQfinish(connection);
    } while (options.reconnect && !is_over && getppid() == parent);
    if (std::fclose(file) != 0)
        has_failed = true;
}

void stop(int /*signal*/) {
    is_over = true;
}

[[noreturn]] void explain() {
    std::fprintf(stderr,
                 "usage: record [--sessions N] [--seconds S] [--rounds N] [--reconnect] "
                 "[--tolerate SQLSTATE,...] [--pause-ms N] FILE CONNINFO STATEMENT...\n");
    std::exit(2);
}

Options read_options(int argc, char **argv) {
    Options options;
    int at = 1;
    for (; at < argc && std::strncmp(argv[at], "--", 2) == 0; ++at) {
        const std::string name = argv[at];
        if (name == "--reconnect") {
            options.reconnect = true;
            continue;
        }
        if (++at == argc)
            explain();
        if (name == "--sessions")
            options.sessions = std::atoi(argv[at]);
        else if (name == "--seconds")
            options.seconds = std::atof(argv[at]);
        else if (name == "--rounds")
            options.rounds = std::atol(argv[at]);
        else if (name == "--tolerate")
            options.tolerated = argv[at];
        else if (name == "--pause-ms")
            options.pause_ms = std::atoi(argv[at]);
        else
            explain();
    }
    if (argc - at < 3)
        explain();
    options.file = argv[at];
    options.conninfo = argv[at + 1];
    options.statements.assign(argv + at + 2, argv + argc);
    return options;
}

void wait_until_over(double seconds) {
    const std::int64_t until =
        nanoseconds(CLOCK_MONOTONIC) + static_cast<std::int64_t>(seconds * 1e9);
    while (!is_over && nanoseconds(CLOCK_MONOTONIC) < until)
        sleep_ms(moment_ms);
    is_over = true;
}

}  // namespace

int main(int argc, char **argv) {
    const Options options = read_options(argc, argv);
    std::signal(SIGTERM, stop);

    std::vector<std::thread> sessions;
    for (int number = 1; number <= options.sessions; ++number)
        sessions.emplace_back(be_a_session, std::cref(options), number);
    if (options.seconds > 0)
        wait_until_over(options.seconds);
    for (std::thread &session : sessions)
        session.join();

    std::printf("%ld\n", received.load());
    return has_failed ? 1 : 0;
}
