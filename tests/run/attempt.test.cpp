// SPDX-License-Identifier: MIT
// What a callable can record, and what its mistakes lead to.
#include "triage/attempt.hpp"

#include "support/catch.hpp"
#include "support/kit.hpp"
#include "support/result.hpp"
#include "triage/detail/own_checkpoint.hpp"

#include <barrier>
#include <thread>
#include <vector>

using namespace triage;
using namespace triage::test;

namespace {

// Runs `record` as the only attempt; returns the run's error.
Error error_of(const std::function<void(Attempt&)>& record, AgentOptions options) {
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            record(attempt);
                            return 1;
                          },
                          escalating(), std::move(options)};
  const auto result = agent.run("x");
  REQUIRE(result.has_error());
  return result.error();
}

Json deep(int levels) {
  Json value = 1;
  for (int i = 0; i < levels; ++i) value = Json::array({std::move(value)});
  return value;
}

struct Position {
  int page = 0;
  std::string name{};
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Position, page, name)

}  // namespace

TEST_CASE("state is merged by top-level key, removed, replaced, and read as a type", "[attempt]") {
  const TriageAgent agent{[](const std::string&, Attempt& attempt) {
                            CHECK(attempt.state().empty());
                            CHECK(attempt.state<Position>().page == 0);
                            attempt.update_state({{"page", 1}, {"name", "a"}});
                            attempt.update_state({{"page", 2}});
                            CHECK(attempt.state<Position>().page == 2);
                            CHECK(attempt.state<Position>().name == "a");
                            attempt.remove_state("name");
                            attempt.remove_state("never there");
                            CHECK(attempt.state().json() == Json{{"page", 2}});
                            attempt.update_state(Position{7, "typed"});
                            CHECK(attempt.state().value("name", std::string()) == "typed");
                            attempt.replace_state({{"only", true}});
                            CHECK(attempt.state().json() == Json{{"only", true}});
                            attempt.update_state(Json::object());
                          },
                          escalating()};
  REQUIRE_OK(agent.run("x"));
}

TEST_CASE("steps may be recorded from several threads of one callable", "[attempt]") {
  Kit kit;
  const auto mode = GENERATE(WriteMode::deferred, WriteMode::immediate, WriteMode::background);
  AgentOptions options = kit.options();
  options.write_mode = mode;
  const TriageAgent agent{[](const std::string&, Attempt& attempt) {
                            std::vector<std::thread> threads;
                            for (int t = 0; t < 4; ++t) {
                              threads.emplace_back([&attempt, t] {
                                const std::string key = "k" + std::to_string(t);
                                for (int i = 0; i < 50; ++i) {
                                  attempt.record_step({.action = key});
                                  Json patch = Json::object();
                                  patch[key] = i;
                                  attempt.update_state(patch);
                                  if (i % 25 == 0) attempt.record_usage({.input_tokens = 1});
                                }
                              });
                            }
                            for (std::thread& thread : threads) thread.join();
                          },
                          escalating(), options};
  REQUIRE_OK(agent.run("x", {.run_id = "r"}));
  const Journal journal = stored_journal(*kit.store, "r");
  CHECK(journal.trajectory().size() == 200);
  CHECK(journal.usage().input_tokens == 8);
  for (int t = 0; t < 4; ++t) CHECK(journal.state().value("k" + std::to_string(t), -1) == 49);
}

