// SPDX-License-Identifier: MIT
#pragma once
// Building blocks of the conformance kit's clauses.

#include "triage/journal.hpp"
#include "triage/testing/conformance.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace triage::inline v0_1::testing::kit {

// Ends a clause because a promise is broken. Never leaves the kit.
struct Broken {
  std::string what{};
};

void expect(bool right, std::string_view what);
[[noreturn]] void broken_by(std::string_view what, const Error& error);

template <class T>
T must(Result<T> result, std::string_view what) {
  if (result.has_error()) broken_by(what, result.error());
  if constexpr (!std::is_void_v<T>) return std::move(result).value();
}

void expect_code(Errc expected, const Error* error, std::string_view what);
template <class T>
void refused(Errc expected, const Result<T>& result, std::string_view what) {
  expect_code(expected, result.has_error() ? &result.error() : nullptr, what);
}

template <class A, class B>
void expect_equal(const A& seen, const B& expected, std::string_view what) {
  if (seen == expected) return;
  std::string text(what);
  if constexpr (std::is_arithmetic_v<A> && std::is_arithmetic_v<B>) {
    text += ": is " + std::to_string(seen) + ", expected " + std::to_string(expected);
  } else if constexpr (std::is_convertible_v<A, std::string_view> &&
                       std::is_convertible_v<B, std::string_view>) {
    text += ": is \"" + printable(std::string_view(seen).substr(0, 200)) + "\", expected \"" +
            printable(std::string_view(expected).substr(0, 200)) + "\"";
  }
  throw Broken{std::move(text)};
}

inline WallTime at_ms(std::int64_t milliseconds) {
  return WallTime(std::chrono::milliseconds(milliseconds));
}

// A run to be written to a store; creates the records in the order in which they are requested.
class Story {
 public:
  explicit Story(RunId id, std::int64_t started_ms = 1'000);

  [[nodiscard]] RunInfo& info() noexcept { return info_; }
  [[nodiscard]] Journal& journal() noexcept { return journal_; }
  [[nodiscard]] const RunId& id() const noexcept { return info_.id; }

  Record started();
  Record step(std::string action);
  Record set(const std::string& key, Json value);
  Record note(RecordKind kind, Json body);
  Record label(std::string label);
  std::vector<Record> steps(int count, const std::string& name = "step");
  // Starts the run with run_started and `steps` steps.
  Lease start(CheckpointStore& store, int steps = 0);

  WallTime time{};  // Of the next record; advances by one second.

 private:
  WallTime tick();
  RunInfo info_{};
  Journal journal_;
};

[[nodiscard]] Record raw_record(Sequence seq, RecordKind kind, Json body,
                                std::int64_t time_ms = 2'000);
[[nodiscard]] bool same(const Record& a, const Record& b);
void expect_same(std::span<const Record> seen, std::span<const Record> expected,
                 std::string_view what);
[[nodiscard]] std::vector<Record> all_records(CheckpointStore& store, const RunId& run);
[[nodiscard]] std::vector<Record> later_records(CheckpointStore& store,
                                                const RunId& run);  // All but the first.
[[nodiscard]] std::string ids(const std::vector<RunInfo>& runs);    // "c b a"
// A journal with steps, state, labels, effects, retries and rollbacks.
[[nodiscard]] std::vector<Record> random_run(Story& story, std::uint64_t seed, int operations);

// The environment of one clause: a folder, and the stores opened in it.
class Trial {
 public:
  Trial(const StoreFactory& factory, const ConformanceOptions& options,
        std::filesystem::path folder)
      : factory_(factory), options_(options), folder_(std::move(folder)) {}

  [[nodiscard]] CheckpointStore& store();                 // Opened on first use.
  [[nodiscard]] std::shared_ptr<CheckpointStore> open();  // Opens the same data once more.
  void close() { store_.reset(); }
  // Closes the store() and opens it again.
  CheckpointStore& reopen();
  // Runs `body` in a child process that is killed with SIGKILL when it returns, and returns its
  // reports in order. Meanwhile only `meanwhile` may open stores here; it is called after `body`
  // has returned, and the child lives until it is done.
  std::vector<std::uint64_t> killed_child(
      const std::function<void(CheckpointStore&, const std::function<void(std::uint64_t)>&)>& body,
      const std::function<void()>& meanwhile = {});
  // The same, but the child is killed after `reports` reports, wherever it is.
  std::vector<std::uint64_t> killed_child_after(
      std::uint64_t reports,
      const std::function<void(CheckpointStore&, const std::function<void(std::uint64_t)>&)>& body);
  void damage(const RunId& run, Sequence seq);  // Closes the store first.
  void make_newer();

  [[nodiscard]] const StoreFactory& factory() const noexcept { return factory_; }
  [[nodiscard]] const ConformanceOptions& options() const noexcept { return options_; }
  [[nodiscard]] const std::filesystem::path& folder() const noexcept { return folder_; }
  [[nodiscard]] std::uint64_t seed() const noexcept { return options_.seed; }

 private:
  const StoreFactory& factory_;
  const ConformanceOptions& options_;
  const std::filesystem::path folder_;
  std::shared_ptr<CheckpointStore> store_{};
};

// A clause's requirements, as bits.
enum Need : unsigned {
  nothing = 0,
  erasing = 1U << 0U,
  keys = 1U << 1U,
  reopening = 1U << 2U,  // Data outlives the process: at least Durability::process.
  processes = 1U << 3U,  // shared_by_processes
  whole = 1U << 4U,      // keeps_every_record
  damaging = 1U << 5U,   // A way to damage a record is provided.
  newer = 1U << 6U,      // A way to make the store look newer is provided.
  replacing = 1U << 7U,  // The store is a CompactsRuns.
};

struct Clause {
  ClauseGroup group{};
  const char* name = "";
  const char* sentence = "";
  unsigned needs = nothing;
  void (*check)(Trial&) = nullptr;
};
using Clauses = std::vector<Clause>;

[[nodiscard]] Clauses starting_clauses();
[[nodiscard]] Clauses appending_clauses();
[[nodiscard]] Clauses reading_clauses();
[[nodiscard]] Clauses listing_clauses();
[[nodiscard]] Clauses ordering_clauses();
[[nodiscard]] Clauses isolation_clauses();
[[nodiscard]] Clauses concurrency_clauses();
[[nodiscard]] Clauses ownership_clauses();
[[nodiscard]] Clauses crash_clauses();
[[nodiscard]] Clauses corruption_clauses();
[[nodiscard]] Clauses size_clauses();
[[nodiscard]] Clauses upgrade_clauses();
[[nodiscard]] Clauses retention_clauses();
[[nodiscard]] Clauses replacing_clauses();
[[nodiscard]] Clauses key_space_clauses();
[[nodiscard]] Clauses security_clauses();
[[nodiscard]] Clauses all_clauses();

}  // namespace triage::inline v0_1::testing::kit
