// SPDX-License-Identifier: MIT
// Bad input to an agent and its runs: errors name the problem, the value and what is allowed.
#include "support/kit.hpp"
#include "support/result.hpp"

#include <functional>

using namespace triage;
using namespace triage::test;

namespace {

int one(const std::string&) { return 1; }

struct Awkward {
  std::string text{};
};
[[maybe_unused]] void to_json(Json&, const Awkward&) { throw std::runtime_error("no JSON today"); }
[[maybe_unused]] void from_json(const Json&, Awkward&) {}

}  // namespace

TEST_CASE("a null callable is an error of every run", "[bad_input]") {
  const TriageAgent function{std::function<int(const std::string&)>(), escalating()};
  CHECK_ERRC(Errc::invalid_argument, function.run("x"));
  const TriageAgent pointer{static_cast<int (*)(const std::string&)>(nullptr), escalating()};
  const auto result = pointer.run("x");
  CHECK_ERRC(Errc::invalid_argument, result);
  CHECK_THAT(result.error().detail, ContainsSubstring("null"));
  CHECK_ERRC(Errc::invalid_argument, pointer.resume_run("r"));
}

TEST_CASE("a run id that is not allowed is refused, naming what is", "[bad_input]") {
  Kit kit;
  const TriageAgent agent{&one, escalating(), kit.options()};
  const std::string id = GENERATE(as<std::string>{}, ".hidden", "a b", "a/b", "caf\xc3\xa9",
                                  std::string(129, 'x'), std::string("a\0b", 3), "\xff");
  const auto result = agent.run("x", {.run_id = id});
  CHECK_ERRC(Errc::invalid_argument, result);
  CHECK_THAT(result.error().detail,
             ContainsSubstring("allowed are 1 to 128 of A-Z a-z 0-9 . _ : -"));
  CHECK_ERRC(Errc::invalid_argument, agent.resume_run(id));
  CHECK_ERRC(Errc::invalid_argument, agent.run_or_resume(id, "x"));
  CHECK(kit.store->runs({}).value().empty());
}

TEST_CASE("labels are bounded, and an empty one of a checkpoint is refused", "[bad_input]") {
  Kit kit;
  const TriageAgent agent{[](const std::string&, Attempt& attempt) {
                            CHECK_ERRC(Errc::invalid_argument, attempt.checkpoint(""));
                            const auto huge = attempt.checkpoint(std::string(10'000'000, 'l'));
                            CHECK_ERRC(Errc::invalid_argument, huge);
                            CHECK_THAT(huge.error().detail, ContainsSubstring("10000000") &&
                                                                ContainsSubstring("1 to 256"));
                            CHECK(huge.error().detail.size() < 1000);
                            REQUIRE_OK(attempt.checkpoint(std::string(256, 'l')));
                            REQUIRE_OK(attempt.checkpoint("not \xff UTF-8"));
                          },
                          escalating(), kit.options()};
  REQUIRE_OK(agent.run("x", {.run_id = "r", .label = std::string(256, 'l')}));
  CHECK(kit.store->checkpoints("r").value().size() == 2);
  const auto huge = agent.run("x", {.run_id = "r2", .label = std::string(10'000'000, 'l')});
  CHECK_ERRC(Errc::invalid_argument, huge);
  CHECK_THAT(huge.error().detail, ContainsSubstring("10000000") && ContainsSubstring("256"));
  CHECK_ERRC(Errc::not_found, kit.store->run("r2"));
}

TEST_CASE("an agent's name and queue are checked", "[bad_input]") {
  AgentOptions options = Kit().bare();
  SECTION("name") { options.name = "no spaces"; }
  SECTION("no name") { options.name = ""; }
  SECTION("empty queue") { options.queue_capacity = 0; }
  SECTION("endless queue") { options.queue_capacity = 1'000'001; }
  const auto result = TriageAgent{&one, escalating(), options}.run("x");
  CHECK_ERRC(Errc::invalid_argument, result);
  CHECK_THAT(result.error().detail, ContainsSubstring("allowed"));
}

