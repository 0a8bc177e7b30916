// SPDX-License-Identifier: MIT
#include "child.hpp"

#include <csignal>
#include <stdexcept>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace demo {
namespace {

int meaning(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

}  // namespace

Child::Child(const std::vector<std::string>& arguments, const std::string& output_file) {
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output_file.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0644);
  const int problem = posix_spawn(&pid_, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (problem != 0) throw std::runtime_error("cannot start " + arguments.front());
}

Child::~Child() {
  if (status_) return;
  kill();
  wait();
}

std::optional<int> Child::poll() {
  int status = 0;
  if (!status_ && ::waitpid(pid_, &status, WNOHANG) == pid_) status_ = meaning(status);
  return status_;
}

int Child::wait() {
  int status = 0;
  if (!status_) status_ = ::waitpid(pid_, &status, 0) == pid_ ? meaning(status) : 127;
  return *status_;
}

void Child::kill() {
  if (!poll()) ::kill(pid_, SIGKILL);
}

}  // namespace demo
