// SPDX-License-Identifier: MIT
// Cancellation, deadlines, limits and hooks of a run.
#include "support/kit.hpp"
#include "support/result.hpp"
#include "triage/policies/rate_limiter.hpp"

using namespace triage;
using namespace triage::test;
using namespace std::chrono_literals;

TEST_CASE("a run cancelled before it starts calls nothing and classifies nothing", "[cancel]") {
  Kit kit;
  const bool stored = GENERATE(true, false);
  std::stop_source stop;
  stop.request_stop();
  int calls = 0;
  const TriageAgent agent{[&](const std::string&) { return ++calls; }, retrying(),
                          stored ? kit.options() : kit.bare()};
  const auto result = agent.run("x", {.run_id = "r", .stop_token = stop.get_token()});
  CHECK_ERRC(Errc::cancelled, result);
  CHECK_FALSE(result.error().failure());
  CHECK(calls == 0);
  CHECK(kit.classifier->calls == 0);
  CHECK(kit.log->count(EventKind::run_cancelled) == 1);
  if (stored) CHECK(kit.store->run("r").value().status == RunStatus::cancelled);
}

TEST_CASE("a failure of a cancelled attempt is not classified, and what it recorded is stored",
          "[cancel]") {
  Kit kit;
  std::stop_source stop;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) -> int {
                            attempt.record_step({.action = "one"});
                            stop.request_stop();
                            CHECK(attempt.stop_token().stop_requested());
                            throw std::runtime_error("timeout");
                          },
                          retrying(), kit.options()};
  CHECK_ERRC(Errc::cancelled, agent.run("x", {.run_id = "r", .stop_token = stop.get_token()}));
  CHECK(kit.classifier->calls == 0);
  CHECK(kit.log->count(EventKind::failure_classified) == 0);
  CHECK(kit.store->latest("r").value().trajectory.size() == 1);
  CHECK(kit.store->run("r").value().status == RunStatus::cancelled);
}

TEST_CASE("a classifier that takes its time learns how much there is, and of a cancellation",
          "[cancel][deadline]") {
  class Slow final : public Classifier {
   public:
    explicit Slow(std::stop_source stop) : stop_(std::move(stop)) {}
    Classification classify(const ClassifierInput& input) override {
      CHECK(input.remaining == 7s);
      CHECK_FALSE(input.stop_token.stop_requested());
      stop_.request_stop();
      CHECK(input.stop_token.stop_requested());
      ++calls;
      return {};
    }
    int calls = 0;

   private:
    std::stop_source stop_;
  };
  Kit kit;
  const std::stop_source stop;
  const auto slow = std::make_shared<Slow>(stop);
  AgentOptions options = kit.options();
  options.classifier = slow;
  const TriageAgent agent{[&](const std::string&) -> int {
                            kit.clock->advance(3s);
                            throw std::runtime_error("odd");
                          },
                          retrying(), options};
  const auto result =
      agent.run("x", {.deadline = kit.clock->now() + 10s, .stop_token = stop.get_token()});
  CHECK_ERRC(Errc::cancelled, result);
  CHECK(slow->calls == 1);
}

TEST_CASE("a value that was made in spite of a cancellation is returned", "[cancel]") {
  std::stop_source stop;
  const TriageAgent agent{[&](const std::string&) {
                            stop.request_stop();
                            return 5;
                          },
                          retrying(), Kit().bare()};
  CHECK(agent.run("x", {.stop_token = stop.get_token()}).value() == 5);
}

