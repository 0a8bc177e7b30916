// SPDX-License-Identifier: MIT
#include "triage/agent.hpp"

#include "support/kit.hpp"
#include "support/result.hpp"

#include <functional>
#include <memory>
#include <set>
#include <string_view>

using namespace triage;
using namespace triage::test;

namespace {

int length(const std::string& task) { return static_cast<int>(task.size()); }
int length_noexcept(std::string task) noexcept { return static_cast<int>(task.size()); }

struct Functor {
  int operator()(const std::string& task, Attempt& attempt) const {
    return static_cast<int>(task.size()) * attempt.number();
  }
};

struct Report {
  std::string title{};
  int pages = 0;
  friend bool operator==(const Report&, const Report&) = default;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Report, title, pages)

struct Unprintable {
  int value = 0;
};

}  // namespace

TEST_CASE("an agent takes lambdas, functions, functors and std::function", "[agent]") {
  CHECK(TriageAgent{[](const std::string& t) { return t + "!"; }, retrying()}.run("a").value() ==
        "a!");
  CHECK(TriageAgent{&length, retrying()}.run("abc").value() == 3);
  CHECK(TriageAgent{&length_noexcept, retrying()}.run("abc").value() == 3);
  CHECK(TriageAgent{Functor{}, retrying()}.run("abc").value() == 3);
  CHECK(TriageAgent{std::function<int(const std::string&)>(length), retrying()}.run("ab").value() ==
        2);
}

TEST_CASE("calling the agent object is running it", "[agent]") {
  const TriageAgent agent{&length, retrying()};
  CHECK(agent("abcd").value() == 4);
}

TEST_CASE("a callable returns a value, nothing, or a result", "[agent]") {
  int calls = 0;
  const TriageAgent nothing{[&](const int&) { ++calls; }, retrying()};
  REQUIRE_OK(nothing.run(1));
  CHECK(calls == 1);
  const TriageAgent result{[](const int& n) -> Result<int> {
                             if (n < 0) return Error{Errc::io, "negative"};
                             return n + 1;
                           },
                           FailurePolicy().otherwise(always(RecoveryAction::escalate()))};
  CHECK(result.run(1).value() == 2);
  const auto failed = result.run(-1);
  CHECK_ERRC(Errc::escalated, failed);
  CHECK_THAT(failed.error().detail, ContainsSubstring("negative"));
  const TriageAgent empty{[](const int&) -> Result<void> { return outcome::success(); },
                          retrying()};
  REQUIRE_OK(empty.run(1));
}

TEST_CASE("a result may be move-only, also through attempts", "[agent]") {
  const TriageAgent agent{[](const int& n, Attempt& attempt) {
                            if (attempt.number() == 1) throw std::runtime_error("again");
                            return std::make_unique<int>(n);
                          },
                          retrying()};
  CHECK(*agent.run(7).value() == 7);
}

TEST_CASE("a task and a result need no conversion to JSON for run", "[agent]") {
  Kit kit;
  const TriageAgent agent{[](const Unprintable& task, Attempt& attempt) {
                            attempt.record_step({.action = "s"});
                            if (attempt.number() == 1) throw std::runtime_error("timeout");
                            return Unprintable{task.value + 1};
                          },
                          retrying(), kit.options()};
  CHECK(agent.run(Unprintable{1}, {.run_id = "r"}).value().value == 2);
  CHECK(kit.store->run("r").value().status == RunStatus::finished);
}

TEST_CASE("the task's type is the first parameter, decayed, and braces work", "[agent]") {
  const TriageAgent view{[](std::string_view task) { return task.size(); }, retrying()};
  CHECK(view.run(std::string("abc")).value() == 3);
  const TriageAgent json{[](const Json& task) { return task.at("url").get<std::string>(); },
                         retrying()};
  CHECK(json.run({{"url", "x"}, {"depth", 2}}).value() == "x");
  const TriageAgent report{[](const Report& task) { return task.pages; }, retrying()};
  CHECK(report.run({"title", 3}).value() == 3);
}

TEST_CASE("a failing run of a JSON task tells the task as text", "[agent]") {
  const TriageAgent agent{[](const Json&) -> int { throw std::runtime_error("no"); },
                          FailurePolicy().otherwise(always(RecoveryAction::escalate()))};
  const auto result = agent.run({{"url", "x"}});
  CHECK_ERRC(Errc::escalated, result);
  REQUIRE(result.error().failure());
  CHECK(result.error().failure()->task == R"({"url":"x"})");
}

TEST_CASE("make_agent names the task's type for a generic callable", "[agent]") {
  const auto agent =
      make_agent<std::string>([](const auto& task) { return task.size(); }, retrying());
  CHECK(agent.run("abc").value() == 3);
}

