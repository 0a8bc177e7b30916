// SPDX-License-Identifier: MIT
#pragma once
// Sockets for the proxy. Every wait can be ended by a stop token.

#include "triage/clock.hpp"
#include "triage/detail/file_descriptor.hpp"
#include "triage/result.hpp"

#include <stop_token>
#include <string>
#include <string_view>

namespace triage::inline v0_1::lab::detail {

class Socket {
 public:
  Socket() = default;
  explicit Socket(int number) : file_(number) {}

  [[nodiscard]] int get() const noexcept { return file_.get(); }
  void close() noexcept { file_.close(); }
  void reset() noexcept;  // The other side sees a reset instead of an end.

 private:
  triage::detail::FileDescriptor file_{};
};

// How long to wait for the other side, and what ends the waiting.
struct Patience {
  Duration timeout{};
  std::stop_token stop{};
};

// Listens on a free port of 127.0.0.1. Errors: Errc::io.
[[nodiscard]] Result<Socket> listen_locally(int& port);
// Errors: Errc::io. Name resolution takes as long as the system lets it.
[[nodiscard]] Result<Socket> connect_to(const std::string& host, const std::string& port,
                                        const Patience& patience);
// False on timeout or stop.
[[nodiscard]] bool wait_readable(int number, const Patience& patience);
// The available bytes, at most 64 KB; empty at the end, if the other side ended properly. Errors:
// Errc::io (the connection broke), Errc::busy (the timeout), Errc::cancelled (a stop).
[[nodiscard]] Result<std::string> receive(const Socket& socket, const Patience& patience);
[[nodiscard]] bool send_all(const Socket& socket, std::string_view bytes, const Patience& patience);
// Waits for the timeout. True if the other side left or a stop was requested.
[[nodiscard]] bool wait_gone(const Socket& socket, const Patience& patience);
// Ends the sending, and drops what still arrives for a while: a connection that is closed with
// unread bytes is reset, and the other side may lose what it was sent.
void end_kindly(const Socket& socket, const Patience& patience);
// A pending connection; its number is -1 if there is none.
[[nodiscard]] int accept_from(const Socket& listener);
// Copies in both directions until both sides have ended, or one has gone.
void tunnel(const Socket& one, const Socket& other, const Patience& patience);

}  // namespace triage::inline v0_1::lab::detail
