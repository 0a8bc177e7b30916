// SPDX-License-Identifier: MIT
#pragma once
// The stores of the contract tests, and the journals they store.

#include "support/temp_folder.hpp"
#include "triage/checkpoint_store.hpp"
#include "triage/journal.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace triage::test {

// One kind of store. `folder` outlives the store that make() returns.
struct StoreKind {
  std::string name{};
  std::function<std::shared_ptr<CheckpointStore>(const TempFolder& folder)> make{};
  bool erases = true;  // A simple store cannot remove anything.
};

// A store of one kind, in its own folder.
struct Opened {
  TempFolder folder{};
  StoreKind kind{};
  std::shared_ptr<CheckpointStore> store{};
  explicit Opened(const StoreKind& which) : kind(which), store(which.make(folder)) {}
};

// Memory, SQLite in a file, SQLite in memory, and the adapter over a simple store.
[[nodiscard]] std::vector<StoreKind> store_kinds();

inline WallTime at_ms(std::int64_t milliseconds) {
  return WallTime(std::chrono::milliseconds(milliseconds));
}

// A run whose first record is run_started.
[[nodiscard]] RunInfo run_info(const RunId& id, std::int64_t started_ms = 1'000);
[[nodiscard]] Record started(Journal& journal, std::int64_t time_ms = 1'000);
[[nodiscard]] Record step(Journal& journal, const std::string& action,
                          std::int64_t time_ms = 2'000);

// A run with steps, state changes, labels, effects, retries and rollbacks; the same seed gives the
// same run. Leaves it in `journal` as recorded live.
[[nodiscard]] std::vector<Record> random_run(Journal& journal, std::uint64_t seed,
                                             std::size_t operations);

// Whether two records are equal in all bytes.
[[nodiscard]] bool same(const Record& a, const Record& b);

}  // namespace triage::test
