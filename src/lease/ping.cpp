#include "lease/ping.h"

#include "lease/registry.h"

extern "C" {
#include <fcntl.h>
#include <netdb.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "commands/defrem.h"
#include "foreign/foreign.h"
#include "port/pg_bswap.h"
#include "storage/latch.h"
}

namespace shardid {

namespace {

constexpr int64 ping_timeout_ms = 2000;
constexpr int64 look_again_ms = 100;

// "GSSENCRequest" of the protocol: its length, and a code that is no version. Who leaves after the
// answer leaves no line in the registry's log, as after "SSLRequest" where that has SSL.
constexpr uint32 request_length = 8;
constexpr uint32 request_code = 80877104;

struct Address {
    const char *host;
    const char *port;
};

Address address_of(const char *server) {
    Address address{nullptr, "5432"};
    ForeignServer *found = GetForeignServerByName(server, false);
    ListCell *cell;
    foreach (cell, found->options) {
        auto *option = static_cast<DefElem *>(lfirst(cell));
        if (strcmp(option->defname, "hostaddr") == 0 ||
            (strcmp(option->defname, "host") == 0 && address.host == nullptr))
            address.host = defGetString(option);
        else if (strcmp(option->defname, "port") == 0)
            address.port = defGetString(option);
    }
    return address;
}

bool is_plain(const Address &address) {
    return address.host != nullptr && address.host[0] != '\0' && address.host[0] != '@' &&
           strchr(address.host, ',') == nullptr && strchr(address.port, ',') == nullptr;
}

// A socket that connects while others go on; -1 if it cannot.
int begin(int family, int protocol, const void *address, socklen_t length) {
    const int fd = socket(family, SOCK_STREAM, protocol);
    if (fd < 0)
        return -1;
    const auto *peer = static_cast<const struct sockaddr *>(address);
    if (fcntl(fd, F_SETFL, O_NONBLOCK) == 0 &&
        (connect(fd, peer, length) == 0 || errno == EINPROGRESS))
        return fd;
    close(fd);
    return -1;
}

int begin_local(const Address &address) {
    struct sockaddr_un peer {};
    peer.sun_family = AF_UNIX;
    snprintf(peer.sun_path, sizeof(peer.sun_path), "%s/.s.PGSQL.%s", address.host, address.port);
    return begin(AF_UNIX, 0, &peer, sizeof(peer));
}

bool wait_for(int fd, int event, instr_time start) {
    for (;;) {
        instr_time now;
        INSTR_TIME_SET_CURRENT(now);
        INSTR_TIME_SUBTRACT(now, start);
        if (static_cast<int64>(INSTR_TIME_GET_MILLISEC(now)) > ping_timeout_ms)
            return false;
        const int events =
            WaitLatchOrSocket(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH | event, fd,
                              static_cast<long>(look_again_ms), PG_WAIT_EXTENSION);
        if (events & event)
            return true;
        if (events & WL_LATCH_SET)
            ResetLatch(MyLatch);
        make_way_for_drop();
        // A process that is told to end closes its sockets itself.
        CHECK_FOR_INTERRUPTS();
    }
}

bool exchange(int fd) {
    const uint32 request[] = {pg_hton32(request_length), pg_hton32(request_code)};
    instr_time start;
    INSTR_TIME_SET_CURRENT(start);
    char letter;
    return wait_for(fd, WL_SOCKET_WRITEABLE, start) &&
           send(fd, request, sizeof(request), MSG_NOSIGNAL) == sizeof(request) &&
           wait_for(fd, WL_SOCKET_READABLE, start) && recv(fd, &letter, 1, 0) == 1;
}

bool exchange_and_close(int fd) {
    if (fd < 0)
        return false;
    const bool has_answered = exchange(fd);
    close(fd);
    return has_answered;
}

bool any_answers(const struct addrinfo *addresses) {
    for (const struct addrinfo *peer = addresses; peer != nullptr; peer = peer->ai_next)
        if (exchange_and_close(
                begin(peer->ai_family, peer->ai_protocol, peer->ai_addr, peer->ai_addrlen)))
            return true;
    return false;
}

bool remote_answers(const Address &address) {
    struct addrinfo hints {};
    hints.ai_socktype = SOCK_STREAM;
    struct addrinfo *found = nullptr;
    if (getaddrinfo(address.host, address.port, &hints, &found) != 0)
        return false;
    const bool has_answered = any_answers(found);
    freeaddrinfo(found);
    return has_answered;
}

}  // namespace

bool answers(const char *server) {
    const Address address = address_of(server);
    if (!is_plain(address))
        return true;
    return address.host[0] == '/' ? exchange_and_close(begin_local(address))
                                  : remote_answers(address);
}

}  // namespace shardid
