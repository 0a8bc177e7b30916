// SPDX-License-Identifier: MIT
// What a run keeps when it continues, for every path: a table of paths and properties. Deadlines,
// limits, stop tokens and working time survive on each.
#include "resume/durable.hpp"

using namespace triage;
using namespace triage::test;
using namespace std::chrono_literals;

namespace {

constexpr auto standing_still = 2h;

// An agent that stops in its first attempt in the way a path requires, and fails after a minute of
// work in every later call.
struct Stage {
  enum class Stop : std::uint8_t { fails, asks, waits_long, sleeps, awaits_signal, dies };

  DurableKit kit{};
  std::shared_ptr<MemoryStore> grave = MemoryStore::create();  // Of a process that died.
  Stop stop = Stop::fails;
  int calls = 0;
  std::vector<Duration> elapsed{};
  std::string checkpoint{};
  std::stop_source stopped{};
  int stop_after = -1;  // Calls after the first.
  WallTime due = kit.clock->wall_now() + standing_still;

  int work(Attempt& attempt) {
    ++calls;
    kit.clock->advance(1min);
    if (calls == 1) {
      attempt.record_step({.action = "one"});
      if (stop == Stop::fails || stop == Stop::dies) {
        checkpoint = to_string(attempt.checkpoint("here").value());
      }
      if (stop == Stop::dies) bury(attempt.run_id());
      if (stop == Stop::sleeps) attempt.sleep_until(due);
      if (stop == Stop::awaits_signal) static_cast<void>(attempt.wait("go", due + 2min));
    } else if (calls - 1 == stop_after) {
      stopped.request_stop();
    }
    throw std::runtime_error("timeout");
  }
  // Keeps the run's records so far, as if its process had died now.
  void bury(const RunId& run) const {
    const JournalReading reading = kit.store->read(run, {}).value();
    RunInfo info = reading.info;
    info.status = RunStatus::running;
    REQUIRE_OK(grave->release(grave->start(info, reading.records).value()));
  }
  RecoveryAction answer(const FailureContext& context) {
    elapsed.push_back(context.elapsed);
    if (calls > 1) return RecoveryAction::retry();
    switch (stop) {
      case Stop::asks: return asking_until(due);
      case Stop::waits_long: return RecoveryAction::retry("later", standing_still - 1min);
      default: return RecoveryAction::escalate();
    }
  }
  static RecoveryAction asking_until(WallTime due) {
    RecoveryAction action = asking();
    action.until = due;
    return action;
  }
  [[nodiscard]] auto agent(bool stored) {
    return TriageAgent{[this](const std::string&, Attempt& attempt) { return work(attempt); },
                       FailurePolicy().otherwise(
                           [this](const FailureContext& context) { return answer(context); }),
                       stored ? kit.on_disk() : kit.bare()};
  }
};

using Stop = Stage::Stop;
using Agent = decltype(std::declval<Stage&>().agent(true));
using How = Result<int> (*)(const Agent&, Stage&, const Result<int>& first, RunOptions given);

Result<int> only(Result<std::vector<ResumedRun<int>>> resumed) {
  REQUIRE(resumed.has_value());
  REQUIRE(resumed.value().size() == 1);
  return std::move(resumed.value()[0].result);
}

struct Path {
  const char* name;
  Stop stop;
  bool stored;
  bool own;  // A run keeps what it had; a branch has only what it is given.
  How resume;
};

const Path paths[] = {
    {"resume_run after an end without a result", Stop::fails, true, true,
     [](const Agent& agent, Stage&, const Result<int>&, RunOptions given) {
       return agent.resume_run("r", {.run = std::move(given)});
     }},
    {"resume_run after a crash", Stop::dies, true, true,
     [](const Agent& agent, Stage& stage, const Result<int>&, RunOptions given) {
       given.store = stage.grave;
       return agent.resume_run("r", {.run = std::move(given)});
     }},
    {"run_or_resume after a crash", Stop::dies, true, true,
     [](const Agent& agent, Stage& stage, const Result<int>&, RunOptions given) {
       given.store = stage.grave;
       return agent.run_or_resume("r", "x", {.run = std::move(given)});
     }},
    {"decide", Stop::asks, true, true,
     [](const Agent& agent, Stage&, const Result<int>& first, RunOptions given) {
       return agent.decide(token_of(first), RecoveryAction::retry(), {.run = std::move(given)});
     }},
    {"decide in memory", Stop::asks, false, true,
     [](const Agent& agent, Stage&, const Result<int>& first, RunOptions given) {
       return agent.decide(token_of(first), RecoveryAction::retry(), {.run = std::move(given)});
     }},
    {"resume_due of a suspension", Stop::asks, true, true,
     [](const Agent& agent, Stage&, const Result<int>&, RunOptions given) {
       return only(agent.resume_due(given));
     }},
    {"resume_due in memory", Stop::asks, false, true,
     [](const Agent& agent, Stage&, const Result<int>&, RunOptions given) {
       return only(agent.resume_due(given));
     }},
    {"run_or_resume of a run that is due", Stop::asks, true, true,
     [](const Agent& agent, Stage&, const Result<int>&, RunOptions given) {
       return agent.run_or_resume("r", "x", {.run = std::move(given)});
     }},
    {"run_or_resume of a run that is due in memory", Stop::asks, false, true,
     [](const Agent& agent, Stage&, const Result<int>&, RunOptions given) {
       return agent.run_or_resume("r", "x", {.run = std::move(given)});
     }},
    {"resume_due of a long wait between attempts", Stop::waits_long, true, true,
     [](const Agent& agent, Stage&, const Result<int>&, RunOptions given) {
       return only(agent.resume_due(given));
     }},
    {"resume_due of a sleep inside an attempt", Stop::sleeps, true, true,
     [](const Agent& agent, Stage&, const Result<int>&, RunOptions given) {
       return only(agent.resume_due(given));
     }},
    {"a signal", Stop::awaits_signal, true, true,
     [](const Agent& agent, Stage&, const Result<int>&, RunOptions given) {
       REQUIRE_OK(agent.signal("r", "go", 1));
       return only(agent.resume_due(given));
     }},
    {"fork", Stop::fails, true, false,
     [](const Agent& agent, Stage& stage, const Result<int>&, RunOptions given) {
       return agent.fork(stage.checkpoint, {.run = std::move(given)});
     }},
};

const Limits generous{.max_attempts = 50, .max_attempts_per_type = 50};

Limits at_most(int attempts) {
  Limits limits = generous;
  limits.max_attempts = attempts;
  return limits;
}

// The run starts with `own`, stops for two hours, and continues with `given`.
Result<int> goes_on(const Path& path, Stage& stage, RunOptions own, RunOptions given) {
  stage.stop = path.stop;
  const auto agent = stage.agent(path.stored);
  own.run_id = "r";
  const auto first = agent.run("x", own);
  REQUIRE_FALSE(first.has_value());
  REQUIRE(stage.calls == 1);
  stage.kit.clock->advance(standing_still);
  return path.resume(agent, stage, first, std::move(given));
}

}  // namespace

