// SPDX-License-Identifier: MIT
#include "supervise/process/private_folder.hpp"

#include "triage/json.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <vector>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace triage::inline v0_1::supervise {
namespace {

constexpr std::string_view start = "triage-run-";

// The processes among which this one's number is unique. Folders may be shared with containers.
std::string process_namespace() {
  std::error_code failed;
  const std::string name = std::filesystem::read_symlink("/proc/self/ns/pid", failed).string();
  std::string digits;
  std::copy_if(name.begin(), name.end(), std::back_inserter(digits),
               [](char c) { return c >= '0' && c <= '9'; });
  return digits;
}

std::string beginning() { return std::string(start) + process_namespace() + "."; }

// "triage-run-NAMESPACE.PID-XXXXXX" of this user, from a process that is gone.
bool is_abandoned(const std::filesystem::path& path, const std::string& own) {
  const std::string name = path.filename();
  if (!name.starts_with(own)) return false;
  pid_t pid = 0;
  const char* end = name.data() + name.size();
  const auto [stop, problem] = std::from_chars(name.data() + own.size(), end, pid);
  struct stat found {};
  return problem == std::errc() && stop != end && *stop == '-' &&
         ::lstat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode) &&
         found.st_uid == ::getuid() && ::kill(pid, 0) != 0 && errno == ESRCH;
}

void remove_left(const std::filesystem::path& base, const std::string& own) {
  std::error_code failed;
  std::filesystem::directory_iterator entry(base, failed);
  for (; !failed && entry != std::filesystem::directory_iterator(); entry.increment(failed)) {
    std::error_code ignored;
    if (is_abandoned(entry->path(), own)) std::filesystem::remove_all(entry->path(), ignored);
  }
}

// Empty if it cannot be made; errno says why.
std::string make_in(const std::filesystem::path& base) {
  const std::string own = beginning();
  remove_left(base, own);
  const std::string unique(6, 'X');  // Replaced by mkdtemp.
  std::string name = (base / (own + std::to_string(::getpid()) + "-" + unique)).string();
  return ::mkdtemp(name.data()) == nullptr ? std::string() : name;
}

}  // namespace

// The one of the session comes late: it is removed when its user logs out, while programs go on.
std::vector<std::string> PrivateFolder::bases() {
  constexpr std::size_t longest = sizeof(sockaddr_un::sun_path) - 48;
  std::vector<std::string> all;
  const auto add = [&all](const char* folder) {
    if (folder != nullptr && *folder == '/' && std::strlen(folder) <= longest) {
      all.emplace_back(folder);
    }
  };
  add(std::getenv("TMPDIR"));
  add("/tmp");
  add("/var/tmp");
  add(std::getenv("XDG_RUNTIME_DIR"));
  add("/dev/shm");
  return all;
}

Result<PrivateFolder> PrivateFolder::make(const std::string& given) {
  PrivateFolder made;
  std::string tried;
  for (const std::string& base : given.empty() ? bases() : std::vector{given}) {
    made.path_ = make_in(base);
    if (!made.path_.empty()) return outcome::success(std::move(made));
    tried += (tried.empty() ? "" : ", ") + printable(base) + " (" + std::strerror(errno) + ")";
  }
  return Error{Errc::io, "no folder can be made in " + tried};
}

bool PrivateFolder::exists() const {
  std::error_code ignored;
  return !path_.empty() && std::filesystem::is_directory(path_, ignored);
}

PrivateFolder::~PrivateFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace triage::inline v0_1::supervise
