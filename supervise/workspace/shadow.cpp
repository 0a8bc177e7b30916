// SPDX-License-Identifier: MIT
#include "supervise/workspace/shadow.hpp"

#include "supervise/workspace/paths.hpp"
#include "triage/detail/fnv1a.hpp"
#include "triage/detail/hex.hpp"
#include "triage/detail/try.hpp"
#include "triage/json.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <thread>
#include <utility>

#include <sys/file.h>

namespace triage::inline v0_1::supervise {
namespace {

namespace fs = std::filesystem;

// Files that git creates only if they do not exist.
constexpr const char* shared_locks[] = {"/config.lock",
                                        "/HEAD.lock",
                                        "/packed-refs.lock",
                                        "/packed-refs.new",
                                        "/gc.pid",
                                        "/gc.pid.lock",
                                        "/objects/info/commit-graph.lock"};

// Two files, as the operating system lets new users in while somebody waits for the last to leave.
std::string gate_of(const std::string& repository) { return repository + "/removing.lock"; }
std::string hall_of(const std::string& repository) { return repository + "/using.lock"; }

constexpr std::chrono::milliseconds pause_between_tries{5};

// Does not wait.
bool lock(const FileDescriptor& file, int how) {
  while (::flock(file.get(), how | LOCK_NB) != 0) {
    if (errno != EINTR) return false;
  }
  return true;
}

FileDescriptor opened(const std::string& path) {
  return FileDescriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
}

}  // namespace

std::string shadow_name(const std::string& text) { return detail::hex_number(detail::fnv1a(text)); }

std::string references_of(const std::string& run) { return "refs/" + run + "/"; }

std::string index_of(const std::string& repository, const std::string& run) {
  return repository + "/index-" + run;
}

std::string rest_file(const std::string& repository, const std::string& run) {
  return repository + "/resting-" + run;
}

std::string stores_file(const std::string& repository, const std::string& run) {
  return repository + "/" + stores_prefix + run;
}

std::set<std::string> stores_of(const std::string& repository, const std::string& run) {
  std::set<std::string> stores;
  std::ifstream file(stores_file(repository, run));
  for (std::string store; file >> store;) stores.insert(store);
  return stores;
}

Result<void> write_stores(const std::string& repository, const std::string& run,
                          const std::set<std::string>& stores) {
  std::string lines;
  for (const std::string& store : stores) lines += store + "\n";
  return write_whole(stores_file(repository, run), lines);
}

Result<ShadowLock> ShadowLock::use(const std::string& repository, const GitWatch& watch) {
  const FileDescriptor gate = opened(gate_of(repository));
  ShadowLock made;
  made.held_ = opened(hall_of(repository));
  if (!gate || !made.held_) return system_error("a lock of " + printable(repository));
  for (const FileDescriptor* file : {&gate, &std::as_const(made.held_)}) {
    while (!lock(*file, LOCK_SH)) {
      if (errno != EWOULDBLOCK) return system_error("a lock of " + printable(repository));
      TRIAGE_TRYV(watch.look());
      watch.clock->sleep_until(watch.clock->now() + pause_between_tries, {});
    }
  }
  return outcome::success(std::move(made));
}

Result<ShadowLock> ShadowLock::remove(const std::string& repository,
                                      std::chrono::milliseconds patience) {
  ShadowLock made;
  made.gate_ = opened(gate_of(repository));
  made.held_ = opened(hall_of(repository));
  if (!made.gate_ || !made.held_) return system_error("a lock of " + printable(repository));
  for (FileDescriptor* file : {&made.gate_, &made.held_}) {
    while (!lock(*file, LOCK_EX)) {
      if (errno != EWOULDBLOCK) return system_error("a lock of " + printable(repository));
      if (patience <= pause_between_tries) return Error{Errc::busy, "the files in it are in use"};
      patience -= pause_between_tries;
      std::this_thread::sleep_for(pause_between_tries);
    }
  }
  return outcome::success(std::move(made));
}

void remove_locks_of(const std::string& repository, const std::string& run) {
  std::error_code problem;
  fs::remove(index_of(repository, run) + ".lock", problem);
  for (const auto& entry : fs::directory_iterator(repository + "/" + references_of(run), problem)) {
    if (entry.path().extension() == ".lock") fs::remove(entry.path(), problem);
  }
}

bool has_shared_locks(const std::string& repository) {
  return std::any_of(std::begin(shared_locks), std::end(shared_locks), [&](const char* lock) {
    std::error_code problem;
    return fs::exists(repository + lock, problem);
  });
}

void remove_shared_locks(const std::string& repository) {
  std::error_code problem;
  for (const char* lock : shared_locks) fs::remove(repository + lock, problem);
}

}  // namespace triage::inline v0_1::supervise
