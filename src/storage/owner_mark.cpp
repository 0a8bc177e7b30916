// SPDX-License-Identifier: MIT
#include "storage/owner_mark.hpp"

#include "triage/detail/proc_file.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <vector>

namespace triage::inline v0_1::detail {
namespace {

constexpr std::string_view unknown_part = "unknown";

struct Process {
  bool dead = false;     // A zombie: exited, but not yet waited for.
  bool stopped = false;  // By a signal, or by a debugger.
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
// time. The name in field 2 may contain anything, so fields are counted from the last ')'.
std::optional<Process> read_process(std::int64_t pid) {
  const std::string text = read_proc_file("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  const auto fields = words(std::string_view(text).substr(name_end + 1));
  if (fields.size() < 20) return std::nullopt;
  const auto threads = number<std::int64_t>(fields[17]);
  const auto start = number<std::uint64_t>(fields[19]);
  if (!threads || !start) return std::nullopt;
  const bool zombie = fields[0] == "Z" || fields[0] == "X";
  return Process{.dead = zombie && *threads <= 1,
                 .stopped = fields[0] == "T" || fields[0] == "t",
                 .start = *start};
}

std::string describe_host() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string boot;
  file >> boot;
  if (boot.empty()) boot = unknown_part;
  struct stat space {};
  const bool known = ::stat("/proc/self/ns/pid", &space) == 0;
  return boot + "/" + (known ? std::to_string(space.st_ino) : std::string(unknown_part));
}

// A host that does not know itself says the same as any other such one.
bool is_same_host(std::string_view theirs, std::string_view ours) {
  return theirs == ours && theirs.find(unknown_part) == theirs.npos;
}

std::string name_of_file(std::string_view store) { return "triage-store-" + std::string(store); }

// What /proc says about the file that the owner's object keeps open.
enum class FileLife : std::uint8_t { open, closed, unknown };

FileLife look_for_file(const std::string& path, std::string_view store) {
  std::array<char, 128> link{};
  const ssize_t size = ::readlink(path.c_str(), link.data(), link.size());
  if (size < 0) return errno == ENOENT ? FileLife::closed : FileLife::unknown;
  const std::string_view target(link.data(), static_cast<std::size_t>(size));
  // Linux calls it "/memfd:NAME (deleted)".
  return target.find(":" + name_of_file(store) + " ") != std::string_view::npos ? FileLife::open
                                                                                : FileLife::closed;
}

bool lists(const std::string& path, const LeaseKey& lease) {
  std::ifstream file(path);
  LeaseKey given_up;
  while (file >> given_up.first >> given_up.second) {
    if (given_up == lease) return true;
  }
  return false;
}

}  // namespace

OwnerMark::OwnerMark(std::uint64_t store, bool marked) {
  const auto self = read_process(::getpid());
  const std::string number = std::to_string(store);
  text_ = describe_host() + " " + std::to_string(::getpid()) + " " +
          std::to_string(self ? self->start : 0) + " " + number;
  if (!marked) return;
  file_ = ::memfd_create(name_of_file(number).c_str(), MFD_CLOEXEC);
  if (file_ >= 0) text_ += " " + std::to_string(file_);
}

OwnerMark::~OwnerMark() {
  if (file_ >= 0) ::close(file_);
}

bool OwnerMark::gave_up(const LeaseKey& lease) const noexcept { return given_up_.contains(lease); }

void OwnerMark::give_up(std::span<const LeaseKey> leases) {
  const std::size_t before = given_up_.size();
  given_up_.insert(leases.begin(), leases.end());
  if (given_up_.size() != before) publish();
}

void OwnerMark::forget(const LeaseKey& lease) {
  if (given_up_.erase(lease) > 0) publish();
}

// A reader in the middle of this sees fewer leases and takes the others for held.
void OwnerMark::publish() const noexcept {
  if (file_ < 0 || ::ftruncate(file_, 0) != 0) return;
  off_t at = 0;
  for (const auto& [run, epoch] : given_up_) {
    const std::string line = std::to_string(run) + " " + std::to_string(epoch) + "\n";
    const ssize_t written = ::pwrite(file_, line.data(), line.size(), at);
    if (written != static_cast<ssize_t>(line.size())) return;
    at += written;
  }
}

std::optional<OwnerParts> owner_parts(std::string_view text) {
  const auto parts = words(text);
  if (parts.size() < 4 || parts.size() > 5) return std::nullopt;
  const auto process = number<pid_t>(parts[1]);
  const auto start = number<std::uint64_t>(parts[2]);
  if (!process || !start || *process <= 0) return std::nullopt;
  OwnerParts owner{.host = parts[0], .process = *process, .start = *start, .store = parts[3]};
  if (parts.size() == 5) owner.file = parts[4];
  return owner;
}

OwnerLife check_owner(std::string_view owner, std::string_view own, const LeaseKey& lease) {
  const auto theirs = owner_parts(owner);
  const auto ours = owner_parts(own);
  if (!theirs || !ours || !is_same_host(theirs->host, ours->host)) return OwnerLife::elsewhere;
  const auto pid = static_cast<pid_t>(theirs->process);
  if (::kill(pid, 0) != 0 && errno == ESRCH) return OwnerLife::gone;
  const auto process = read_process(pid);
  if (!process) return OwnerLife::alive;  // It exists, but we cannot read /proc.
  if (process->dead || (theirs->start != 0 && process->start != theirs->start))
    return OwnerLife::gone;
  if (theirs->file) {
    const std::string path = "/proc/" + std::to_string(pid) + "/fd/" + std::string(*theirs->file);
    const FileLife file = look_for_file(path, theirs->store);
    if (file == FileLife::closed || (file == FileLife::open && lists(path, lease))) {
      return OwnerLife::gone;
    }
  }
  return process->stopped ? OwnerLife::stopped : OwnerLife::alive;
}

bool is_lease_held(std::int64_t now, std::int64_t until, std::int64_t longest) noexcept {
  if (now >= until) return false;
  return longest <= 0 || until - now - longest <= longest;
}

}  // namespace triage::inline v0_1::detail
