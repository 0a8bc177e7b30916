// SPDX-License-Identifier: MIT
#pragma once
// The conformance kit: what every checkpoint store must do, as clauses that can be run on any
// store.

#include "triage/checkpoint_store.hpp"
#include "triage/json.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace triage::inline v0_1::testing {

enum class ClauseGroup : std::uint8_t {
  functional,
  ordering,
  isolation,
  concurrency,
  ownership,
  crash,
  corruption,
  size,
  upgrade,
  retention,
  key_space,
  security,
};
[[nodiscard]] std::string_view to_string(ClauseGroup group) noexcept;

// Opens the store under test. Each clause gets a new, empty folder; the same folder again means the
// same data, where the store keeps any. A store that keeps nothing in files makes a name out of it.
// Called from several threads and child processes, one at a time in each.
using StoreFactory =
    std::function<Result<std::shared_ptr<CheckpointStore>>(const std::filesystem::path& folder)>;

// What the store claims beyond capabilities(). Whoever claims less has fewer clauses to fulfil, and
// the report says which.
struct ConformanceOptions {
  std::string name = "store";      // In the report.
  bool erases = true;              // erase(), prune() and erase_all() remove runs.
  bool keeps_keys = true;          // put_if() and erase_if() work.
  bool keeps_every_record = true;  // Another opening finds every record, not only checkpoints.
  // Flips a bit in the stored body of one record, behind the store's back. Without it nothing is
  // known about corruption. Called while no store is open in the folder.
  std::function<Result<void>(const std::filesystem::path& folder, const RunId& run, Sequence seq)>
      damage{};
  // Makes what lies in the folder look as if a newer version of the store had written it.
  std::function<Result<void>(const std::filesystem::path& folder)> make_newer{};
  // Only clauses whose name, "group/clause", begins with this. Empty: all.
  std::string only{};
  std::uint64_t seed = 1;  // Of clauses that choose at random.
};

enum class ClauseOutcome : std::uint8_t { passed, failed, not_required };
[[nodiscard]] std::string_view to_string(ClauseOutcome outcome) noexcept;

struct ClauseResult {
  ClauseGroup group = ClauseGroup::functional;
  std::string name{};      // "group/clause": stable, and unique.
  std::string sentence{};  // What is promised.
  ClauseOutcome outcome = ClauseOutcome::not_required;
  std::string detail{};  // Failed: what was seen. Not required: what the store does not claim.
};

// full: every clause that its claims require; base: at least the groups functional, ordering,
// isolation and ownership; none: not even those.
enum class ConformanceLevel : std::uint8_t { none, base, full };
[[nodiscard]] std::string_view to_string(ConformanceLevel level) noexcept;

struct ConformanceReport {
  std::string store{};
  StoreCapabilities capabilities{};
  std::vector<ClauseResult> clauses{};

  [[nodiscard]] std::size_t count(ClauseOutcome outcome) const noexcept;
  [[nodiscard]] bool passed() const noexcept;  // Nothing failed, and something was required.
  [[nodiscard]] ConformanceLevel level() const noexcept;
  // A line a group and one a failure, for people; `everything`: a line a clause.
  [[nodiscard]] std::string text(bool everything = false) const;
  // {"store", "level", "durability", "shared_by_processes", "passed", "failed", "not_required",
  // "clauses": [{"group", "name", "sentence", "outcome", "detail"}]}
  [[nodiscard]] Json json() const;
};

// Runs every clause, each in a folder of its own below the system's temporary one, and removes it
// again. A clause ends at the first thing that is wrong; what the store throws counts as wrong.
// Some clauses start threads, and where the store survives its process, children that are killed:
// call it from a program that has no other threads at that moment. Takes seconds.
[[nodiscard]] ConformanceReport conformance(const StoreFactory& factory,
                                            const ConformanceOptions& options = {});

}  // namespace triage::inline v0_1::testing
