// SPDX-License-Identifier: MIT
#include "sqlite_owner.hpp"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <iterator>
#include <optional>
#include <vector>

namespace triage::inline v0_1::detail {
namespace {

struct Process {
  bool dead = false;  // A zombie: killed, but not yet waited for.
  std::uint64_t start = 0;
};

template <class T>
std::optional<T> number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

std::vector<std::string_view> words(std::string_view text) {
  std::vector<std::string_view> found;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(" \n"), text.size());
    if (end > 0) found.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return found;
}

// Source: proc(5), /proc/PID/stat: field 3 is the state, 20 the number of threads, 22 the start
// time. The name in field 2 may contain anything, so fields are counted from its last bracket.
std::optional<Process> read_process(std::int64_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  const auto fields = words(std::string_view(text).substr(name_end + 1));
  if (fields.size() < 20) return std::nullopt;
  const auto threads = number<std::int64_t>(fields[17]);
  const auto start = number<std::uint64_t>(fields[19]);
  if (!threads || !start) return std::nullopt;
  const bool zombie = fields[0] == "Z" || fields[0] == "X";
  return Process{.dead = zombie && *threads <= 1, .start = *start};
}

std::string describe_host() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string boot;
  file >> boot;
  if (boot.empty()) boot = "unknown";
  struct stat space {};
  const bool known = ::stat("/proc/self/ns/pid", &space) == 0;
  return boot + "/" + (known ? std::to_string(space.st_ino) : "unknown");
}

}  // namespace

std::string describe_this_owner(std::uint64_t store) {
  const auto self = read_process(::getpid());
  return describe_host() + " " + std::to_string(::getpid()) + " " +
         std::to_string(self ? self->start : 0) + " " + std::to_string(store);
}

OwnerLife check_owner(std::string_view owner, std::string_view own) {
  const auto theirs = words(owner);
  const auto ours = words(own);
  if (theirs.size() != 4 || ours.size() != 4 || theirs[0] != ours[0]) return OwnerLife::elsewhere;
  if (theirs[1] == ours[1] && theirs[2] == ours[2]) return OwnerLife::alive;
  const auto pid = number<pid_t>(theirs[1]);
  const auto start = number<std::uint64_t>(theirs[2]);
  if (!pid || !start || *pid <= 0) return OwnerLife::elsewhere;
  if (::kill(*pid, 0) != 0 && errno == ESRCH) return OwnerLife::gone;
  const auto process = read_process(*pid);
  if (!process) return OwnerLife::alive;  // It exists, but /proc is hidden from us.
  return process->dead || (*start != 0 && process->start != *start) ? OwnerLife::gone
                                                                    : OwnerLife::alive;
}

}  // namespace triage::inline v0_1::detail
