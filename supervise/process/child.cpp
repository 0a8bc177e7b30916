// SPDX-License-Identifier: MIT
#include "supervise/process/child.hpp"

#include "triage/detail/try.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

namespace triage::inline v0_1::supervise {
namespace {

// Pointers to the texts, terminated by a null pointer.
std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (const std::string& text : texts) all.push_back(const_cast<char*>(text.c_str()));
  all.push_back(nullptr);
  return all;
}

void limit(__rlimit_resource_t resource, std::uint64_t most, std::uint64_t beyond = 0) {
  rlimit both{};
  if (most == 0 || ::getrlimit(resource, &both) != 0) return;
  both.rlim_max = std::min<rlim_t>(both.rlim_max, most + beyond);
  both.rlim_cur = std::min<rlim_t>(both.rlim_max, most);
  ::setrlimit(resource, &both);
}

void take(int given, int number) {
  if (given >= 0 && given != number) ::dup2(given, number);
}

// The child between fork and exec: only system calls, because another thread of the parent may have
// held any lock.
struct Launch {
  const ChildPlan& plan;
  char* const* arguments;
  char* const* environment;
  char* const* for_shell;  // For a script without an interpreter line.
  int gate;
  int trouble;
  pid_t parent;

  [[noreturn]] void fail() const {
    const int reason = errno;
    static_cast<void>(!::write(trouble, &reason, sizeof reason));
    ::_exit(127);
  }

  // Moves the inherited file to its low number, where the error file may have to make room.
  void hand_down() {
    constexpr int beyond = 10;
    if (trouble == plan.inherited_as) trouble = ::fcntl(trouble, F_DUPFD_CLOEXEC, beyond);
    if (plan.inherited == plan.inherited_as) {
      ::fcntl(plan.inherited, F_SETFD, 0);
    } else {
      ::dup2(plan.inherited, plan.inherited_as);
    }
  }

  [[noreturn]] void run() {
    if (plan.terminal) {
      ::setsid();
      ::ioctl(plan.in, TIOCSCTTY, 0);
    } else if (plan.own_group) {
      ::setpgid(0, 0);
    }
    ::prctl(PR_SET_PDEATHSIG, plan.at_our_death);
    char go = 0;
    if (::getppid() != parent || ::read(gate, &go, 1) != 1) ::_exit(127);
    take(plan.in, STDIN_FILENO);
    take(plan.out, STDOUT_FILENO);
    take(plan.error, STDERR_FILENO);
    if (plan.inherited >= 0) hand_down();
    limit(RLIMIT_AS, plan.limits.memory_bytes);
    limit(RLIMIT_CPU, plan.limits.cpu_seconds, 1);  // First SIGXCPU, which says why; then SIGKILL.
    limit(RLIMIT_NOFILE, plan.limits.open_files);
    ::signal(SIGPIPE, SIG_DFL);
    ::sigprocmask(SIG_SETMASK, &plan.signals, nullptr);
    if (plan.private_files) ::umask(S_IRWXG | S_IRWXO);
    if (::chdir(plan.folder.c_str()) != 0) fail();
    ::execve(plan.program.c_str(), arguments, environment);
    if (errno == ENOEXEC) ::execve("/bin/sh", for_shell, environment);
    fail();
  }
};

// 0, or why not, as an errno.
int why_not_executable(const std::filesystem::path& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) return errno;
  if (S_ISDIR(found.st_mode)) return EISDIR;
  if (!S_ISREG(found.st_mode)) return EACCES;
  return ::access(path.c_str(), X_OK) == 0 ? 0 : errno;
}

Error not_executable(const std::string& name, int why) {
  return {Errc::io, "\"" + printable(name) + "\" cannot be executed: " + std::strerror(why)};
}

// Of a script that begins with "#!PROGRAM".
std::string interpreter_of(const std::string& script) {
  std::string line;
  std::getline(std::ifstream(script), line);
  if (!line.starts_with("#!")) return {};
  const std::size_t begin = line.find_first_not_of(" \t", 2);
  if (begin == std::string::npos) return {};
  return line.substr(begin, line.find_first_of(" \t", begin) - begin);
}

