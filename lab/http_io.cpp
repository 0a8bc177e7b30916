// SPDX-License-Identifier: MIT
#include "http_io.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <memory>

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace triage::inline v0_1::lab::detail {
namespace {

constexpr std::size_t largest_head = 64U << 10U;
constexpr std::size_t largest_body = 64U << 20U;
constexpr int glance = 50;  // Milliseconds between two looks at the stop token.

Error system_error(const std::string& what) {
  return {Errc::io, what + ": " + std::strerror(errno)};
}

bool same_name(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return lower(x) == lower(y); });
}

// The line of a header within `headers`: begin and end, with its \r\n; begin is npos if it is not
// there.
std::pair<std::size_t, std::size_t> find_header(const std::string& headers, std::string_view name) {
  for (std::size_t begin = 0; begin < headers.size();) {
    const std::size_t end = std::min(headers.find("\r\n", begin), headers.size() - 2) + 2;
    const std::string_view line(headers.data() + begin, end - begin);
    if (same_name(line.substr(0, line.find(':')), name)) return {begin, end};
    begin = end;
  }
  return {std::string::npos, 0};
}

// More bytes into `text` until it has `size`. False: the connection ended.
bool fill(std::string& text, std::size_t size, const Socket& socket, const Patience& patience) {
  while (text.size() < size) {
    const std::string more = receive(socket, patience);
    if (more.empty()) return false;
    text += more;
  }
  return true;
}

bool read_chunked(std::string& body, const Socket& socket, const Patience& patience) {
  for (std::size_t at = 0; body.size() <= largest_body;) {
    std::size_t end = 0;
    while ((end = body.find("\r\n", at)) == std::string::npos) {
      if (body.size() > largest_body || !fill(body, body.size() + 1, socket, patience))
        return false;
    }
    std::size_t size = 0;
    const auto [stop, wrong] = std::from_chars(body.data() + at, body.data() + end, size, 16);
    if (wrong != std::errc() || stop == body.data() + at || size > largest_body) return false;
    at = end + 2 + size + 2;
    if (!fill(body, at, socket, patience)) return false;
    if (size == 0) return true;  // Trailers are not read: nobody waits for them.
  }
  return false;
}

}  // namespace

void Socket::close() noexcept {
  if (number_ >= 0) ::close(std::exchange(number_, -1));
}

