// SPDX-License-Identifier: MIT
#include "lab/http/http_io.hpp"

#include "triage/policies/duration.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <utility>

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace triage::inline v0_1::lab::detail {
namespace {

constexpr int glance = 50;  // Milliseconds between checks of the stop token.
// How long end_kindly waits: for the next bytes, and in all.
constexpr Duration goodbye = std::chrono::seconds(2);
constexpr Duration longest_goodbye = std::chrono::seconds(30);

Error system_error(const std::string& what) {
  return {Errc::io, what + ": " + std::strerror(errno)};
}

// False on timeout or stop.
bool wait_for(int number, short events, const Patience& patience) {
  const auto end = std::chrono::steady_clock::now() + patience.timeout;
  while (!patience.stop.stop_requested() && std::chrono::steady_clock::now() < end) {
    ::pollfd one{.fd = number, .events = events, .revents = 0};
    const int ready = ::poll(&one, 1, glance);
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
  return false;
}

// Completes a connection; on failure errno says why.
bool connected(const Socket& socket, const ::addrinfo& address, const Patience& patience) {
  if (::connect(socket.get(), address.ai_addr, address.ai_addrlen) == 0) return true;
  if (errno != EINPROGRESS) return false;
  if (!wait_for(socket.get(), POLLOUT, patience)) {
    errno = ETIMEDOUT;
    return false;
  }
  int trouble = 0;
  ::socklen_t length = sizeof trouble;
  ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &trouble, &length);
  errno = trouble;
  return trouble == 0;
}

}  // namespace

void Socket::reset() noexcept {
  const ::linger at_once{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  close();
}

Result<Socket> listen_locally(int& port) {
  Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (socket.get() < 0) return system_error("a socket cannot be made");
  ::sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* place = reinterpret_cast<::sockaddr*>(&address);
  ::socklen_t length = sizeof address;
  if (::bind(socket.get(), place, length) != 0 || ::listen(socket.get(), 128) != 0 ||
      ::getsockname(socket.get(), place, &length) != 0) {
    return system_error("no port of 127.0.0.1 can be listened on");
  }
  port = ntohs(address.sin_port);
  return outcome::success(std::move(socket));
}

Result<Socket> connect_to(const std::string& host, const std::string& port,
                          const Patience& patience) {
  ::addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  ::addrinfo* found = nullptr;
  if (const int wrong = ::getaddrinfo(host.c_str(), port.c_str(), &wanted, &found); wrong != 0) {
    return Error{Errc::io, host + ": " + ::gai_strerror(wrong)};
  }
  const std::unique_ptr<::addrinfo, void (*)(::addrinfo*)> all(found, &::freeaddrinfo);
  errno = EADDRNOTAVAIL;
  for (const ::addrinfo* one = found; one != nullptr; one = one->ai_next) {
    Socket socket(::socket(one->ai_family, one->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK,
                           one->ai_protocol));
    if (socket.get() >= 0 && connected(socket, *one, patience)) {
      return outcome::success(std::move(socket));
    }
  }
  return system_error(host + ":" + port);
}

bool wait_readable(int number, const Patience& patience) {
  return wait_for(number, POLLIN, patience);
}

Result<std::string> receive(const Socket& socket, const Patience& patience) {
  std::string block(64U << 10U, '\0');
  for (;;) {
    if (!wait_readable(socket.get(), patience)) {
      if (patience.stop.stop_requested()) return Error{Errc::cancelled, "the proxy was stopped"};
      return Error{Errc::busy, "nothing came for " + format_duration(patience.timeout)};
    }
    const ssize_t got = ::recv(socket.get(), block.data(), block.size(), 0);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got < 0) return system_error("the connection broke");
    block.resize(static_cast<std::size_t>(got));
    return outcome::success(std::move(block));
  }
}

bool wait_gone(const Socket& socket, const Patience& patience) {
  return wait_for(socket.get(), POLLRDHUP, patience) || patience.stop.stop_requested();
}

int accept_from(const Socket& listener) {
  return ::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

bool send_all(const Socket& socket, std::string_view bytes, const Patience& patience) {
  while (!bytes.empty()) {
    if (!wait_for(socket.get(), POLLOUT, patience)) return false;
    const ssize_t sent = ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

void end_kindly(const Socket& socket, const Patience& patience) {
  ::shutdown(socket.get(), SHUT_WR);
  const auto end = std::chrono::steady_clock::now() + longest_goodbye;
  const Patience short_one{.timeout = std::min(patience.timeout, goodbye), .stop = patience.stop};
  while (std::chrono::steady_clock::now() < end) {
    const auto more = receive(socket, short_one);
    if (!more || more.value().empty()) return;
  }
}

void tunnel(const Socket& one, const Socket& other, const Patience& patience) {
  const Patience at_once{.timeout = std::chrono::milliseconds(glance), .stop = patience.stop};
  auto quiet_since = std::chrono::steady_clock::now();
  // A negative number is not looked at: this side has ended.
  ::pollfd both[2] = {{.fd = one.get(), .events = POLLIN, .revents = 0},
                      {.fd = other.get(), .events = POLLIN, .revents = 0}};
  while ((both[0].fd >= 0 || both[1].fd >= 0) && !patience.stop.stop_requested() &&
         std::chrono::steady_clock::now() - quiet_since < patience.timeout) {
    if (::poll(both, 2, glance) <= 0) continue;
    quiet_since = std::chrono::steady_clock::now();
    for (const bool first : {true, false}) {
      ::pollfd& from = both[first ? 0 : 1];
      if (from.fd < 0 || from.revents == 0) continue;
      const Socket& to = first ? other : one;
      const auto block = receive(first ? one : other, at_once);
      if (!block) return;
      if (block.value().empty()) {
        from.fd = -1;
        ::shutdown(to.get(), SHUT_WR);
      } else if (!send_all(to, block.value(), patience)) {
        return;
      }
    }
  }
}

}  // namespace triage::inline v0_1::lab::detail