TEST_CASE("whichever way a run goes on, its own limits hold", "[paths]") {
  for (const Path& path : paths) {
    if (!path.own) continue;
    INFO(path.name);
    Stage stage;
    const auto result = goes_on(path, stage, {.limits = at_most(4)}, {});
    CHECK_ERRC(Errc::escalated, result);
    CHECK_THAT(result.error().detail, ContainsSubstring("max_attempts (4)"));
    // An attempt that was suspended while waiting does not count.
    const bool waited = path.stop == Stop::sleeps || path.stop == Stop::awaits_signal;
    CHECK(stage.calls == (waited ? 5 : 4));
  }
}

TEST_CASE("whichever way a run goes on, limits that are given then win", "[paths]") {
  for (const Path& path : paths) {
    INFO(path.name);
    Stage stage;
    const auto result = goes_on(path, stage, {.limits = generous}, {.limits = at_most(3)});
    CHECK_ERRC(Errc::escalated, result);
    CHECK_THAT(result.error().detail, ContainsSubstring("max_attempts (3)"));
  }
}

TEST_CASE("whichever way a run goes on, its own deadline holds", "[paths]") {
  for (const Path& path : paths) {
    if (!path.own) continue;
    INFO(path.name);
    Stage stage;
    const TimePoint until = stage.kit.clock->now() + standing_still + 210s;
    const auto result = goes_on(path, stage, {.deadline = until, .limits = generous}, {});
    CHECK_ERRC(Errc::escalated, result);
    CHECK_THAT(result.error().detail, ContainsSubstring("the deadline has passed"));
    CHECK(stage.calls == 4);  // One of a minute, and three more, the last one past the limit.
  }
}

TEST_CASE("whichever way a run goes on, a deadline that is given then wins", "[paths]") {
  for (const Path& path : paths) {
    INFO(path.name);
    Stage stage;
    const TimePoint start = stage.kit.clock->now();
    const auto result = goes_on(path, stage, {.deadline = start + 100h, .limits = generous},
                                {.deadline = start + standing_still + 150s, .limits = generous});
    CHECK_ERRC(Errc::escalated, result);
    CHECK_THAT(result.error().detail, ContainsSubstring("the deadline has passed"));
    CHECK(stage.calls == 3);
  }
}

TEST_CASE("whichever way a run goes on, a stop token that is given then ends it", "[paths]") {
  for (const Path& path : paths) {
    for (const int stop_after : {0, 2}) {
      INFO(path.name << ", stopped after " << stop_after);
      Stage stage;
      stage.stop_after = stop_after;
      if (stop_after == 0) stage.stopped.request_stop();
      const auto result = goes_on(path, stage, {.limits = generous},
                                  {.stop_token = stage.stopped.get_token(), .limits = generous});
      CHECK_ERRC(Errc::cancelled, result);
      CHECK(stage.calls == 1 + stop_after);
    }
  }
}

TEST_CASE("whichever way a run goes on, time at work adds up and standing still does not count",
          "[paths]") {
  for (const Path& path : paths) {
    INFO(path.name);
    Stage stage;
    const auto result = goes_on(path, stage, {.limits = generous}, {.limits = at_most(4)});
    CHECK_ERRC(Errc::escalated, result);
    // The policy was also asked about the first attempt, unless that only waited.
    const bool waited = path.stop == Stop::sleeps || path.stop == Stop::awaits_signal;
    const std::size_t first = waited ? 0 : 1;
    REQUIRE(stage.elapsed.size() > first);
    CHECK(stage.elapsed[first] == (path.own ? Duration(2min) : Duration(1min)));
  }
}