TEST_CASE("a mistake in recording ends the run with an error that names it", "[attempt]") {
  Kit kit;
  const AgentOptions options = GENERATE(true, false) ? Kit().options() : Kit().bare();
  SECTION("a patch that is not an object") {
    const Error error = error_of(
        [](Attempt& a) {
          a.update_state(Json::array({"page", 1}));
        },
        options);
    CHECK(error.code == Errc::invalid_argument);
    CHECK_THAT(error.detail, ContainsSubstring("must be a JSON object") &&
                                 ContainsSubstring("array") && ContainsSubstring("page"));
  }
  SECTION("a state that is not an object") {
    const Error error = error_of([](Attempt& a) { a.replace_state(Json(3)); }, options);
    CHECK(error.code == Errc::invalid_argument);
    CHECK_THAT(error.detail, ContainsSubstring("number"));
  }
  SECTION("NaN in the state") {
    const Error error = error_of(
        [](Attempt& a) {
          a.update_state({{"x", std::numeric_limits<double>::quiet_NaN()}});
        },
        options);
    CHECK(error.code == Errc::invalid_argument);
    CHECK_THAT(error.detail, ContainsSubstring("NaN"));
  }
  SECTION("JSON deeper than 256") {
    const Error error = error_of([](Attempt& a) { a.update_state({{"x", deep(300)}}); }, options);
    CHECK_THAT(error.detail, ContainsSubstring("256"));
  }
  SECTION("a very deep tool output") {
    const Error error = error_of(
        [](Attempt& a) { a.record_step({.action = "s", .tool_output = deep(100'000)}); }, options);
    CHECK(error.code == Errc::invalid_argument);
    CHECK_THAT(error.detail, ContainsSubstring("tool_output") && ContainsSubstring("256"));
  }
  SECTION("a binary tool output") {
    const Error error = error_of(
        [](Attempt& a) {
          a.record_step({.tool_output = Json::binary({1, 2, 3})});
        },
        options);
    CHECK_THAT(error.detail, ContainsSubstring("binary"));
  }
  SECTION("a cost that is not a number") {
    const Error error = error_of([](Attempt& a) { a.record_usage({.cost_usd = -1.0}); }, options);
    CHECK_THAT(error.detail, ContainsSubstring("cost_usd") && ContainsSubstring("-1"));
  }
}

TEST_CASE("the first mistake sticks, what was recorded stays, and attempt.error() tells it",
          "[attempt]") {
  Kit kit;
  const TriageAgent agent{[](const std::string&, Attempt& attempt) {
                            attempt.record_step({.action = "good"});
                            CHECK_FALSE(attempt.error().has_value());
                            attempt.update_state(Json(1));
                            attempt.replace_state(Json("two"));
                            REQUIRE(attempt.error().has_value());
                            CHECK_THAT(attempt.error()->detail, ContainsSubstring("state patch"));
                            attempt.record_step({.action = "also good"});
                          },
                          escalating(), kit.options()};
  CHECK_ERRC(Errc::invalid_argument, agent.run("x", {.run_id = "r"}));
  CHECK(kit.classifier->calls == 0);  // The library's error is not a failure of the agent.
  CHECK(kit.store->run("r").value().status == RunStatus::failed);
  CHECK(kit.store->latest("r").value().trajectory.size() == 2);
}

TEST_CASE("tool outputs may hold NaN and text that is not UTF-8, and keep them", "[attempt]") {
  Kit kit;
  const std::string bytes = "\xff\xfe caf\xe9";
  const TriageAgent agent{
      [&](const std::string&, Attempt& attempt) {
        attempt.record_step(
            {.action = bytes,
             .tool_output = {{"n", std::numeric_limits<double>::infinity()}, {"text", bytes}}});
        attempt.update_state({{"text", bytes}});
      },
      escalating(), kit.options()};
  REQUIRE_OK(agent.run("x", {.run_id = "r"}));
  const Checkpoint latest = kit.store->latest("r").value();
  CHECK(latest.trajectory[0].action == bytes);
  CHECK(latest.trajectory[0].tool_output.at("text").get<std::string>() == bytes);
  CHECK(latest.state.value("text", std::string()) == bytes);
}

TEST_CASE("checkpoints of the library itself have names that users cannot give or see",
          "[attempt]") {
  const Kit kit;
  const TriageAgent agent{[](int, Attempt& attempt) {
                            REQUIRE_OK(attempt.checkpoint("mine"));
                            REQUIRE_OK(detail::own_checkpoint(attempt, "triage/of-a-test"));
                            const auto refused = attempt.checkpoint("triage/of-a-test");
                            CHECK_ERRC(Errc::invalid_argument, refused);
                            CHECK_THAT(refused.error().detail,
                                       ContainsSubstring("a checkpoint's label is \"triage/of-a-"));
                            return 1;
                          },
                          FailurePolicy(), kit.options()};
  REQUIRE_OK(agent.run(1, {.run_id = "r"}));
  const auto listed = kit.store->checkpoints("r");
  REQUIRE_OK(listed);
  std::vector<std::pair<std::string, std::string>> names;
  for (const CheckpointInfo& one : listed.value()) names.emplace_back(one.label, one.trigger);
  CHECK(names == std::vector<std::pair<std::string, std::string>>{{"mine", ""}, {"", "of-a-test"}});
}

TEST_CASE("calls after the callable returned do nothing and are counted", "[attempt]") {
  Kit kit;
  Attempt* kept = nullptr;
  AgentOptions options = kit.options();
  options.hooks.on_failure = [&](const FailureContext&) {  // After the first attempt has ended.
    kept->record_step({.action = "late"});
    kept->update_state({{"late", true}});
    CHECK_ERRC(Errc::invalid_argument, kept->checkpoint("late"));
    CHECK_ERRC(Errc::invalid_argument, kept->try_effect("late", [] { return 1; }));
    CHECK(kept->trajectory().empty());  // Only an open attempt has a trajectory.
    CHECK(kept->state().empty());
    CHECK_FALSE(kept->error());
  };
  FailurePolicy policy;
  policy.otherwise(always(RecoveryAction::retry()));
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            if (attempt.number() == 1) {
                              kept = &attempt;
                              attempt.record_step({.action = "in time"});
                              attempt.update_state({{"in", "time"}});
                              throw std::runtime_error("timeout");
                            }
                            CHECK(kept->recovery() == nullptr);
                            kept->record_step({.action = "from attempt 1, in attempt 2"});
                            return attempt.trajectory().size();
                          },
                          policy, options};
  CHECK(agent.run("x", {.run_id = "r"}).value() == 0);
  CHECK(kit.log->count(EventKind::late_call) == 1);
  CHECK(kit.log->last(EventKind::late_call).number == 5);
  CHECK(kit.store->latest("r").value().trajectory.empty());
}

TEST_CASE("threads that are the first to record anything in a run lose nothing", "[attempt]") {
  constexpr int threads = 4;
  const TriageAgent agent{[](const int&, Attempt& attempt) {
                            std::barrier together(threads);
                            std::vector<std::thread> all;
                            std::vector<std::string> ids(threads);
                            for (std::size_t t = 0; t < threads; ++t) {
                              all.emplace_back([&, t] {
                                together.arrive_and_wait();
                                attempt.record_step({.action = "first"});
                                ids[t] = attempt.run_id();
                              });
                            }
                            for (std::thread& thread : all) thread.join();
                            for (const std::string& id : ids) CHECK(id == attempt.run_id());
                            return attempt.trajectory().size();
                          },
                          escalating()};
  for (int run = 0; run < 50; ++run) CHECK(agent.run(run).value() == threads);
}

TEST_CASE("a step is moved from only if it is given away", "[attempt]") {
  const std::string text(100, 'x');
  Step kept{.action = text};
  Step given{.action = text};
  const TriageAgent agent{[&](const int&, Attempt& attempt) {
                            attempt.record_step(kept);
                            attempt.record_step(std::move(given));
                            return attempt.trajectory();
                          },
                          escalating()};
  const Trajectory steps = agent.run(1).value();
  CHECK(steps[0].action == text);
  CHECK(steps[1].action == text);
  CHECK(kept.action == text);
}

TEST_CASE("AttemptStopped ends the attempt even if it is swallowed", "[attempt]") {
  Kit kit;
  int paid = 0;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            if (attempt.number() == 1) {
                              attempt.effect("pay", [&]() -> int {
                                ++paid;
                                throw std::runtime_error("timeout");
                              });
                            }
                            try {
                              attempt.effect("pay", [&] { return ++paid; });
                            } catch (...) {}
                            return 42;  // Discarded.
                          },
                          answers({RecoveryAction::retry()}), kit.options()};
  CHECK_ERRC(Errc::in_doubt, agent.run("x"));
  CHECK(paid == 1);
}

TEST_CASE("AttemptStopped for want of time ends the attempt even if it is swallowed", "[attempt]") {
  Kit kit;
  const bool sleeps = GENERATE(true, false);
  int paid = 0;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            kit.clock->advance(std::chrono::hours(2));
                            try {
                              if (sleeps) {
                                attempt.sleep_until(kit.clock->wall_now() + std::chrono::hours(1));
                              } else {
                                attempt.effect("pay", [&] { return ++paid; });
                              }
                            } catch (...) {}
                            return 42;  // Discarded.
                          },
                          answers({RecoveryAction::retry()}), kit.options()};
  const auto late = agent.run("x", {.deadline = kit.clock->now() + std::chrono::hours(1)});
  CHECK_ERRC(Errc::escalated, late);
  CHECK(late.error().failure()->type() == FailureType::timeout);
  CHECK(paid == 0);
}

