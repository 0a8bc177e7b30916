// SPDX-License-Identifier: MIT
#include "supervisor_client.hpp"

#include "triage/detail/try.hpp"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace triage::inline v0_1::cli {
namespace {

Error lost(const char* what) {
  return {Errc::io, std::string("the supervisor cannot be ") + what + ": " + std::strerror(errno)};
}

Errc code_of(const Json& answer) {
  const Json name = answer.value("code", Json());
  for (int code = 1; code <= static_cast<int>(Errc::exhausted); ++code) {
    if (name == to_string(static_cast<Errc>(code))) return static_cast<Errc>(code);
  }
  return Errc::io;
}

}  // namespace

Result<SupervisorClient> SupervisorClient::connect() {
  const char* path = std::getenv("TRIAGE_SOCKET");
  if (path == nullptr || *path == '\0') {
    return Error{Errc::not_found,
                 "TRIAGE_SOCKET is not set: this command works inside `triage run` only"};
  }
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (std::strlen(path) >= sizeof address.sun_path) {
    return Error{Errc::invalid_argument, "TRIAGE_SOCKET is too long a path"};
  }
  std::strcpy(address.sun_path, path);
  const int file = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  SupervisorClient client(file);
  if (file < 0 ||
      ::connect(file, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return lost("reached");
  }
  return outcome::success(std::move(client));
}

SupervisorClient::SupervisorClient(SupervisorClient&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)), waiting_(std::move(other.waiting_)) {}

SupervisorClient::~SupervisorClient() {
  if (socket_ >= 0) ::close(socket_);
}

Result<void> SupervisorClient::tell(const Json& message) {
  const std::string line = show(message) + "\n";
  for (std::size_t sent = 0; sent < line.size();) {
    const ssize_t put = ::send(socket_, line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return lost("told anything");
    sent += static_cast<std::size_t>(put);
  }
  return outcome::success();
}

Result<Json> SupervisorClient::hear() {
  std::size_t end = waiting_.find('\n');
  while (end == std::string::npos) {
    std::array<char, 65'536> block;  // Not cleared: most answers are short.
    const ssize_t got = ::read(socket_, block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got == 0) return Error{Errc::io, "the supervisor has ended"};
    if (got < 0) return lost("heard");
    const std::size_t before = waiting_.size();
    waiting_.append(block.data(), static_cast<std::size_t>(got));
    end = waiting_.find('\n', before);
  }
  const Json answer = Json::parse(waiting_.substr(0, end), nullptr, false);
  waiting_.erase(0, end + 1);
  if (!answer.is_object()) return Error{Errc::io, "the supervisor's answer is not a JSON object"};
  if (answer.value("ok", Json()) == true) return answer;
  const Json text = answer.value("error", Json());
  return Error{code_of(answer), text.is_string() ? text.get<std::string>() : show(answer)};
}

Result<Json> SupervisorClient::ask(Json message) {
  message["id"] = 1;
  TRIAGE_TRYV(tell(message));
  return hear();
}

Result<Json> SupervisorClient::ask(Json message, const sigset_t& meanwhile) {
  message["id"] = 1;
  TRIAGE_TRYV(tell(message));
  pollfd ready{socket_, POLLIN, 0};
  while (::ppoll(&ready, 1, nullptr, &meanwhile) < 0 && errno == EINTR) continue;
  return hear();
}

Result<Json> ask_supervisor(const Json& message) {
  TRIAGE_TRY(client, SupervisorClient::connect());
  return client.ask(message);
}

ExitStatus tell_supervisor(const Json& message) {
  const auto answer = ask_supervisor(message);
  return answer ? ExitStatus::done : report(answer.error());
}

}  // namespace triage::inline v0_1::cli
