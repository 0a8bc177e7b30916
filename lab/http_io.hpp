// SPDX-License-Identifier: MIT
#pragma once
// Sockets, as far as a proxy needs them. Every wait ends at a stop token.

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
  void reset() noexcept;  // The other side sees a reset, not an end.

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
// Errors: Errc::io; a name is looked up for as long as the system likes.
[[nodiscard]] Result<Socket> connect_to(const std::string& host, const std::string& port,
                                        const Patience& patience);
// False: nothing within that time, or stopped.
[[nodiscard]] bool wait_readable(int number, const Patience& patience);
// What there is, at most 64 KB; empty: the other side has ended, or the patience has.
[[nodiscard]] std::string receive(const Socket& socket, const Patience& patience);
[[nodiscard]] bool send_all(const Socket& socket, std::string_view bytes, const Patience& patience);
// Waits for the patience's time. True: the other side has gone, or the patience was stopped.
[[nodiscard]] bool wait_gone(const Socket& socket, const Patience& patience);
// A connection that waits there; none: its number is -1.
[[nodiscard]] int accept_from(const Socket& listener);
// Copies both ways until one side ends.
void tunnel(const Socket& one, const Socket& other, const Patience& patience);

}  // namespace triage::inline v0_1::lab::detail
