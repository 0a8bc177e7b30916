// SPDX-License-Identifier: MIT
#include "supervise/workspace/git.hpp"

#include "supervise/process/child.hpp"
#include "supervise/process/file_descriptor.hpp"
#include "triage/detail/try.hpp"
#include "triage/policies/duration.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include <poll.h>
#include <sys/wait.h>

extern char** environ;

namespace triage::inline v0_1::supervise {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t longest_complaint = 500;

// Disables everything that could change bytes, wherever it is configured.
constexpr std::array settings{
    "core.autocrlf=false", "core.eol=lf", "core.safecrlf=false", "core.fileMode=true",
    "core.symlinks=true", "core.hooksPath=/dev/null", "core.attributesFile=/dev/null",
    "core.fsmonitor=false", "core.ignoreCase=false", "core.untrackedCache=false",
    "core.logAllRefUpdates=false", "gc.auto=0",
    // What is too young to be removed stays in files of its own.
    "gc.cruftPacks=false", "commit.gpgSign=false", "index.threads=1", "core.looseCompression=1",
    "maintenance.auto=false"};

// The date is constant, so that a commit's name depends only on its files and on what was kept
// before.
std::vector<std::string> environment_of(const GitPlace& place) {
  std::vector<std::string> all;
  for (char** one = environ; *one != nullptr; ++one) {
    const std::string_view text = *one;
    if (!text.starts_with("GIT_")) all.emplace_back(text);
  }
  for (const char* one :
       {"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_CONFIG_GLOBAL=/dev/null",
        "GIT_OPTIONAL_LOCKS=0", "GIT_LITERAL_PATHSPECS=1", "GIT_ATTR_NOSYSTEM=1", "LC_ALL=C",
        "GIT_TERMINAL_PROMPT=0", "GIT_AUTHOR_DATE=2000-01-01T00:00:00Z",
        "GIT_COMMITTER_DATE=2000-01-01T00:00:00Z", "GIT_AUTHOR_NAME=triage",
        "GIT_AUTHOR_EMAIL=triage@localhost", "GIT_COMMITTER_NAME=triage",
        "GIT_COMMITTER_EMAIL=triage@localhost"}) {
    all.emplace_back(one);
  }
  all.push_back("GIT_DIR=" + place.repository);
  if (!place.tree.empty()) all.push_back("GIT_WORK_TREE=" + place.tree);
  all.push_back("GIT_INDEX_FILE=" + place.index);
  return all;
}

// While it lives, writing to a program that has ended is an error, and ends nobody.
class PipesMayBreak {
 public:
  PipesMayBreak() {
    ::sigemptyset(&pipe_);
    ::sigaddset(&pipe_, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~PipesMayBreak() {
    constexpr timespec now{};
    if (::sigismember(&before_, SIGPIPE) == 0) {
      while (::sigtimedwait(&pipe_, nullptr, &now) == SIGPIPE) continue;
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  PipesMayBreak(const PipesMayBreak&) = delete;
  PipesMayBreak& operator=(const PipesMayBreak&) = delete;

 private:
  sigset_t pipe_{};
  sigset_t before_{};
};

std::string end_of(int status) {
  return WIFSIGNALED(status) ? "signal " + std::to_string(WTERMSIG(status)) + " has ended it"
                             : "exit status " + std::to_string(WEXITSTATUS(status));
}

// Which git waits for as if they were files.
constexpr std::array<std::string_view, 2> read_names{".gitignore", ".gitattributes"};

// A pipe of such a name; empty if there is none.
std::string pipe_in_the_way(const std::string& tree) {
  std::error_code problem;
  fs::recursive_directory_iterator entry(tree, fs::directory_options::skip_permission_denied,
                                         problem);
  for (; !problem && entry != fs::recursive_directory_iterator(); entry.increment(problem)) {
    const std::string name = entry->path().filename().string();
    const bool is_read = std::find(read_names.begin(), read_names.end(), name) != read_names.end();
    std::error_code gone;
    if (is_read && entry->symlink_status(gone).type() == fs::file_type::fifo) {
      return entry->path().string();
    }
  }
  return {};
}

// One call of git, and how long it may take.
class Vigil {
 public:
  Vigil(const GitPlace& place, std::string command)
      : place_(place), command_(std::move(command)), began_(place.watch.clock->now()) {}

  // In milliseconds, until over() is to be asked if nothing happens before.
  [[nodiscard]] int patience() const {
    const Duration rest_of_all = began_ + (looked_ ? place_.watch.limit : before_look()) - now();
    const Duration wait = std::min(rest_of_all, place_.watch.every);
    const auto rest = std::chrono::ceil<std::chrono::milliseconds>(wait).count();
    return static_cast<int>(std::clamp<decltype(rest)>(rest, 0, 60'000));
  }
  // Why git must end.
  [[nodiscard]] std::optional<Error> over() {
    const Duration taken = now() - began_;
    if (!looked_ && taken >= before_look()) {
      looked_ = true;
      const std::string pipe = place_.tree.empty() ? std::string() : pipe_in_the_way(place_.tree);
      if (!pipe.empty()) {
        return Error{Errc::io, "git " + command_ + " would wait for ever for " + printable(pipe) +
                                   ", which is a pipe; of that name only a file is allowed"};
      }
    }
    if (taken < place_.watch.limit) return std::nullopt;
    return Error{Errc::io, "git " + command_ + " was ended, since it had not finished after " +
                               format_duration(place_.watch.limit) +
                               ", which is as long as it may take"};
  }

 private:
  // Long enough for most calls, so that these do not look for anything.
  [[nodiscard]] Duration before_look() const {
    return std::min<Duration>(std::chrono::seconds(5), place_.watch.limit);
  }
  [[nodiscard]] TimePoint now() const { return place_.watch.clock->now(); }

  const GitPlace& place_;
  std::string command_;
  TimePoint began_;
  bool looked_ = false;
};

// Writes and reads concurrently, so that neither side blocks the other. Errors: those of the
// watch.
Result<void> exchange(int in, int out, int error, std::string_view input, std::string& printed,
                      std::string& complaint, FileDescriptor& in_file, Vigil& vigil,
                      const GitWatch& watch) {
  const PipesMayBreak pipes_may_break;
  std::array<char, 65536> block{};
  bool out_open = true;
  bool error_open = true;
  while (out_open || error_open) {
    std::array<pollfd, 3> files{{{out_open ? out : -1, POLLIN, 0},
                                 {error_open ? error : -1, POLLIN, 0},
                                 {in_file ? in : -1, POLLOUT, 0}}};
    const int ready = ::poll(files.data(), files.size(), vigil.patience());
    if (ready < 0) {
      if (errno == EINTR) continue;
      return system_error("what git prints");
    }
    if (auto why = vigil.over()) return *std::move(why);
    TRIAGE_TRYV(watch.look());
    const auto take = [&block](int file, std::string& text) {
      const ssize_t got = ::read(file, block.data(), block.size());
      if (got > 0) text.append(block.data(), static_cast<std::size_t>(got));
      return got > 0 || (got < 0 && errno == EINTR);
    };
    if (files[0].revents != 0) out_open = take(out, printed);
    if (files[1].revents != 0) error_open = take(error, complaint);
    if (files[2].revents != 0) {
      const ssize_t put = ::write(in, input.data(), std::min<std::size_t>(input.size(), PIPE_BUF));
      if (put > 0) input.remove_prefix(static_cast<std::size_t>(put));
      if (input.empty() || (put < 0 && errno != EINTR)) in_file.close();
    }
  }
  return outcome::success();
}

}  // namespace

Result<std::string> run_git(const GitPlace& place, const std::vector<std::string>& arguments,
                            std::string_view input) {
  const auto program = find_program("git", "/");
  if (!program) {
    return Error{Errc::unsupported, "a workspace needs git, which is not installed"};
  }
  TRIAGE_TRYV(place.watch.look());
  ChildPlan plan;
  plan.program = program.value();
  plan.arguments = {"git"};
  for (const char* one : settings) {
    plan.arguments.emplace_back("-c");
    plan.arguments.emplace_back(one);
  }
  plan.arguments.insert(plan.arguments.end(), arguments.begin(), arguments.end());
  plan.environment = environment_of(place);
  plan.folder = place.tree.empty() ? "/" : place.tree;
  plan.private_files = place.private_files;
  ::sigemptyset(&plan.signals);
  TRIAGE_TRY(in, make_pipe());
  TRIAGE_TRY(out, make_pipe());
  TRIAGE_TRY(error, make_pipe());
  plan.in = in.read.get();
  plan.out = out.write.get();
  plan.error = error.write.get();
  TRIAGE_TRY(child, Child::fork_gated(plan));
  in.read.close();
  out.write.close();
  error.write.close();
  TRIAGE_TRYV(child.let_go());
  if (input.empty()) in.write.close();
  std::string printed;
  std::string complaint;
  Vigil vigil(place, arguments.front());
  const auto exchanged = exchange(in.write.get(), out.read.get(), error.read.get(), input, printed,
                                  complaint, in.write, vigil, place.watch);
  if (!exchanged) ::kill(-child.pid(), SIGKILL);
  int status = 0;
  pid_t ended = 0;
  while ((ended = ::waitpid(child.pid(), &status, 0)) < 0 && errno == EINTR) continue;
  if (ended < 0) return system_error("the end of git " + arguments.front());
  if (!exchanged) {  // The lock of a git that was ended is nobody's.
    std::error_code problem;
    fs::remove(place.index + ".lock", problem);
    return exchanged.error();
  }
  if (status == 0) return outcome::success(std::move(printed));
  if (complaint.empty()) complaint = end_of(status);
  return Error{Errc::io, "git " + arguments.front() +
                             " failed: " + printable(complaint.substr(0, longest_complaint))};
}

std::string name_printed(std::string printed) {
  while (!printed.empty() && printed.back() == '\n') printed.pop_back();
  return printed;
}

bool is_object_name(const std::string& text) {
  return text.size() >= 40 && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

}  // namespace triage::inline v0_1::supervise
