// SPDX-License-Identifier: MIT
#pragma once
// The other side of the protocol: how a command inside a supervised program speaks to its
// supervisor.

#include "triage/json.hpp"
#include "triage/result.hpp"

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

  // Sends the message and returns the answer, if it says ok. Errors: what it says instead;
  // Errc::io.
  [[nodiscard]] Result<Json> ask(Json message);
  // Sends what is not answered.
  [[nodiscard]] Result<void> tell(const Json& message);
  // The next answer.
  [[nodiscard]] Result<Json> hear();

 private:
  explicit SupervisorClient(int socket) : socket_(socket) {}

  int socket_;
  std::string waiting_{};
};

}  // namespace triage::inline v0_1::cli
