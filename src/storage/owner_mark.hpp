// SPDX-License-Identifier: MIT
#pragma once
// Who holds a lease: a store object of a process on this host, as opposed to a later process with
// the same number, to a program that replaced it by exec, or to a destroyed object.

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace triage::inline v0_1::detail {

enum class OwnerLife : std::uint8_t {
  alive,      // The process exists on this host, and its store object too.
  stopped,    // The same, but the process is stopped by a signal or a debugger.
  gone,       // It was on this host and no longer exists, or gave this lease up.
  elsewhere,  // Another host (or process namespace): only a timeout can tell.
};

// Identifies a lease: the run's number and the epoch.
using LeaseKey = std::pair<std::int64_t, std::uint64_t>;

// How a store object signs its leases, so that other processes on this host can tell whether it
// lives.
//
// Text: HOST PID START STORE FILE, where HOST is the boot id and the process namespace, START the
// process's start time in clock ticks since boot, STORE a random number of the store object, and
// FILE the descriptor of a memory file that the object keeps open. The file's name contains STORE,
// so processes of the same user can look it up in /proc: it is closed with the object, and by exec.
// It lists the leases that were given up although their release could not be written, for example
// because the disk was full, and those of which nobody knows whether they were granted. FILE is
// missing if no file could be created; then only the end of the process frees its leases. The text
// contains no personal data; it is stored in runs.owner.
//
// Thread-safety: none; the store locks.
class OwnerMark {
 public:
  // `marked`: whether to create a file; an object that takes no leases needs none.
  OwnerMark(std::uint64_t store, bool marked);
  ~OwnerMark();
  OwnerMark(const OwnerMark&) = delete;
  OwnerMark& operator=(const OwnerMark&) = delete;

  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  [[nodiscard]] const std::set<LeaseKey>& given_up() const noexcept { return given_up_; }
  [[nodiscard]] bool gave_up(const LeaseKey& lease) const noexcept;
  void give_up(const LeaseKey& lease) { give_up({&lease, 1}); }
  void give_up(std::span<const LeaseKey> leases);
  void forget(const LeaseKey& lease);

 private:
  void publish() const noexcept;

  int file_ = -1;
  std::string text_;
  std::set<LeaseKey> given_up_{};
};

// The parts of such a text, as views of it.
struct OwnerParts {
  std::string_view host{};
  std::int64_t process = 0;  // Above 0.
  std::uint64_t start = 0;   // 0: unknown.
  std::string_view store{};
  std::optional<std::string_view> file{};
};

// nullopt: the text is not an OwnerMark's.
[[nodiscard]] std::optional<OwnerParts> owner_parts(std::string_view text);

// `own` is the text of an OwnerMark of this process. Text that cannot be parsed counts as
// elsewhere.
[[nodiscard]] OwnerLife check_owner(std::string_view owner, std::string_view own,
                                    const LeaseKey& lease);

// Whether a lease of another host still holds, by a clock in milliseconds that all hosts share. One
// that ends later than twice the longest lease comes from a clock that was set back since: it would
// lock the run for as long. `longest` 0: nobody knows it.
[[nodiscard]] bool is_lease_held(std::int64_t now, std::int64_t until,
                                 std::int64_t longest) noexcept;

}  // namespace triage::inline v0_1::detail