TEST_CASE("no attempt is started after the deadline", "[deadline]") {
  Kit kit;
  const bool stored = GENERATE(true, false);
  int calls = 0;
  int asked = 0;
  AgentOptions options = stored ? kit.options() : kit.bare();
  options.hooks.on_escalate = [&](const FailureContext&) {
    ++asked;
    return std::nullopt;
  };
  const TriageAgent agent{[&](const std::string&) -> int {
                            ++calls;
                            kit.clock->advance(10s);
                            throw std::runtime_error("external_fault");
                          },
                          retrying(), options};
  SECTION("it passed before the run") {
    const auto result = agent.run("x", {.deadline = kit.clock->now() - 1s});
    CHECK_ERRC(Errc::escalated, result);
    CHECK(calls == 0);
    CHECK(asked == 1);
    CHECK(result.error().failure()->type() == FailureType::timeout);
    CHECK(result.error().failure()->classification.reason == "deadline");
  }
  SECTION("it passes during an attempt") {
    const auto result = agent.run("x", {.deadline = kit.clock->now() + 5s});
    CHECK_ERRC(Errc::escalated, result);
    CHECK(calls == 1);
    CHECK(asked == 1);
    CHECK_THAT(result.error().detail, ContainsSubstring("deadline"));
    CHECK(*result.error().failure()->remaining == -5s);
    CHECK(result.error().failure()->elapsed == 10s);
  }
}

TEST_CASE("a call that a gate would hold beyond the deadline is refused at once",
          "[deadline][gates]") {
  Kit kit;
  AgentOptions options = kit.bare();
  options.gates = {RateLimiter::create({.permits = 1, .period = 10s}).value()};
  const TriageAgent agent{[](const std::string&, Attempt& attempt) -> Result<int> {
                            for (int call = 0; call < 2; ++call) {
                              const auto permit = attempt.enter("search");
                              if (!permit) return permit.error();
                            }
                            return 1;
                          },
                          answers({RecoveryAction::escalate()}), options};
  const auto late = agent.run("x", {.deadline = kit.clock->now() + 9s});
  CHECK_ERRC(Errc::escalated, late);
  CHECK(late.error().failure()->classification.reason == "gate_wait");
  CHECK(late.error().failure()->classification.retry_after == 10s);
  CHECK(kit.clock->waits.empty());
}

TEST_CASE("elapsed time, tokens and cost are limits", "[limits]") {
  Kit kit;
  const bool stored = GENERATE(true, false);
  AgentOptions options = stored ? kit.options() : kit.bare();
  int calls = 0;
  std::string expected;
  int expected_calls = 0;
  SECTION("elapsed") {
    options.limits.max_elapsed = 25s;
    expected = "max_elapsed (25";
    expected_calls = 3;
  }
  SECTION("tokens") {
    options.limits.max_tokens = 150;
    expected = "max_tokens (150) reached: used 200";
    expected_calls = 2;
  }
  SECTION("cost") {
    options.limits.max_cost_usd = 0.15;
    expected = "max_cost_usd (0.15";
    expected_calls = 2;
  }
  const TriageAgent agent{
      [&](const std::string&, Attempt& attempt) -> int {
        ++calls;
        kit.clock->advance(10s);
        attempt.record_usage({.input_tokens = 60, .output_tokens = 40, .cost_usd = 0.10});
        throw std::runtime_error("timeout");
      },
      retrying(), options};
  const auto result = agent.run("x");
  CHECK_ERRC(Errc::escalated, result);
  CHECK_THAT(result.error().detail, ContainsSubstring(expected));
  CHECK(calls == expected_calls);
}

