// SPDX-License-Identifier: MIT
#include "supervise/leftovers.hpp"

#include "supervise/file_descriptor.hpp"
#include "triage/detail/try.hpp"

#include <algorithm>
#include <charconv>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <vector>

#include <poll.h>
#include <sys/syscall.h>

namespace triage::inline v0_1::supervise {
namespace {

constexpr std::string_view label_start = "process ";
constexpr int most_rounds = 100;  // Of looking for processes that others started meanwhile.
constexpr int wait_ms = 10'000;   // For the end of one that was killed.

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct Stat {
  pid_t pid = 0;
  pid_t parent = 0;
  pid_t group = 0;
  pid_t session = 0;
  std::uint64_t start = 0;
  char state = 'Z';
};

// Source: proc(5). The name, which may hold anything, ends at the last parenthesis.
std::optional<Stat> stat_of(pid_t pid) {
  const std::string text = read_file("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t end = text.rfind(')');
  if (end == std::string::npos) return std::nullopt;
  std::istringstream fields(text.substr(end + 1));
  Stat found;
  found.pid = pid;
  fields >> found.state >> found.parent >> found.group >> found.session;
  std::string skipped;
  for (int field = 7; field < 22; ++field) fields >> skipped;
  fields >> found.start;
  return fields ? std::optional(found) : std::nullopt;
}

std::string boot_id() {
  std::string id = read_file("/proc/sys/kernel/random/boot_id");
  while (!id.empty() && id.back() == '\n') id.pop_back();
  return id;
}

std::vector<pid_t> all_processes() {
  std::vector<pid_t> all;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename();
    pid_t pid = 0;
    const auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (problem == std::errc() && end == name.data() + name.size()) all.push_back(pid);
  }
  return all;
}

bool belongs_to(pid_t pid, const std::string& run) {
  const std::string environment = read_file("/proc/" + std::to_string(pid) + "/environ");
  const std::string variable = std::string(lineage_variable) + "=";
  for (std::size_t at = environment.find(variable); at != std::string::npos;
       at = environment.find(variable, at + 1)) {
    if (at != 0 && environment[at - 1] != '\0') continue;
    return environment.substr(at, environment.find('\0', at) - at).find("/" + run + "/") !=
           std::string::npos;
  }
  return false;
}

// Of the marked group: its leader, or one that the leader started before it went. While the group
// has members no other process gets its number.
bool in_group(const Stat& process, const ProcessMark& mark) {
  return process.group == mark.pid && process.session == mark.session &&
         process.start >= mark.start;
}

// This process and those that it was started by.
std::vector<pid_t> own_line() {
  std::vector<pid_t> line;
  for (pid_t pid = ::getpid(); pid > 1;) {
    line.push_back(pid);
    const auto found = stat_of(pid);
    pid = found ? found->parent : 0;
  }
  return line;
}

std::vector<pid_t> leftovers(const RunId& run, const std::optional<ProcessMark>& mark) {
  const std::vector<pid_t> spared = own_line();
  std::vector<pid_t> found;
  for (const pid_t pid : all_processes()) {
    if (std::find(spared.begin(), spared.end(), pid) != spared.end()) continue;
    const auto process = stat_of(pid);
    if (!process || process->state == 'Z' || process->state == 'X') continue;
    if ((mark && in_group(*process, *mark)) || belongs_to(pid, run)) found.push_back(pid);
  }
  return found;
}

int open_process(pid_t pid) { return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)); }

// Kills the very process that was looked at: a file that stands for it cannot mean another one.
Result<void> kill_and_wait(pid_t pid, const RunId& run, const std::optional<ProcessMark>& mark) {
  const FileDescriptor process(open_process(pid));
  if (!process) return outcome::success();  // It is gone.
  const auto now = stat_of(pid);
  if (!now || !((mark && in_group(*now, *mark)) || belongs_to(pid, run))) {
    return outcome::success();
  }
  if (::syscall(SYS_pidfd_send_signal, process.get(), SIGKILL, nullptr, 0) != 0 && errno != ESRCH) {
    return system_error("process " + std::to_string(pid) +
                        ", left of a former attempt, cannot be killed");
  }
  pollfd ended{process.get(), POLLIN, 0};
  int ready = 0;
  do {
    ready = ::poll(&ended, 1, wait_ms);
  } while (ready < 0 && errno == EINTR);
  if (ready == 1) return outcome::success();
  return Error{Errc::io, "process " + std::to_string(pid) +
                             ", left of a former attempt, was killed and does not end"};
}

}  // namespace

Result<ProcessMark> mark_of(pid_t pid) {
  const auto found = stat_of(pid);
  if (!found) return Error{Errc::not_found, "there is no process " + std::to_string(pid)};
  return ProcessMark{pid, found->session, found->start, boot_id()};
}

std::string to_label(const ProcessMark& mark) {
  return std::string(label_start) + std::to_string(mark.pid) + " session " +
         std::to_string(mark.session) + " start " + std::to_string(mark.start) + " boot " +
         mark.boot;
}

std::optional<ProcessMark> parse_mark(std::string_view label) {
  if (!label.starts_with(label_start)) return std::nullopt;
  std::istringstream words{std::string(label.substr(label_start.size()))};
  ProcessMark mark;
  std::string session;
  std::string start;
  std::string boot;
  words >> mark.pid >> session >> mark.session >> start >> mark.start >> boot >> mark.boot;
  const bool whole = words && session == "session" && start == "start" && boot == "boot";
  return whole && mark.pid > 1 ? std::optional(mark) : std::nullopt;
}

Result<std::optional<ProcessMark>> newest_mark(CheckpointStore& store, const RunId& run) {
  TRIAGE_TRY(reading, store.read(run, {}));
  for (auto record = reading.records.rbegin(); record != reading.records.rend(); ++record) {
    if (record->kind() != RecordKind::checkpoint_labelled) continue;
    const auto body = record->body();
    if (!body || !body.value().is_object()) continue;
    const auto label = body.value().find("label");
    if (label == body.value().end() || !label->is_string()) continue;
    if (auto mark = parse_mark(label->get_ref<const std::string&>())) {
      return outcome::success(std::optional(std::move(*mark)));
    }
  }
  return outcome::success(std::optional<ProcessMark>());
}

Result<std::size_t> end_leftovers(const RunId& run, const std::optional<ProcessMark>& mark) {
  // What ran before the machine was started anew is gone.
  const auto known = mark && mark->boot == boot_id() ? mark : std::nullopt;
  std::size_t killed = 0;
  for (int round = 0; round < most_rounds; ++round) {
    const std::vector<pid_t> left = leftovers(run, known);
    if (left.empty()) return outcome::success(killed);
    for (const pid_t pid : left) {
      TRIAGE_TRYV(kill_and_wait(pid, run, known));
      ++killed;
    }
  }
  return Error{Errc::io, "run \"" + run +
                             "\": processes of a former attempt start new ones faster than they "
                             "can be killed"};
}

std::size_t signal_children(int signal) {
  std::size_t children = 0;
  std::error_code ignored;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", ignored)) {
    std::istringstream pids(read_file(task.path() / "children"));
    for (pid_t pid = 0; pids >> pid; ++children) ::kill(pid, signal);
  }
  return children;
}

}  // namespace triage::inline v0_1::supervise