void Socket::reset() noexcept {
  const ::linger at_once{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(number_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  close();
}

Result<Socket> listen_locally(int& port) {
  Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
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

Result<Socket> connect_to(const std::string& host, const std::string& port) {
  ::addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  ::addrinfo* found = nullptr;
  if (const int wrong = ::getaddrinfo(host.c_str(), port.c_str(), &wanted, &found); wrong != 0) {
    return Error{Errc::io, host + ": " + ::gai_strerror(wrong)};
  }
  const std::unique_ptr<::addrinfo, void (*)(::addrinfo*)> all(found, &::freeaddrinfo);
  for (const ::addrinfo* one = all.get(); one != nullptr; one = one->ai_next) {
    Socket socket(::socket(one->ai_family, one->ai_socktype | SOCK_CLOEXEC, one->ai_protocol));
    if (socket.get() < 0) continue;
    if (::connect(socket.get(), one->ai_addr, one->ai_addrlen) == 0) {
      return outcome::success(std::move(socket));
    }
  }
  return system_error(host + ":" + port);
}

bool wait_readable(int number, const Patience& patience) {
  const auto end = std::chrono::steady_clock::now() + patience.timeout;
  while (!patience.stop.stop_requested() && std::chrono::steady_clock::now() < end) {
    ::pollfd one{.fd = number, .events = POLLIN, .revents = 0};
    const int ready = ::poll(&one, 1, glance);
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
  return false;
}

std::string receive(const Socket& socket, const Patience& patience) {
  std::string block;
  if (!wait_readable(socket.get(), patience)) return block;
  block.resize(64U << 10U);
  ssize_t got = -1;
  do {
    got = ::recv(socket.get(), block.data(), block.size(), 0);
  } while (got < 0 && errno == EINTR);
  block.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return block;
}

bool wait_gone(const Socket& socket, const Patience& patience) {
  const auto end = std::chrono::steady_clock::now() + patience.timeout;
  while (!patience.stop.stop_requested() && std::chrono::steady_clock::now() < end) {
    ::pollfd one{.fd = socket.get(), .events = POLLRDHUP, .revents = 0};
    if (::poll(&one, 1, glance) > 0) return true;
  }
  return patience.stop.stop_requested();
}

int accept_from(const Socket& listener) {
  return ::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC);
}

bool send_all(const Socket& socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

void tunnel(const Socket& one, const Socket& other, const Patience& patience) {
  const Patience at_once{.timeout = std::chrono::milliseconds(glance), .stop = patience.stop};
  auto quiet_since = std::chrono::steady_clock::now();
  while (!patience.stop.stop_requested() &&
         std::chrono::steady_clock::now() - quiet_since < patience.timeout) {
    ::pollfd both[2] = {{.fd = one.get(), .events = POLLIN, .revents = 0},
                        {.fd = other.get(), .events = POLLIN, .revents = 0}};
    if (::poll(both, 2, glance) <= 0) continue;
    quiet_since = std::chrono::steady_clock::now();
    for (const bool first : {true, false}) {
      if (both[first ? 0 : 1].revents == 0) continue;
      const std::string block = receive(first ? one : other, at_once);
      if (block.empty() || !send_all(first ? other : one, block)) return;
    }
  }
}

std::optional<std::string> HttpMessage::header(std::string_view name) const {
  const auto [begin, end] = find_header(headers, name);
  if (begin == std::string::npos) return std::nullopt;
  const std::size_t value = headers.find_first_not_of(" \t", begin + name.size() + 1);
  return headers.substr(value, end - 2 - std::min(value, end - 2));
}

void HttpMessage::remove_header(std::string_view name) {
  for (auto [begin, end] = find_header(headers, name); begin != std::string::npos;
       std::tie(begin, end) = find_header(headers, name)) {
    headers.erase(begin, end - begin);
  }
}

std::string HttpMessage::bytes() const { return first_line + "\r\n" + headers + "\r\n" + body; }

Result<HttpMessage> read_message(const Socket& socket, const Patience& patience, bool is_answer) {
  const Error early{Errc::io, "the connection ended in the middle of a message"};
  std::string text;
  std::size_t end = 0;
  while ((end = text.find("\r\n\r\n")) == std::string::npos) {
    if (text.size() > largest_head) return Error{Errc::invalid_argument, "the head is too large"};
    if (!fill(text, text.size() + 1, socket, patience)) return early;
  }
  const std::size_t line = text.find("\r\n");
  HttpMessage message{.first_line = text.substr(0, line),
                      .headers = text.substr(line + 2, end + 2 - (line + 2)),
                      .body = text.substr(end + 4)};
  if (message.first_line.find("HTTP/1.") == std::string::npos) {
    return Error{Errc::invalid_argument, "it is no HTTP/1.1"};
  }
  if (message.header("Transfer-Encoding")) {
    if (!read_chunked(message.body, socket, patience)) return early;
  } else if (const auto length = message.header("Content-Length")) {
    std::size_t size = 0;
    const auto read = std::from_chars(length->data(), length->data() + length->size(), size);
    if (read.ec != std::errc() || size > largest_body) {
      return Error{Errc::invalid_argument, "its length is \"" + *length + "\""};
    }
    if (!fill(message.body, size, socket, patience)) return early;
    message.body.resize(size);
  } else if (is_answer) {
    while (message.body.size() <= largest_body &&
           fill(message.body, message.body.size() + 1, socket, patience)) {}
  } else {
    message.body.clear();
  }
  return outcome::success(std::move(message));
}

}  // namespace triage::inline v0_1::lab::detail
