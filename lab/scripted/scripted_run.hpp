// SPDX-License-Identifier: MIT
#pragma once
// One job of the scripted agent: what its attempts do step by step, and the outcome.

#include "lab/base/draws.hpp"
#include "lab/scripted/scripted_spec.hpp"

#include "triage/attempt.hpp"
#include "triage/failure.hpp"
#include "triage/lab/experiment_file.hpp"
#include "triage/lab/world.hpp"

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace triage::inline v0_1::lab::detail {

// A trouble, as it applies to one job.
struct MetTrouble {
  const Trouble* trouble = nullptr;
  FailureType type = FailureType::unknown;
  std::uint64_t step = 1;
  Failure failure{};
  bool noticed = false;  // It made an attempt fail.
  bool over = false;     // An attempt got past it.
};

// A job and its progress, across all lives of its process.
struct ScriptedJob {
  ScriptedJob(const ScriptedSetup& setup, std::uint64_t seed, std::uint64_t number);

  const ScriptedSetup& setup;
  std::uint64_t seed;
  std::uint64_t number;
  std::vector<MetTrouble> troubles{};
  std::vector<TimelineSpan>* spans = nullptr;  // Null: not recorded.
  int attempts = 0;
  std::uint64_t steps = 0;  // By all attempts.
  std::uint64_t tokens = 0;
  double usd = 0.0;
  std::uint64_t effects = 0;
  Duration began{0};
  std::optional<Duration> ended{};
  bool finished = false;
  bool degraded = false;  // It finished with a fallback's value, which no step produced.
  bool correct = false;
  bool broke = false;  // The next step would have exceeded the budget.
};

// One attempt of a job.
class ScriptedAttempt {
 public:
  // over: stopped when the budget is spent.
  ScriptedAttempt(ScriptedJob& job, const World& world, Process& self, Attempt& attempt,
                  std::stop_source& over)
      : job_(job), world_(world), self_(self), attempt_(attempt), over_(over) {}

  // Returns the number of correct steps: all of them, unless a fault stayed unnoticed.
  Result<std::uint64_t> go();

 private:
  // A step with a fault that is not noticed yet, and the trouble that caused it.
  using Spoilt = std::pair<std::uint64_t, std::uint64_t>;

  void get_past_troubles();
  [[nodiscard]] MetTrouble* noticed_now();
  void spoil(const MetTrouble& met);
  Result<std::uint64_t> walk();
  Result<std::uint64_t> make_step();
  Result<void> pay(std::uint64_t times);
  Result<std::uint64_t> act(const std::string& tool);
  Result<void> settle_effect();
  MetTrouble* trouble_here();
  Error fail_by(MetTrouble& met);
  void record(const std::string& tool, const MetTrouble* met);

  ScriptedJob& job_;
  const World& world_;
  Process& self_;
  Attempt& attempt_;
  std::stop_source& over_;
  std::uint64_t done_ = 0;
  std::uint64_t right_ = 0;
  std::vector<Spoilt> spoilt_{};
  std::string end_ = "killed";
};

}  // namespace triage::inline v0_1::lab::detail