TEST_CASE("a factory that throws or makes a null callable is a failure, not a crash", "[agent]") {
  FailurePolicy policy;
  policy.otherwise(always(RecoveryAction::escalate()));
  const TriageAgent throwing{per_run([]() -> std::function<int(const int&)> {
                               throw std::runtime_error("no callable today");
                             }),
                             policy};
  CHECK_ERRC(Errc::escalated, throwing.run(1));
  const TriageAgent null{per_run([]() -> int (*)(const int&) { return nullptr; }), policy};
  CHECK_ERRC(Errc::escalated, null.run(1));
}

TEST_CASE("a user's type is task and result of a run that is stored and asked again", "[agent]") {
  Kit kit;
  int calls = 0;
  const TriageAgent agent{[&](const Report& task) {
                            ++calls;
                            return Report{task.title + "!", task.pages + 1};
                          },
                          retrying(), kit.options()};
  CHECK(agent.run({"t", 1}, {.run_id = "r"}).value() == Report{"t!", 2});
  CHECK(agent.run({"t", 1}, {.run_id = "r"}).value() == Report{"t!", 2});
  CHECK(agent.resume_run("r").value() == Report{"t!", 2});
  CHECK(agent.run_or_resume("r", {"other", 9}).value() == Report{"t!", 2});
  CHECK(calls == 1);
}

TEST_CASE("a result without a conversion cannot be asked for again, and the error says so",
          "[agent]") {
  Kit kit;
  const TriageAgent agent{[](const int& n) { return std::make_unique<int>(n); }, retrying(),
                          kit.options()};
  REQUIRE_OK(agent.run(1, {.run_id = "r"}));
  const auto again = agent.run(1, {.run_id = "r"});
  CHECK_ERRC(Errc::unsupported, again);
  CHECK_THAT(again.error().detail, ContainsSubstring("no conversion to JSON"));
}

TEST_CASE("an agent may be moved and its runs go on from const and temporary objects", "[agent]") {
  Kit kit;
  TriageAgent first{&length, retrying(), kit.options()};
  const TriageAgent second = std::move(first);
  CHECK(second.run("abc").value() == 3);
}

TEST_CASE("a strategy sees a number that is the task as JSON writes it", "[agent]") {
  const auto seen = [](auto task) {
    std::string text;
    FailurePolicy policy;
    policy.otherwise(Strategy("look", [&text](const FailureContext& context) {
      text = context.task;
      return RecoveryAction::abort();
    }));
    const TriageAgent agent{[](decltype(task), Attempt& attempt) -> Result<int> {
                              return attempt.fail({.text = "no"});
                            },
                            policy,
                            {.classifier = no_classifier()}};
    CHECK_FALSE(agent.run(task));
    return text;
  };
  CHECK(seen(-7) == "-7");
  CHECK(seen(std::numeric_limits<std::uint64_t>::max()) == "18446744073709551615");
  CHECK(seen('a') == "97");
  CHECK(seen(true) == "true");
  CHECK(seen(0.5) == "0.5");
}

TEST_CASE("runs of agents with equal seeds at equal times get ids of their own", "[agent]") {
  Kit kit;
  const bool finishes = GENERATE(true, false);
  std::set<RunId> ids;
  for (int i = 0; i < 3; ++i) {
    AgentOptions options = kit.options();
    options.random = seeded_random(1);
    const TriageAgent agent{[finishes](int task) {
                              if (!finishes) throw std::runtime_error("refused");
                              return task;
                            },
                            answers({RecoveryAction::escalate()}), options};
    const auto result = agent.run(i);
    if (finishes) {
      CHECK(result.value() == i);
    } else {
      CHECK_ERRC(Errc::escalated, result);
      ids.insert(result.error().failure()->run_id);
    }
  }
  CHECK(ids.size() == (finishes ? 0 : 3));
  CHECK(kit.store->runs({}).value().size() == 3);
}

TEST_CASE("random numbers that are all alike are named when their run id is taken", "[agent]") {
  struct Stuck final : Random {
    std::uint64_t next() override { return 7; }
  };
  Kit kit;
  AgentOptions options = kit.options();
  options.random = std::make_shared<Stuck>();
  const TriageAgent agent{[](int task) { return task; }, answers({RecoveryAction::escalate()}),
                          options};
  CHECK(agent.run(1).value() == 1);
  const auto again = agent.run(2);
  CHECK_ERRC(Errc::conflict, again);
  CHECK_THAT(again.error().detail, ContainsSubstring("AgentOptions::random"));
}

TEST_CASE("an agent's name that is not allowed is called a name", "[agent]") {
  AgentOptions options = Kit().bare();
  options.name = "a b";
  const TriageAgent agent{[](int task) { return task; }, answers({RecoveryAction::escalate()}),
                          options};
  const auto refused = agent.run(1);
  CHECK_ERRC(Errc::invalid_argument, refused);
  CHECK(refused.error().detail.starts_with("the agent's name \"a b\" contains \" \"; allowed"));
}
