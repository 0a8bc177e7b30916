// SPDX-License-Identifier: MIT
#pragma once
// `triage run` in its own folder, with scripts as programs and pipes that report their progress.

#include "support/program.hpp"
#include "support/result.hpp"
#include "triage/stores/sqlite.hpp"

#include <csignal>
#include <exception>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <sys/prctl.h>
#include <sys/stat.h>

namespace triage::test {

// Warns if it is not there: a test that needs it then tests nothing.
inline bool has_python() {
  if (run_program({"/bin/sh", "-c", "command -v python3"}).status == 0) return true;
  WARN("python3 is not installed");
  return false;
}

// Whether the process runs; false for a zombie.
inline bool lives(const std::string& pid) {
  const std::string stat = read_text("/proc/" + pid + "/stat");
  const std::size_t end = stat.rfind(") ");
  return end != std::string::npos && stat[end + 2] != 'Z' && stat[end + 2] != 'X';
}

// Whether SIGKILL is pending: the process ends as soon as it is scheduled again.
inline bool is_being_killed(const std::string& pid) {
  std::istringstream status(read_text("/proc/" + pid + "/status"));
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("SigPnd:", 0) != 0 && line.rfind("ShdPnd:", 0) != 0) continue;
    if ((std::stoull(line.substr(7), nullptr, 16) >> (SIGKILL - 1U) & 1U) != 0) return true;
  }
  return false;
}

// Kills the orphans that this process has inherited and returns how many were still running. Its
// own children must have ended.
inline std::size_t end_orphans() {
  std::size_t alive = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream pids(task.path() / "children");
    for (pid_t pid = 0; pids >> pid;) {
      const std::string name = std::to_string(pid);
      if (!is_being_killed(name) && lives(name)) ++alive;
      ::kill(pid, SIGKILL);
      ::waitpid(pid, nullptr, 0);
    }
  }
  return alive;
}

// A folder with a store, scripts, and a named pipe "told" that scripts write to when they reach the
// point a test waits for. A test that leaves a process behind fails.
class Workshop {
 public:
  Workshop() {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    REQUIRE(::mkfifo(folder_.file("told").c_str(), 0600) == 0);
  }
  Workshop(const Workshop&) = delete;
  Workshop& operator=(const Workshop&) = delete;
  ~Workshop() noexcept(false) {
    const std::size_t left_behind = end_orphans();
    if (std::uncaught_exceptions() == 0) CHECK(left_behind == 0);
  }

  [[nodiscard]] std::string file(const std::string& name) const { return folder_.file(name); }
  [[nodiscard]] std::string store() const { return file("runs.db"); }

  // An executable shell script in which $W is this folder.
  std::string script(const std::string& name, const std::string& text) const {
    std::ofstream out(file(name));
    out << "#!/bin/sh\nW='" << folder_.path().string() << "'\n" << text << "\n";
    out.close();
    std::filesystem::permissions(file(name), std::filesystem::perms::owner_all);
    return file(name);
  }

  // `triage run --store STORE OPTION… -- COMMAND…`
  [[nodiscard]] std::vector<std::string> run_line(std::vector<std::string> options,
                                                  const std::vector<std::string>& command) const {
    std::vector<std::string> all{TRIAGE_COMMAND, "run", "--store", store()};
    all.insert(all.end(), options.begin(), options.end());
    all.emplace_back("--");
    all.insert(all.end(), command.begin(), command.end());
    return all;
  }
  [[nodiscard]] Printed run(const std::vector<std::string>& options,
                            const std::vector<std::string>& command) const {
    return run_program(run_line(options, command));
  }
  [[nodiscard]] Printed triage(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), TRIAGE_COMMAND);
    arguments.insert(arguments.end(), {"--store", store()});
    return run_program(arguments);
  }

  // Waits for the next line that a script writes to $W/told. A script that is being killed may
  // still hold the pipe open without writing.
  [[nodiscard]] std::string next_word() const {
    std::string word;
    while (word.empty()) {
      std::ifstream in(file("told"));
      in >> word;
    }
    return word;
  }

 private:
  TempFolder folder_{};
};

// A command that runs in the background.
class Beside {
 public:
  // out, error: files; output is discarded by default.
  explicit Beside(const std::vector<std::string>& arguments, const std::string& out = "/dev/null",
                  const std::string& error = "/dev/null") {
    std::vector<char*> argv;
    for (const std::string& one : arguments) argv.push_back(const_cast<char*>(one.c_str()));
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDWR, 0);
    posix_spawn_file_actions_addopen(&actions, 1, out.c_str(), O_WRONLY | O_CREAT, 0600);
    posix_spawn_file_actions_addopen(&actions, 2, error.c_str(), O_WRONLY | O_CREAT, 0600);
    REQUIRE(::posix_spawn(&pid_, argv[0], &actions, nullptr, argv.data(), environ) == 0);
    posix_spawn_file_actions_destroy(&actions);
  }
  ~Beside() {
    if (pid_ > 0) static_cast<void>(end_with(SIGKILL));
  }
  Beside(const Beside&) = delete;
  Beside& operator=(const Beside&) = delete;

  void signal(int number) const { ::kill(pid_, number); }
  // The exit status, or 128 and the number of the signal that ended it.
  int wait() {
    int status = 0;
    REQUIRE(::waitpid(std::exchange(pid_, -1), &status, 0) > 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  int end_with(int number) {
    signal(number);
    return wait();
  }

 private:
  pid_t pid_ = -1;
};

}  // namespace triage::test
