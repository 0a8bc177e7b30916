// SPDX-License-Identifier: MIT
// A store kept busy by others: a lock that was never acquired means that nothing was written.
#include "support/catch.hpp"
#include "support/result.hpp"
#include "support/unstored_results.hpp"
#include "triage/agent.hpp"
#include "triage/stores/memory.hpp"

#include <algorithm>
#include <utility>

using namespace triage;
using namespace triage::test;

namespace {

// Time passes only during sleeps.
class StillClock final : public Clock {
 public:
  TimePoint now() override { return now_; }
  WallTime wall_now() override { return WallTime(std::chrono::hours(1)); }
  bool sleep_until(TimePoint when, std::stop_token stop) override {
    now_ = std::max(now_, when);
    return !stop.stop_requested();
  }

 private:
  TimePoint now_{};
};

}  // namespace

TEST_CASE("an effect whose result had to wait for the store's lock is done, not in doubt",
          "[stores][busy]") {
  int paid = 0;
  const auto store = std::make_shared<UnstoredResults>(
      MemoryStore::create(), Error{Errc::busy, "somebody else has the lock"}, 10);
  const TriageAgent agent{
      [&](const std::string&, Attempt& attempt) {
        return attempt.effect("pay", [&] { return ++paid; });
      },
      FailurePolicy().otherwise(
          Strategy("none", [](const FailureContext&) { return RecoveryAction::escalate(); })),
      {.store = store, .clock = std::make_shared<StillClock>()}};
  const auto result = agent.run(std::string("x"), {.run_id = "run-1"});
  REQUIRE_OK(result);
  CHECK(result.value() == 1);
  CHECK(store->run("run-1").value().status == RunStatus::finished);
}
