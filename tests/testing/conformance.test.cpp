// SPDX-License-Identifier: MIT
// The conformance kit ends whatever a store does, and says what was wrong.
#include "triage/testing/conformance.hpp"

#include "support/catch.hpp"
#include "triage/compaction.hpp"
#include "triage/forwarding_store.hpp"
#include "triage/stores/memory.hpp"

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>

using namespace triage;
using namespace triage::testing;

namespace {

// Passes everything on, except that …
class Awkward : public ForwardingStore, public CompactsRuns {
 public:
  Awkward() : ForwardingStore(MemoryStore::create()) {}
  ~Awkward() override { stop_queue(); }
  Result<void> replace(const Lease&, std::span<const SequenceRange>,
                       std::span<const Record>) override {
    throw std::runtime_error("it replaces nothing");
  }
};

class ThrowsAtTheTenth final : public Awkward {
 public:
  Result<void> append(const Lease& lease, std::span<const Record> records,
                      RunStatus status) override {
    if (++appended_ == 10) throw std::runtime_error("the tenth");
    return ForwardingStore::append(lease, records, status);
  }

 private:
  std::atomic<int> appended_{0};
};

class KeepsFirstValues final : public Awkward {
 public:
  Result<std::uint64_t> put_if(std::string_view space, std::string_view key, std::uint64_t expected,
                               std::string_view bytes) override {
    if (expected != 0) return Error{Errc::conflict, "somebody was faster"};
    return ForwardingStore::put_if(space, key, expected, bytes);
  }
};

template <class Store>
std::string problem_in(const char* clause) {
  const ConformanceReport report = conformance(
      [](const std::filesystem::path&) -> Result<std::shared_ptr<CheckpointStore>> {
        return outcome::success(std::shared_ptr<CheckpointStore>(std::make_shared<Store>()));
      },
      {.only = clause});
  REQUIRE(report.clauses.size() == 1);
  CHECK(report.clauses.front().outcome == ClauseOutcome::failed);
  return report.clauses.front().detail;
}

}  // namespace

TEST_CASE("clauses with several threads end if the store throws", "[conformance]") {
  CHECK(problem_in<ThrowsAtTheTenth>("concurrency/readers") == "it throws: the tenth");
  CHECK(problem_in<Awkward>("concurrency/replaced") == "it throws: it replaces nothing");
}

TEST_CASE("counting ends if every change of a key is a conflict", "[conformance]") {
  CHECK(problem_in<KeepsFirstValues>("concurrency/counting").find("conflict") != std::string::npos);
}
