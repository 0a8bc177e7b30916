// SPDX-License-Identifier: MIT
#pragma once
// The client side of the protocol: how a command inside a supervised program talks to its
// supervisor.

#include "command_status.hpp"
#include "triage/json.hpp"
#include "triage/result.hpp"

#include <csignal>
#include <string>

namespace triage::inline v0_1::cli {

// Thread-safety: none.
class SupervisorClient {
 public:
  // Errors: Errc::not_found outside of `triage run` (TRIAGE_SOCKET is not set), Errc::io.
  [[nodiscard]] static Result<SupervisorClient> connect();
  SupervisorClient(SupervisorClient&& other) noexcept;
  SupervisorClient& operator=(SupervisorClient&&) = delete;
  ~SupervisorClient();

  // Sends the message and returns the answer if it is ok. Errors: those in the answer; Errc::io.
  [[nodiscard]] Result<Json> ask(Json message);
  // The same; until the answer comes, the signals of this mask are blocked instead of the present
  // ones.
  [[nodiscard]] Result<Json> ask(Json message, const sigset_t& meanwhile);
  // Sends a message that has no answer.
  [[nodiscard]] Result<void> tell(const Json& message);
  // The next answer.
  [[nodiscard]] Result<Json> hear();

 private:
  explicit SupervisorClient(int socket) : socket_(socket) {}

  int socket_;
  std::string waiting_{};
};

// One message on a connection of its own. Errors: those of connect() and ask().
[[nodiscard]] Result<Json> ask_supervisor(const Json& message);
// The same for a command that prints no answer.
[[nodiscard]] ExitStatus tell_supervisor(const Json& message);

}  // namespace triage::inline v0_1::cli
