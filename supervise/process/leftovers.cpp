// SPDX-License-Identifier: MIT
#include "supervise/process/leftovers.hpp"

#include "supervise/process/file_descriptor.hpp"
#include "supervise/process/stored_records.hpp"
#include "triage/detail/proc_file.hpp"
#include "triage/detail/try.hpp"

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <vector>

#include <poll.h>
#include <sys/syscall.h>

namespace triage::inline v0_1::supervise {
namespace {

constexpr std::string_view label_start = "triage/process ";
constexpr int most_rounds = 100;   // Of searching, because processes may start others meanwhile.
constexpr int wait_ms = 10'000;    // For a killed process to end.
constexpr int most_looks = 1'000;  // At a process that is executing a program: 1 ms each.

struct Stat {
  pid_t pid = 0;
  pid_t parent = 0;
  pid_t group = 0;
  pid_t session = 0;
  std::uint64_t start = 0;
  std::uint64_t memory = 0;  // 0: a kernel thread.
  std::uint64_t environment_start = 0;
  std::uint64_t environment_end = 0;
  char state = 'Z';
};

// Source: proc(5). The name may contain anything and ends at the last parenthesis.
std::optional<Stat> stat_of(pid_t pid) {
  const std::string text = detail::read_proc_file("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t end = text.rfind(')');
  if (end == std::string::npos) return std::nullopt;
  std::istringstream fields(text.substr(end + 1));
  Stat found;
  found.pid = pid;
  fields >> found.state >> found.parent >> found.group >> found.session;
  std::string skipped;
  for (int field = 7; field < 22; ++field) fields >> skipped;
  fields >> found.start >> found.memory;
  for (int field = 24; field < 50; ++field) fields >> skipped;
  fields >> found.environment_start >> found.environment_end;
  return fields ? std::optional(found) : std::nullopt;
}

std::string boot_id() {
  std::string id = detail::read_proc_file("/proc/sys/kernel/random/boot_id");
  while (!id.empty() && id.back() == '\n') id.pop_back();
  const auto first = stat_of(1);
  return id + "/" + std::to_string(first ? first->start : 0);
}

// Older marks name the boot only.
bool same_boot(const std::string& one, const std::string& other) {
  return one.substr(0, one.find('/')) == other.substr(0, other.find('/'));
}
bool same_numbers(const std::string& one, const std::string& other) {
  const bool both = one.find('/') != std::string::npos && other.find('/') != std::string::npos;
  return both ? one == other : same_boot(one, other);
}

// The files of a folder of /proc, as far as they can be listed: its process may end meanwhile.
std::vector<std::filesystem::path> files_of(const std::string& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code failed;
  std::filesystem::directory_iterator entry(folder, failed);
  for (; !failed && entry != std::filesystem::directory_iterator(); entry.increment(failed)) {
    files.push_back(entry->path());
  }
  return files;
}

std::vector<pid_t> children_of(const std::string& process) {
  std::vector<pid_t> found;
  for (const auto& task : files_of("/proc/" + process + "/task")) {
    std::istringstream pids(detail::read_proc_file(task / "children"));
    for (pid_t pid = 0; pids >> pid;) found.push_back(pid);
  }
  return found;
}

std::vector<pid_t> all_processes() {
  std::vector<pid_t> all;
  for (const auto& file : files_of("/proc")) {
    const std::string name = file.filename();
    pid_t pid = 0;
    const auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (problem == std::errc() && end == name.data() + name.size()) all.push_back(pid);
  }
  return all;
}

bool has_token(const std::string& environment, const std::string& token) {
  const std::string variable = std::string(lineage_variable) + "=";
  for (std::size_t at = environment.find(variable); at != std::string::npos;
       at = environment.find(variable, at + 1)) {
    if (at != 0 && environment[at - 1] != '\0') continue;
    return environment.substr(at, environment.find('\0', at) - at).find("/" + token + "/") !=
           std::string::npos;
  }
  return false;
}

enum class Left : std::uint8_t { no, yes, unclear };

// By its environment, which is briefly empty while a process executes a program. Source: the
// kernel's fs/proc/base.c (environ_read), fs/binfmt_elf.c.
Left by_environment(pid_t pid, const std::string& token) {
  const FileDescriptor file(
      ::open(("/proc/" + std::to_string(pid) + "/environ").c_str(), O_RDONLY | O_CLOEXEC));
  if (token.empty() || !file) return Left::no;  // It is gone, or another user's.
  const std::string environment =
      detail::read_proc_file("/proc/" + std::to_string(pid) + "/environ");
  if (!environment.empty()) return has_token(environment, token) ? Left::yes : Left::no;
  const auto now = stat_of(pid);
  if (!now || now->state == 'Z' || now->state == 'X' || now->memory == 0) return Left::no;
  const bool none = now->environment_end != 0 && now->environment_end == now->environment_start;
  return none ? Left::no : Left::unclear;
}

// Whether it is in the marked group: the leader, or started by it. While the group has members, its
// number is not reused.
bool in_group(const Stat& process, const ProcessMark& mark) {
  return mark.pid > 0 && process.group == mark.pid && process.session == mark.session &&
         process.start >= mark.start;
}

Left is_left(const Stat& process, const ProcessMark& mark) {
  return in_group(process, mark) ? Left::yes : by_environment(process.pid, mark.token);
}

// This process and its ancestors.
std::vector<pid_t> own_line() {
  std::vector<pid_t> line;
  for (pid_t pid = ::getpid(); pid > 1;) {
    line.push_back(pid);
    const auto found = stat_of(pid);
    pid = found ? found->parent : 0;
  }
  return line;
}

// Those of these processes that are left. Waits for those that are executing a program, each by
// itself: others' may do that all the time.
std::vector<pid_t> left_of(std::vector<pid_t> unclear, const ProcessMark& mark) {
  std::vector<pid_t> left;
  for (int look = 0; !unclear.empty() && look < most_looks; ++look) {
    if (look > 0) ::poll(nullptr, 0, 1);
    std::erase_if(unclear, [&](pid_t pid) {
      const auto process = stat_of(pid);
      if (!process || process->state == 'Z' || process->state == 'X') return true;
      const Left found = is_left(*process, mark);
      if (found == Left::yes) left.push_back(pid);
      return found != Left::unclear;
    });
  }
  return left;
}

std::vector<pid_t> look_around(const ProcessMark& mark) {
  const std::vector<pid_t> spared = own_line();
  std::vector<pid_t> others = all_processes();
  std::erase_if(others, [&](pid_t pid) {
    return std::find(spared.begin(), spared.end(), pid) != spared.end();
  });
  return left_of(std::move(others), mark);
}

int open_process(pid_t pid) { return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)); }

// Kills exactly the process that was inspected: its descriptor cannot refer to another one.
Result<void> kill_and_wait(pid_t pid, const ProcessMark& mark) {
  const FileDescriptor process(open_process(pid));
  if (!process) return outcome::success();  // It is gone.
  if (left_of({pid}, mark).empty()) return outcome::success();
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

std::string lineage_with(const std::string& token) {
  const char* outer = std::getenv(lineage_variable);
  const std::string before = outer == nullptr || *outer != '/' ? "/" : outer;
  return before + token + "/";
}

Result<ProcessMark> mark_of(pid_t pid) {
  const auto found = stat_of(pid);
  if (!found) return Error{Errc::not_found, "there is no process " + std::to_string(pid)};
  return ProcessMark{pid, found->session, found->start, boot_id(), {}};
}

std::string to_label(const ProcessMark& mark) {
  return std::string(label_start) + std::to_string(mark.pid) + " session " +
         std::to_string(mark.session) + " start " + std::to_string(mark.start) + " boot " +
         mark.boot + " token " + mark.token;
}

std::optional<ProcessMark> parse_mark(std::string_view label) {
  if (!label.starts_with(label_start)) return std::nullopt;
  std::istringstream words{std::string(label.substr(label_start.size()))};
  ProcessMark mark;
  std::string session;
  std::string start;
  std::string boot;
  std::string token;
  words >> mark.pid >> session >> mark.session >> start >> mark.start >> boot >> mark.boot;
  const bool whole = words && session == "session" && start == "start" && boot == "boot";
  words >> token >> mark.token;
  return whole && mark.pid > 1 ? std::optional(mark) : std::nullopt;
}

Result<std::optional<ProcessMark>> newest_mark(CheckpointStore& store, const RunId& run) {
  TRIAGE_TRY(records, stored_records(store, run));
  for (auto record = records.rbegin(); record != records.rend(); ++record) {
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

Result<std::size_t> end_leftovers(const ProcessMark& journaled) {
  ProcessMark mark = journaled;
  if (!same_numbers(mark.boot, boot_id())) mark.pid = 0;  // In this container it is another's.
  std::size_t killed = 0;
  // The machine was rebooted, so its processes are gone.
  if (!same_boot(mark.boot, boot_id())) return outcome::success(killed);
  bool nothing_before = false;
  for (int round = 0; round < most_rounds; ++round) {
    const std::vector<pid_t> left = look_around(mark);
    for (const pid_t pid : left) {
      TRIAGE_TRYV(kill_and_wait(pid, mark));
      ++killed;
    }
    // Twice: a process may start another and exit during the scan.
    if (left.empty() && nothing_before) return outcome::success(killed);
    nothing_before = left.empty();
  }
  return Error{Errc::io,
               "processes of a former attempt start new ones faster than they can be killed"};
}

std::uint64_t start_of(pid_t pid) {
  const auto found = stat_of(pid);
  return found ? found->start : 0;
}

Family family_without(const std::set<pid_t>& spared, std::uint64_t start) {
  Family family;
  for (const pid_t pid : children_of("self")) {
    if (!spared.contains(pid) && start_of(pid) >= start) family.children.push_back(pid);
  }
  std::vector<pid_t> parents = family.children;
  while (!parents.empty()) {
    const pid_t parent = parents.back();
    parents.pop_back();
    for (const pid_t pid : children_of(std::to_string(parent))) {
      family.others.push_back(pid);
      parents.push_back(pid);
    }
  }
  return family;
}

}  // namespace triage::inline v0_1::supervise