TEST_CASE("limits out of range are refused, naming field, value and range", "[limits]") {
  struct Row {
    Limits limits;
    const char* field;
    const char* value;
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Row row = GENERATE_COPY(values<Row>({
      {{.max_attempts = 0}, "max_attempts", "0"},
      {{.max_attempts = -3}, "max_attempts", "-3"},
      {{.max_attempts = 1'000'001}, "max_attempts", "1000001"},
      {{.max_attempts_per_type = 0}, "max_attempts_per_type", "0"},
      {{.max_elapsed = -1ns}, "max_elapsed", "-1"},
      {{.max_cost_usd = -0.5}, "max_cost_usd", "-0.5"},
      {{.max_cost_usd = nan}, "max_cost_usd", "nan"},
  }));
  const auto checked = check_limits(row.limits);
  CHECK_ERRC(Errc::invalid_argument, checked);
  CHECK_THAT(checked.error().detail, ContainsSubstring(row.field) && ContainsSubstring(row.value) &&
                                         ContainsSubstring("allowed is"));
  Kit kit;
  const TriageAgent agent{[](const std::string&) { return 1; }, retrying(), kit.bare()};
  CHECK_ERRC(Errc::invalid_argument, agent.run("x", {.limits = row.limits}));
  AgentOptions options = kit.bare();
  options.limits = row.limits;
  const TriageAgent bad{[](const std::string&) { return 1; }, retrying(), options};
  CHECK_ERRC(Errc::invalid_argument, bad.run("x"));
}

TEST_CASE("a per-run option wins over the agent's", "[limits]") {
  Kit kit;
  AgentOptions options = kit.options();
  options.limits.max_attempts = 2;
  int calls = 0;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) -> int {
                            ++calls;
                            attempt.record_step({.action = "s"});
                            throw std::runtime_error("timeout");
                          },
                          retrying(), options};
  const auto other = MemoryStore::create();
  CHECK_ERRC(Errc::escalated, agent.run("x", {.run_id = "r",
                                              .limits = Limits{.max_attempts = 4},
                                              .store = other,
                                              .auto_checkpoint = false,
                                              .label = "mine"}));
  CHECK(calls == 4);
  CHECK_ERRC(Errc::not_found, kit.store->run("r"));
  CHECK(other->run("r").value().label == "mine");
  CHECK(other->runs({.label = "mine"}).value().size() == 1);
  CHECK(other->checkpoints("r").value().empty());
}

TEST_CASE("hooks see the failure and the action, in order, and nothing on success", "[hooks]") {
  Kit kit;
  std::vector<std::string> order;
  AgentOptions options = kit.bare();
  options.hooks.on_failure = [&](const FailureContext& c) { order.push_back("failure " + c.text); };
  options.hooks.on_recovery = [&](const FailureContext&, const RecoveryAction& a) {
    order.push_back("recovery " + std::string(to_string(a.kind)));
  };
  options.hooks.on_escalate = [&](const FailureContext&) {
    order.push_back("escalate");
    return std::nullopt;
  };
  const TriageAgent agent{[](const std::string& task, Attempt& attempt) {
                            if (task == "bad" || attempt.number() > 1) {
                              throw std::runtime_error("timeout");
                            }
                            return 1;
                          },
                          answers({RecoveryAction::replan(), RecoveryAction::escalate()}), options};
  REQUIRE_OK(agent.run("good"));
  CHECK(order.empty());
  CHECK_ERRC(Errc::escalated, agent.run("bad"));
  CHECK(order == std::vector<std::string>{"failure timeout", "recovery replan", "failure timeout",
                                          "escalate", "recovery escalate"});
}

TEST_CASE("on_escalate may replace an escalation, but cannot talk a limit away", "[hooks]") {
  Kit kit;
  AgentOptions options = kit.bare();
  options.limits.max_attempts = 3;
  int asked = 0;
  std::optional<RecoveryAction> instead = RecoveryAction::retry("once more");
  options.hooks.on_escalate = [&](const FailureContext&) {
    ++asked;
    return instead;
  };
  int calls = 0;
  const auto first = GENERATE(as<RecoveryAction>{}, RecoveryAction::escalate(),
                              RecoveryAction::rollback(), RecoveryAction::retry("", 10s));
  const TriageAgent agent{[&](const std::string&) -> int {
                            ++calls;
                            throw std::runtime_error("timeout");
                          },
                          answers({first}), options};
  SECTION("re-running stops at the limit") {
    const auto result = agent.run("x", {.deadline = kit.clock->now() + 5s});
    CHECK_ERRC(Errc::escalated, result);
    CHECK(calls == 3);
    CHECK(asked == 3);
    CHECK_THAT(result.error().detail, ContainsSubstring("max_attempts (3)"));
    CHECK_THAT(result.error().failure()->notes.at(0), ContainsSubstring("on_escalate asked"));
  }
  SECTION("an answer that runs nothing is taken") {
    instead = RecoveryAction::fallback(7);
    const auto result = agent.run("x", {.deadline = kit.clock->now() + 5s});
    CHECK(result.value() == 7);
    CHECK(is_degraded(result));
    CHECK(asked == 1);
  }
  SECTION("an impossible replacement is not asked about again") {
    instead = RecoveryAction::rollback();
    CHECK_ERRC(Errc::escalated, agent.run("x", {.deadline = kit.clock->now() + 5s}));
    CHECK(asked == 1);
    CHECK(calls == 1);
  }
}

