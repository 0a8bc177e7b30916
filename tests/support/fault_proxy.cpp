// SPDX-License-Identifier: MIT
#include "support/fault_proxy.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <stdexcept>
#include <vector>

namespace triage::test {
namespace {

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  return address;
}

// Sends all of it, or returns false.
bool send_all(int to, const char* bytes, std::size_t size) {
  while (size > 0) {
    const ssize_t sent = ::send(to, bytes, size, MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes += sent;
    size -= static_cast<std::size_t>(sent);
  }
  return true;
}

struct Closed {
  int file = -1;
  ~Closed() { ::close(file); }
};

}  // namespace

FaultProxy::FaultProxy(int port) : server_port_(port) {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::listen(listener_, 16) != 0 ||
      ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0 ||
      ::pipe(ending_) != 0) {
    throw std::runtime_error("no proxy can be made");
  }
  own_port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { serve(); });
}

FaultProxy::~FaultProxy() {
  ::close(ending_[1]);
  thread_.join();
  ::close(ending_[0]);
  ::close(listener_);
}

void FaultProxy::cut_nth(std::int64_t n, Cut which, bool once) {
  left_ = 0;
  fired_ = false;
  which_ = which;
  once_ = once;
  left_ = n;
}

void FaultProxy::heal() { left_ = 0; }

bool FaultProxy::cuts(Cut which) {
  if (which != which_ || left_ <= 0) return false;
  if (left_ > 1) {
    --left_;
    return false;
  }
  if (once_) left_ = 0;
  fired_ = true;
  return true;
}

void FaultProxy::serve() {
  while (true) {
    std::array<pollfd, 2> waits{pollfd{listener_, POLLIN, 0}, pollfd{ending_[0], POLLIN, 0}};
    if (::poll(waits.data(), waits.size(), -1) < 0) continue;
    if (waits[1].revents != 0) return;
    const Closed client{::accept(listener_, nullptr, nullptr)};
    if (client.file >= 0) pass_on(client.file);
  }
}

void FaultProxy::pass_on(int client) {
  const Closed server{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  const sockaddr_in address = loopback(server_port_);
  if (::connect(server.file, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return;
  }
  std::vector<char> buffer(std::size_t{1} << 20U);
  while (true) {
    std::array<pollfd, 3> waits{pollfd{client, POLLIN, 0}, pollfd{server.file, POLLIN, 0},
                                pollfd{ending_[0], POLLIN, 0}};
    if (::poll(waits.data(), waits.size(), -1) < 0) continue;
    if (waits[2].revents != 0) return;
    const bool question = waits[0].revents != 0;
    const ssize_t size = ::recv(question ? client : server.file, buffer.data(), buffer.size(), 0);
    if (size <= 0 || cuts(question ? Cut::question : Cut::answer)) return;
    if (!question && watch_) watch_({buffer.data(), static_cast<std::size_t>(size)});
    const std::string answer =
        question && answer_ ? answer_({buffer.data(), static_cast<std::size_t>(size)}) : "";
    if (!answer.empty()) {
      if (!send_all(client, answer.data(), answer.size())) return;
      continue;
    }
    if (!send_all(question ? server.file : client, buffer.data(), static_cast<std::size_t>(size))) {
      return;
    }
  }
}

}  // namespace triage::test
