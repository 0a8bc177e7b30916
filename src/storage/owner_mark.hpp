// SPDX-License-Identifier: MIT
#pragma once
// Who holds a lease: a store object of a process of this host, told apart from a process that got
// its number later, from a program that replaced it by exec, and from an object that is gone.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace triage::inline v0_1::detail {

enum class OwnerLife : std::uint8_t {
  alive,      // The process exists on this host, and the store object in it.
  stopped,    // The same, but the process is stopped by a signal or a debugger.
  gone,       // It was on this host and does not exist any more, or gave this lease up.
  elsewhere,  // Another host (or another process namespace): only time can tell.
};

// One lease: the run's number and the epoch.
using LeaseKey = std::pair<std::int64_t, std::uint64_t>;

// How a store object signs its leases, and how others on this host can tell that it is still there.
//
// Text: HOST PID START STORE FILE, where HOST is the boot id and the process namespace, START the
// process's start time in clock ticks since boot, STORE a random number of the store object, and
// FILE the number of a file in memory that the object keeps open. The file's name contains STORE,
// so /proc tells anybody of the same user whether the object lives: the file is closed with it,
// and by exec. It lists the leases that were given up although their release could not be written,
// for example because the disk was full. FILE is missing where no such file could be made; then
// only the process's end frees its leases. The text contains no personal data; it is stored in
// runs.owner.
//
// Thread-safety: none; the store locks.
class OwnerMark {
 public:
  // `marked`: whether a file is made; an object that takes no leases needs none.
  OwnerMark(std::uint64_t store, bool marked);
  ~OwnerMark();
  OwnerMark(const OwnerMark&) = delete;
  OwnerMark& operator=(const OwnerMark&) = delete;

  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  [[nodiscard]] const std::vector<LeaseKey>& given_up() const noexcept { return given_up_; }
  [[nodiscard]] bool gave_up(const LeaseKey& lease) const noexcept;
  void give_up(const LeaseKey& lease);
  void forget(const LeaseKey& lease);

 private:
  void publish() const noexcept;

  int file_ = -1;
  std::string text_;
  std::vector<LeaseKey> given_up_{};
};

// `own` is the text of an OwnerMark of this process. Text that cannot be parsed counts as
// elsewhere.
[[nodiscard]] OwnerLife check_owner(std::string_view owner, std::string_view own,
                                    const LeaseKey& lease);

}  // namespace triage::inline v0_1::detail