TEST_CASE("on_escalate is not asked on success or abort", "[hooks]") {
  Kit kit;
  int asked = 0;
  AgentOptions options = kit.bare();
  options.hooks.on_escalate = [&](const FailureContext&) {
    ++asked;
    return std::nullopt;
  };
  const TriageAgent agent{[](const std::string&) -> int { throw std::runtime_error("timeout"); },
                          answers({RecoveryAction::abort("give up")}), options};
  const auto result = agent.run("x");
  CHECK_ERRC(Errc::aborted, result);
  CHECK(result.error().detail == "give up");
  CHECK(asked == 0);
}

TEST_CASE("history holds earlier failures only, as frozen snapshots", "[hooks]") {
  Kit kit;
  const bool stored = GENERATE(true, false);
  std::vector<FailureContext> contexts;
  FailurePolicy policy;
  policy.otherwise([&](const FailureContext& context) {
    contexts.push_back(context);
    return contexts.size() < 3 ? RecoveryAction::replan() : RecoveryAction::escalate();
  });
  const TriageAgent agent{[](const std::string&, Attempt& attempt) -> int {
                            throw std::runtime_error(attempt.number() == 2 ? "refused" : "timeout");
                          },
                          policy, stored ? kit.options() : kit.bare()};
  const auto result = agent.run("the task");
  CHECK_ERRC(Errc::escalated, result);
  REQUIRE(contexts.size() == 3);
  const auto replan = RecoveryAction::Kind::replan;
  CHECK(contexts[0].history.empty());
  CHECK(contexts[1].history == std::vector<HistoryEntry>{{FailureType::timeout, replan, "named"}});
  CHECK(contexts[2].history == std::vector<HistoryEntry>{{FailureType::timeout, replan, "named"},
                                                         {FailureType::refused, replan, "named"}});
  CHECK(contexts[2].occurrence() == 2);
  CHECK(contexts[2].attempt_number == 3);
  CHECK(result.error().failure()->history == contexts[2].history);
  CHECK(result.error().failure()->task == "the task");
}

TEST_CASE("a fallback is marked as degraded, also when it is asked for again", "[hooks]") {
  Kit kit;
  const TriageAgent agent{[](const std::string&) -> int { throw std::runtime_error("timeout"); },
                          answers({RecoveryAction::fallback(3)}), kit.options()};
  const auto result = agent.run("x", {.run_id = "r"});
  CHECK(result.value() == 3);
  CHECK(is_degraded(result));
  const auto again = agent.run("x", {.run_id = "r"});
  CHECK(again.value() == 3);
  CHECK(is_degraded(again));
  const TriageAgent wrong{[](const std::string&) -> int { throw std::runtime_error("timeout"); },
                          answers({RecoveryAction::fallback("text")}), kit.bare()};
  CHECK_ERRC(Errc::escalated, wrong.run("x"));
}

TEST_CASE("a retry may start from a state, which must be storable", "[hooks]") {
  Kit kit;
  RecoveryAction action = RecoveryAction::retry();
  action.value = std::make_shared<const Json>(Json{{"seed", 4}});
  const TriageAgent agent{[](const std::string&, Attempt& attempt) {
                            if (attempt.number() == 1) throw std::runtime_error("timeout");
                            return attempt.state().value("seed", 0);
                          },
                          answers({action}), kit.options()};
  CHECK(agent.run("x").value() == 4);
  Json deep = 1;
  for (int i = 0; i < 1000; ++i) deep = Json::array({std::move(deep)});
  action.value = std::make_shared<const Json>(Json{{"deep", deep}});
  const TriageAgent bad{[](const std::string&) -> int { throw std::runtime_error("timeout"); },
                        answers({action}), Kit().options()};
  const auto result = bad.run("x");
  CHECK_ERRC(Errc::escalated, result);
  CHECK_THAT(result.error().detail, ContainsSubstring("256"));
}