TEST_CASE("an attempt that swallows the end of its own time fails by it", "[attempt]") {
  Kit kit;
  AgentOptions options = kit.options();
  options.attempt_timeout = std::chrono::seconds(10);
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            if (attempt.number() == 2) return 7;
                            kit.clock->advance(std::chrono::minutes(1));
                            try {
                              attempt.effect("pay", [] { return 1; });
                            } catch (...) {}
                            return 42;  // Discarded.
                          },
                          answers({RecoveryAction::retry()}), options};
  CHECK(agent.run("x").value() == 7);
}

TEST_CASE("AttemptStopped thrown by hand is a failure of the attempt", "[attempt]") {
  const TriageAgent agent{[](const std::string&) -> int { throw AttemptStopped{}; }, escalating(),
                          Kit().bare()};
  const auto result = agent.run("x");
  CHECK_ERRC(Errc::escalated, result);
  CHECK_THAT(result.error().detail, ContainsSubstring("stopped"));
}

TEST_CASE("attempt.fail carries its facts to the classifier and the context", "[attempt]") {
  Kit kit;
  const TriageAgent agent{
      [](const std::string&, Attempt& attempt) -> Result<int> {
        return attempt.fail({.text = "no luck", .exception_type = "HTTPError", .http_status = 503});
      },
      escalating(), kit.bare()};
  const auto result = agent.run("x");
  CHECK_ERRC(Errc::escalated, result);
  const auto& failure = result.error().failure();
  REQUIRE(failure);
  CHECK(failure->type() == FailureType::external_fault);
  CHECK(failure->classification.reason == "overloaded");
  CHECK(failure->exception_type == "HTTPError");
  CHECK(failure->text == "no luck");
}

TEST_CASE("a failure that names its type is not classified again", "[attempt]") {
  Kit kit;
  const TriageAgent agent{[](const std::string&, Attempt& attempt) -> Result<int> {
                            return attempt.fail({.text = "HTTP 503",
                                                 .retry_after = std::chrono::seconds(3),
                                                 .type = FailureType::refused,
                                                 .reason = "policy"});
                          },
                          escalating(), kit.bare()};
  const auto result = agent.run("x");
  CHECK_ERRC(Errc::escalated, result);
  CHECK(kit.classifier->calls == 0);
  CHECK(result.error().failure()->type() == FailureType::refused);
  CHECK(result.error().failure()->classification.retry_after == std::chrono::seconds(3));
}
