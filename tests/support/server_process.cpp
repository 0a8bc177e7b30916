// SPDX-License-Identifier: MIT
#include "support/server_process.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

namespace triage::test {

int free_port() {
  const int probe = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  const bool bound = ::bind(probe, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                     ::getsockname(probe, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  ::close(probe);
  return bound ? ntohs(address.sin_port) : 0;
}

void ServerProcess::start(const std::vector<std::string>& words, const std::string& ready,
                          uid_t user) {
  kill();
  std::array<int, 2> out{};
  if (::pipe(out.data()) != 0) return;
  std::vector<std::string> copy = words;
  std::vector<char*> arguments;
  for (std::string& word : copy) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  process_ = ::fork();
  if (process_ == 0) {
    if (user != 0 && (::setgid(user) != 0 || ::setuid(user) != 0)) ::_exit(126);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::dup2(out[1], STDOUT_FILENO);
    ::dup2(out[1], STDERR_FILENO);
    ::close(out[0]);
    ::close(out[1]);
    ::execvp(arguments[0], arguments.data());
    ::_exit(127);
  }
  ::close(out[1]);
  pipe_ = out[0];
  std::string said;
  std::array<char, 512> buffer{};
  while (said.find(ready) == said.npos) {
    const ssize_t size = ::read(pipe_, buffer.data(), buffer.size());
    if (size <= 0) return;
    said.append(buffer.data(), static_cast<std::size_t>(size));
  }
  ready_ = true;
}

void ServerProcess::send(int signal) const {
  if (process_ > 0) ::kill(process_, signal);
}

void ServerProcess::kill(int signal) {
  send(signal);
  wait();
}

void ServerProcess::wait() {
  if (process_ > 0) {
    int status = 0;
    ::waitpid(process_, &status, 0);
    ::close(pipe_);
  }
  process_ = -1;
  ready_ = false;
}

}  // namespace triage::test
