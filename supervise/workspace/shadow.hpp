// SPDX-License-Identifier: MIT
#pragma once
// What a shadow repository has beside git's own: whose runs' files it keeps, and locks.

#include "supervise/process/file_descriptor.hpp"
#include "supervise/workspace/git.hpp"
#include "triage/result.hpp"

#include <chrono>
#include <set>
#include <string>

namespace triage::inline v0_1::supervise {

// A name for a folder's repository, or for a run in it, which is safe for files and references.
[[nodiscard]] std::string shadow_name(const std::string& text);

// The references of a run begin with this, its index is this. run: as shadow_name() gives it.
[[nodiscard]] std::string references_of(const std::string& run);
[[nodiscard]] std::string index_of(const std::string& repository, const std::string& run);

// A file that exists while no program of the run can change the files.
[[nodiscard]] std::string rest_file(const std::string& repository, const std::string& run);

// The file that notes the stores of a run, as shadow_name() names them.
inline constexpr const char* stores_prefix = "stores-";
[[nodiscard]] std::string stores_file(const std::string& repository, const std::string& run);
// One of them, if an earlier version has kept files of the run: in which store is not known, and
// not all that it needs can be reached from its references.
inline constexpr const char* earlier_store = "earlier";
[[nodiscard]] std::set<std::string> stores_of(const std::string& repository,
                                              const std::string& run);
// Errors: Errc::io.
[[nodiscard]] Result<void> write_stores(const std::string& repository, const std::string& run,
                                        const std::set<std::string>& stores);

// Held while somebody relies on objects that no reference leads to yet, or removes such objects.
class ShadowLock {
 public:
  // Waits until nothing is being removed. Errors: Errc::io; those of the watch.
  [[nodiscard]] static Result<ShadowLock> use(const std::string& repository,
                                              const GitWatch& watch = {});
  // For removing: lets nobody begin, and waits for those who have begun. Errors: Errc::busy after
  // so long; Errc::io.
  [[nodiscard]] static Result<ShadowLock> remove(const std::string& repository,
                                                 std::chrono::milliseconds patience);

 private:
  FileDescriptor gate_{};
  FileDescriptor held_{};
};

// Git leaves its locks behind when it is killed, and refuses to work from then on. Those of a run
// are nobody's when its supervisor begins.
void remove_locks_of(const std::string& repository, const std::string& run);
// Those that all runs share are nobody's while ShadowLock::remove() is held.
[[nodiscard]] bool has_shared_locks(const std::string& repository);
void remove_shared_locks(const std::string& repository);

}  // namespace triage::inline v0_1::supervise