// Whether another attempt may come further.
bool may_pass(int why) { return why == ETXTBSY || why == ENOMEM || why == EAGAIN || why == EIO; }

}  // namespace

int low_number(int otherwise) noexcept {
  for (int number = 3; number <= 9; ++number) {
    const int flags = ::fcntl(number, F_GETFD);
    if (flags < 0 || (static_cast<unsigned>(flags) & static_cast<unsigned>(FD_CLOEXEC)) != 0) {
      return number;
    }
  }
  return otherwise;
}

Result<std::string> current_folder() {
  std::error_code failed;
  const std::filesystem::path folder = std::filesystem::current_path(failed);
  if (failed) return Error{Errc::io, "the current folder is gone: " + failed.message()};
  return outcome::success(folder.string());
}

Result<std::string> find_program(const std::string& name, const std::string& folder) {
  std::error_code ignored;
  if (name.find('/') != std::string::npos) {
    const std::filesystem::path path = std::filesystem::path(folder) / name;
    const int why = why_not_executable(path);
    if (why == 0) return path.string();
    if (!std::filesystem::exists(path, ignored)) {
      return Error{Errc::not_found, "\"" + printable(name) + "\" does not exist"};
    }
    return not_executable(name, why);
  }
  const char* path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "/usr/local/bin:/usr/bin:/bin" : path;
  int there = 0;  // Why the first one of that name is not it.
  while (!name.empty()) {
    const std::size_t end = rest.find(':');
    const std::filesystem::path file =
        std::filesystem::path(folder) / std::string(rest.substr(0, end)) / name;
    const int why = why_not_executable(file);
    if (why == 0) return file.string();
    if (there == 0 && std::filesystem::exists(file, ignored)) there = why;
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  if (there != 0) return not_executable(name, there);
  return Error{Errc::not_found, "the command \"" + printable(name) + "\" was not found"};
}

Result<Child> Child::fork_gated(const ChildPlan& plan) {
  TRIAGE_TRY(gate, make_pipe());
  TRIAGE_TRY(trouble, make_pipe());
  std::vector<std::string> shell_texts{"sh", plan.program};
  if (plan.arguments.size() > 1) {
    shell_texts.insert(shell_texts.end(), plan.arguments.begin() + 1, plan.arguments.end());
  }
  const auto arguments = pointers(plan.arguments);
  const auto environment = pointers(plan.environment);
  const auto for_shell = pointers(shell_texts);
  Launch launch{plan,
                arguments.data(),
                environment.data(),
                for_shell.data(),
                gate.read.get(),
                trouble.write.get(),
                ::getpid()};
  const pid_t pid = ::fork();
  if (pid < 0) return system_error("no process can be started");
  if (pid == 0) {
    gate.write.close();  // Otherwise the child would not notice the parent's end.
    launch.run();
  }
  if (!plan.terminal && plan.own_group) ::setpgid(pid, pid);  // Parent and child both try.
  Child child;
  child.pid_ = pid;
  child.program_ = plan.program;
  child.gate_ = std::move(gate.write);
  child.trouble_ = std::move(trouble.read);
  return outcome::success(std::move(child));
}

Result<void> Child::let_go() {
  const char go = 1;
  if (::write(gate_.get(), &go, 1) != 1) return system_error("the child cannot be let go");
  gate_.close();
  int reason = 0;
  ssize_t got = 0;
  do {
    got = ::read(trouble_.get(), &reason, sizeof reason);
  } while (got < 0 && errno == EINTR);
  trouble_.close();
  if (got != static_cast<ssize_t>(sizeof reason)) return outcome::success();
  if (may_pass(reason)) return not_executable(program_, reason);
  Error never = not_executable(program_, reason);
  never.code = Errc::invalid_argument;
  const std::string interpreter = interpreter_of(program_);
  if (reason == ENOENT && !interpreter.empty()) {
    never.detail = "\"" + printable(program_) + "\" cannot be executed: its interpreter " +
                   printable(interpreter) + " does not exist";
  }
  return never;
}

}  // namespace triage::inline v0_1::supervise
