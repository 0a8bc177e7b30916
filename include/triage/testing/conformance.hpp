// SPDX-License-Identifier: MIT
#pragma once
// The conformance kit: clauses for what every checkpoint store must do, to run on any store.

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

// Opens the store under test. Each clause gets a new, empty folder; reopening a folder opens the
// same data, if the store keeps any. A store without files derives a name from the folder. Called
// from several threads and child processes, one call at a time in each.
using StoreFactory =
    std::function<Result<std::shared_ptr<CheckpointStore>>(const std::filesystem::path& folder)>;

// What the store claims beyond capabilities(). Fewer claims mean fewer required clauses; the report
// lists them.
struct ConformanceOptions {
  std::string name = "store";      // For the report.
  bool erases = true;              // erase(), prune() and erase_all() remove runs.
  bool keeps_keys = true;          // put_if() and erase_if() work.
  bool keeps_every_record = true;  // A reopened store has every record, not only checkpoints.
  // Flips a bit in the stored body of one record, behind the store's back; called while no store is
  // open in the folder. Without it, corruption is not tested.
  std::function<Result<void>(const std::filesystem::path& folder, const RunId& run, Sequence seq)>
      damage{};
  // Makes the folder's data look as if a newer version of the store had written it.
  std::function<Result<void>(const std::filesystem::path& folder)> make_newer{};
  // Runs only clauses whose name, "group/clause", starts with this. Empty: all.
  std::string only{};
  std::uint64_t seed = 1;  // For clauses with random choices.
};

enum class ClauseOutcome : std::uint8_t { passed, failed, not_required };
[[nodiscard]] std::string_view to_string(ClauseOutcome outcome) noexcept;

struct ClauseResult {
  ClauseGroup group = ClauseGroup::functional;
  std::string name{};      // "group/clause"; stable and unique.
  std::string sentence{};  // The promise.
  ClauseOutcome outcome = ClauseOutcome::not_required;
  std::string detail{};  // Failed: what happened. Not required: the missing claim.
};

// full: all clauses that the claims require; base: at least the groups functional, ordering,
// isolation and ownership; none: less.
enum class ConformanceLevel : std::uint8_t { none, base, full };
[[nodiscard]] std::string_view to_string(ConformanceLevel level) noexcept;

struct ConformanceReport {
  std::string store{};
  StoreCapabilities capabilities{};
  std::vector<ClauseResult> clauses{};

  [[nodiscard]] std::size_t count(ClauseOutcome outcome) const noexcept;
  [[nodiscard]] bool passed() const noexcept;  // Nothing failed, and something was required.
  [[nodiscard]] ConformanceLevel level() const noexcept;
  // For people: a line per group and per failure; `everything`: a line per clause.
  [[nodiscard]] std::string text(bool everything = false) const;
  // {"store", "level", "durability", "shared_by_processes", "passed", "failed", "not_required",
  // "clauses": [{"group", "name", "sentence", "outcome", "detail"}]}
  [[nodiscard]] Json json() const;
};

// Runs every clause in a new folder below the system's temporary one, and removes it. A clause ends
// at the first failure; exceptions from the store are failures. Some clauses start threads and, if
// the store survives its process, children that are killed: call it while the program has no other
// threads. Takes seconds.
[[nodiscard]] ConformanceReport conformance(const StoreFactory& factory,
                                            const ConformanceOptions& options = {});

}  // namespace triage::inline v0_1::testing
