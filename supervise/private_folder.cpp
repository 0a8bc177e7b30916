// SPDX-License-Identifier: MIT
#include "supervise/private_folder.hpp"

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <sys/stat.h>
#include <unistd.h>

namespace triage::inline v0_1::supervise {
namespace {

constexpr std::string_view start = "triage-run-";

std::filesystem::path base_folder() {
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  std::error_code failed;
  if (runtime != nullptr && *runtime == '/' && std::filesystem::is_directory(runtime, failed)) {
    return runtime;
  }
  const std::filesystem::path temporary = std::filesystem::temp_directory_path(failed);
  return failed ? "/tmp" : temporary;
}

// "triage-run-PID-XXXXXX" of this user, from a process that is gone.
bool is_abandoned(const std::filesystem::path& path) {
  const std::string name = path.filename();
  if (!name.starts_with(start)) return false;
  pid_t pid = 0;
  const char* end = name.data() + name.size();
  const auto [stop, problem] = std::from_chars(name.data() + start.size(), end, pid);
  struct stat found {};
  return problem == std::errc() && stop != end && *stop == '-' &&
         ::lstat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode) &&
         found.st_uid == ::getuid() && ::kill(pid, 0) != 0 && errno == ESRCH;
}

void remove_left(const std::filesystem::path& base) {
  std::error_code failed;
  std::filesystem::directory_iterator entry(base, failed);
  for (; !failed && entry != std::filesystem::directory_iterator(); entry.increment(failed)) {
    std::error_code ignored;
    if (is_abandoned(entry->path())) std::filesystem::remove_all(entry->path(), ignored);
  }
}

}  // namespace

Result<PrivateFolder> PrivateFolder::make(const std::string& given) {
  const std::filesystem::path base = given.empty() ? base_folder() : std::filesystem::path(given);
  remove_left(base);
  const std::string unique(6, 'X');  // Replaced by mkdtemp.
  std::string name =
      (base / (std::string(start) + std::to_string(::getpid()) + "-" + unique)).string();
  if (::mkdtemp(name.data()) == nullptr) {
    return Error{Errc::io, "no folder can be made as " + name + ": " + std::strerror(errno)};
  }
  PrivateFolder made;
  made.path_ = std::move(name);
  return outcome::success(std::move(made));
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