TEST_CASE("a task that cannot be stored is refused before anything is stored", "[bad_input]") {
  Kit kit;
  const TriageAgent json{[](const Json&) { return 1; }, escalating(), kit.options()};
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto result = json.run({{"x", nan}}, {.run_id = "r"});
  CHECK_ERRC(Errc::invalid_argument, result);
  CHECK_THAT(result.error().detail, ContainsSubstring("task") && ContainsSubstring("NaN"));
  Json deep = 1;
  for (int i = 0; i < 100'000; ++i) deep = Json::array({std::move(deep)});
  CHECK_ERRC(Errc::invalid_argument, json.run(deep, {.run_id = "r"}));
  const TriageAgent awkward{[](const Awkward&) { return 1; }, escalating(), kit.options()};
  const auto threw = awkward.run(Awkward{}, {.run_id = "r"});
  CHECK_ERRC(Errc::invalid_argument, threw);
  CHECK_THAT(threw.error().detail, ContainsSubstring("no JSON today"));
  CHECK_ERRC(Errc::not_found, kit.store->run("r"));
}

TEST_CASE("a conversion of the task that throws does not hide the agent's failure", "[bad_input]") {
  const TriageAgent agent{[](const Awkward&) -> int { throw std::runtime_error("timeout"); },
                          escalating(), Kit().bare()};
  const auto result = agent.run(Awkward{});
  CHECK_ERRC(Errc::escalated, result);
  CHECK(result.error().failure()->text == "timeout");
  CHECK_THAT(result.error().failure()->task, ContainsSubstring("no JSON today"));
}

TEST_CASE("a result that cannot be stored is returned all the same", "[bad_input]") {
  Kit kit;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const TriageAgent agent{[&](const std::string&) { return nan; }, escalating(), kit.options()};
  CHECK(std::isnan(agent.run("x", {.run_id = "r"}).value()));
  const auto again = agent.run("x", {.run_id = "r"});
  CHECK_ERRC(Errc::unsupported, again);
  CHECK_THAT(again.error().detail, ContainsSubstring("NaN"));
}

TEST_CASE("a failure text of 10 MB with any bytes goes through", "[bad_input]") {
  Kit kit;
  const std::string text = std::string(10'000'000, '\xff');
  const TriageAgent agent{[&](const std::string&) -> int { throw std::runtime_error(text); },
                          escalating(), kit.options()};
  const auto result = agent.run("x", {.run_id = "r"});
  CHECK_ERRC(Errc::escalated, result);
  CHECK(result.error().failure()->text == text);
  CHECK_FALSE(stored_journal(*kit.store, "r").broken_at());
}

TEST_CASE("an exception without a text is a failure like any other", "[bad_input]") {
  struct Mute : std::exception {
    [[nodiscard]] const char* what() const noexcept override { return nullptr; }
  };
  Kit kit;
  AgentOptions options = kit.options();
  options.hooks.on_failure = [](const FailureContext&) { throw Mute(); };
  const TriageAgent agent{[](const std::string&) -> int {
                            try {
                              throw Mute();
                            } catch (...) {
                              std::throw_with_nested(Mute());
                            }
                          },
                          escalating(), options};
  const auto result = agent.run("x");
  CHECK_ERRC(Errc::escalated, result);
  CHECK_THAT(result.error().failure()->text, ContainsSubstring("without a text"));
}

TEST_CASE("an exception that should hold another one, and holds none, is a failure like any other",
          "[bad_input]") {
  // As thrown by a helper that is meant for catch blocks.
  const auto nest_nothing = [] { std::throw_with_nested(std::runtime_error("boom")); };
  AgentOptions options = Kit().bare();
  std::vector<std::string> texts;
  options.hooks.on_failure = [&](const FailureContext& failed) { texts.push_back(failed.text); };
  int calls = 0;
  const TriageAgent agent{
      [&](const std::string&) {
        if (++calls == 1) nest_nothing();
        try {
          if (calls == 2) nest_nothing();
        } catch (...) {
          std::throw_with_nested(std::runtime_error("outer"));
        }
        throw std::runtime_error("the end");
      },
      answers({RecoveryAction::retry(), RecoveryAction::retry(), RecoveryAction::escalate()}),
      options};
  CHECK_ERRC(Errc::escalated, agent.run("x"));
  CHECK(texts == std::vector<std::string>{"boom", "outer", "the end"});
}

TEST_CASE("an error code whose category cannot say what it means is a failure like any other",
          "[bad_input]") {
  struct Speechless final : std::error_category {
    [[nodiscard]] const char* name() const noexcept override { return "speechless"; }
    [[nodiscard]] std::string message(int) const override { throw std::runtime_error("no words"); }
    [[nodiscard]] std::error_condition default_error_condition(int) const noexcept override {
      return std::make_error_condition(std::errc::timed_out);
    }
  };
  static const Speechless category;
  Kit kit;
  AgentOptions options = kit.options();
  options.classifier = default_classifier();
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) -> Result<int> {
                            return attempt.fail({.text = "it failed", .code = {1, category}});
                          },
                          escalating(), options};
  const auto result = agent.run("x", {.run_id = "r"});
  CHECK_ERRC(Errc::escalated, result);
  CHECK(result.error().failure()->text == "it failed");
  CHECK(kit.store->run("r").value().status == RunStatus::escalated);
}

TEST_CASE("a suspension that no decision could end is not begun", "[bad input]") {
  RecoveryAction action = RecoveryAction::suspend("may I?");
  action.allowed_actions = {"retyr"};
  const TriageAgent agent{[](int) -> int { throw std::runtime_error("timeout"); },
                          answers({action}), Kit().bare()};
  const auto result = agent.run(1);
  CHECK_ERRC(Errc::escalated, result);
  CHECK_THAT(
      result.error().detail,
      ContainsSubstring("asked for suspend with the allowed action \"retyr\"; allowed are") &&
          ContainsSubstring("did you mean \"retry\"?"));
}

TEST_CASE("a fallback without a value is refused for having none", "[bad input]") {
  RecoveryAction action;
  action.kind = RecoveryAction::Kind::fallback;
  const TriageAgent agent{[](int) -> int { throw std::runtime_error("timeout"); },
                          answers({action}), Kit().bare()};
  const auto result = agent.run(1);
  CHECK_ERRC(Errc::escalated, result);
  CHECK_THAT(result.error().detail, ContainsSubstring("fallback is not possible: it has no value"));
}

TEST_CASE("a type that does not exist counts as unknown", "[bad input]") {
  class Confused final : public Classifier {
   public:
    Classification classify(const ClassifierInput&) override {
      return {.type = static_cast<FailureType>(200), .confidence = 1.0};
    }
  };
  const bool by_classifier = GENERATE(true, false);
  AgentOptions options = Kit().bare();
  if (by_classifier) options.classifier = std::make_shared<Confused>();
  const TriageAgent agent{
      [&](int, Attempt& attempt) -> Result<int> {
        if (by_classifier) return attempt.fail({.text = "odd"});
        return attempt.fail({.text = "odd", .type = static_cast<FailureType>(200)});
      },
      answers({RecoveryAction::retry(), RecoveryAction::escalate()}), options};
  const auto result = agent.run(1);
  CHECK_ERRC(Errc::escalated, result);
  CHECK(result.error().failure()->type() == FailureType::unknown);
}
