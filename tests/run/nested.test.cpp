// SPDX-License-Identifier: MIT
// An agent called by another agent's attempt.
#include "support/kit.hpp"
#include "support/result.hpp"

#include <functional>

using namespace triage;
using namespace triage::test;

namespace {

int fail_with(const std::string& text) { throw std::runtime_error(text); }

}  // namespace

TEST_CASE("a parent reuses the classification of the child that failed it", "[nested]") {
  Kit kit;
  const TriageAgent child{&fail_with, escalating(), kit.bare()};
  const int way = GENERATE(0, 1, 2, 3);
  AgentOptions options = kit.bare();
  const auto parents = std::make_shared<NamingClassifier>();
  options.classifier = parents;
  const TriageAgent parent{[&](const std::string&, Attempt& attempt) -> Result<int> {
                             attempt.record_step({.action = "call the child"});
                             auto result = child.run("quota_exhausted", {.parent = &attempt});
                             if (way == 0) return result;          // Passed on …
                             if (way == 1) return result.value();  // … thrown …
                             try {
                               static_cast<void>(result.value());
                             } catch (...) {
                               if (way == 2) std::throw_with_nested(std::runtime_error("oh"));
                             }
                             throw std::runtime_error("the child could not");  // … or described.
                           },
                           escalating(), options};
  const auto result = parent.run("x");
  CHECK_ERRC(Errc::escalated, result);
  CHECK(result.error().failure()->type() == FailureType::quota_exhausted);
  CHECK(result.error().failure()->classification.reason == "named");
  CHECK(parents->calls == 0);
}

TEST_CASE("a failure after more steps of the parent is the parent's own", "[nested]") {
  Kit kit;
  const TriageAgent child{&fail_with, escalating(), kit.bare()};
  const TriageAgent parent{[&](const std::string&, Attempt& attempt) -> int {
                             static_cast<void>(child.run("refused", {.parent = &attempt}));
                             attempt.record_step({.action = "something else"});
                             throw std::runtime_error("timeout");
                           },
                           escalating(), kit.bare()};
  CHECK(parent.run("x").error().failure()->type() == FailureType::timeout);
}

TEST_CASE("a child that was cancelled or misused says nothing about the parent's failure",
          "[nested]") {
  Kit kit;
  const TriageAgent child{&fail_with, escalating(), kit.bare()};
  std::stop_source stopped;
  stopped.request_stop();
  const TriageAgent parent{
      [&](const std::string&, Attempt& attempt) -> int {
        CHECK_ERRC(Errc::cancelled,
                   child.run("refused", {.stop_token = stopped.get_token(), .parent = &attempt}));
        throw std::runtime_error("timeout");
      },
      escalating(), kit.bare()};
  CHECK(parent.run("x").error().failure()->type() == FailureType::timeout);
}

TEST_CASE("a child's run knows its parent", "[nested]") {
  Kit kit;
  const TriageAgent child{[](const std::string&, Attempt& attempt) {
                            attempt.record_step({.action = "s"});
                            return attempt.run_id();
                          },
                          escalating(), kit.options()};
  const TriageAgent parent{[&](const std::string&, Attempt& attempt) {
                             return child.run("c", {.parent = &attempt}).value();
                           },
                           escalating(), kit.options()};
  const std::string id = parent.run("p", {.run_id = "parent"}).value();
  CHECK(kit.store->run(id).value().parent == "parent");
  CHECK(stored_journal(*kit.store, id).start().at("parent") == "parent");
  CHECK(stored_journal(*kit.store, id).start().at("parent_attempt") == 1);
  CHECK(kit.store->runs({.parent = "parent"}).value().size() == 1);
  const auto events = kit.log->entries();
  const auto started = std::find_if(events.begin(), events.end(), [&](const auto& event) {
    return event.kind == EventKind::run_started && event.run_id == id;
  });
  REQUIRE(started != events.end());
  CHECK(started->text == "parent");
}

TEST_CASE("a child inherits the deadline, and its own counts if it is nearer", "[nested]") {
  Kit kit;
  const TimePoint now = kit.clock->now();
  std::vector<std::optional<TimePoint>> seen;
  const TriageAgent child{
      [&](const std::string&, Attempt& attempt) { seen.push_back(attempt.deadline()); },
      escalating(), kit.bare()};
  const TriageAgent parent{[&](const std::string&, Attempt& attempt) {
                             for (const int seconds : {0, 5, 50}) {
                               RunOptions options{.parent = &attempt};
                               if (seconds > 0)
                                 options.deadline = now + std::chrono::seconds(seconds);
                               REQUIRE_OK(child.run("c", options));
                             }
                           },
                           escalating(), kit.bare()};
  REQUIRE_OK(parent.run("p", {.deadline = now + std::chrono::seconds(20)}));
  CHECK(seen == std::vector<std::optional<TimePoint>>{now + std::chrono::seconds(20),
                                                      now + std::chrono::seconds(5),
                                                      now + std::chrono::seconds(20)});
}

TEST_CASE("a child stops with its parent, with a stop token of its own or without", "[nested]") {
  Kit kit;
  const bool own = GENERATE(true, false);
  std::stop_source parents;
  std::stop_source childs;
  int calls = 0;
  const TriageAgent child{[&](const std::string&) -> int {
                            ++calls;
                            parents.request_stop();
                            throw std::runtime_error("timeout");
                          },
                          answers({RecoveryAction::retry()}), kit.bare()};
  const TriageAgent parent{[&](const std::string&, Attempt& attempt) -> Result<int> {
                             RunOptions options{.parent = &attempt};
                             if (own) options.stop_token = childs.get_token();
                             auto result = child.run("c", options);
                             CHECK_ERRC(Errc::cancelled, result);
                             return result;
                           },
                           answers({RecoveryAction::retry()}), kit.bare()};
  CHECK_ERRC(Errc::cancelled, parent.run("p", {.stop_token = parents.get_token()}));
  CHECK(calls == 1);
}

namespace {

// Two agents that hand a task back and forth until `most` of them are running.
struct HandingOver {
  Kit kit{};
  int started = 0;
  int most = 10;
  std::string names = "writer";  // Of the first agent; the other one is "critic".
  std::function<std::string(int)> task_of = [](int) { return std::string("write it"); };

  Result<int> start(bool writes, Attempt* parent) {
    AgentOptions options = kit.bare();
    options.name = writes ? names : "critic";
    const TriageAgent agent{[this, writes](const std::string&, Attempt& attempt) -> Result<int> {
                              if (started >= most) return started;
                              return start(!writes, &attempt);
                            },
                            escalating(), options};
    const std::string task = task_of(started++);
    return parent == nullptr ? agent.run(task) : agent.run(task, {.parent = parent});
  }
};

}  // namespace

TEST_CASE("agents that start one another in a circle are a loop to all of them", "[nested]") {
  HandingOver scene;
  const auto result = scene.start(true, nullptr);
  CHECK_ERRC(Errc::escalated, result);
  CHECK(scene.started == 5);  // The writer's third turn does not begin.
  REQUIRE(result.error().failure());
  CHECK(result.error().failure()->type() == FailureType::loop_detected);
  CHECK(result.error().failure()->classification.reason == "agents_in_a_circle");
  CHECK_THAT(result.error().detail, ContainsSubstring("the agent \"writer\" was given the same"));
}

TEST_CASE("agents that start one another with other tasks, or without a name, are no loop",
          "[nested]") {
  HandingOver scene;
  SECTION("every task is another one") {
    scene.task_of = [](int started) { return "page " + std::to_string(started); };
  }
  SECTION("unnamed agents may be any agents") { scene.names = AgentOptions().name; }
  SECTION("a task that says nothing is not a task to compare") {
    scene.task_of = [](int) { return std::string("{}"); };
  }
  SECTION("two turns are none") { scene.most = 4; }
  if (scene.names == AgentOptions().name) {
    // The critics have a name: two of them may run.
    scene.most = 5;
  }
  CHECK(scene.start(true, nullptr).value() == scene.most);
}

TEST_CASE("an agent that is in a circle is not started again by its policy", "[nested]") {
  Kit kit;
  int calls = 0;
  AgentOptions options = kit.bare();
  options.name = "digger";
  std::function<Result<int>(Attempt*)> dig;
  const TriageAgent agent{
      [&](const std::string&, Attempt& attempt) -> Result<int> {
        ++calls;
        return dig(&attempt);
      },
      answers({RecoveryAction::retry(), RecoveryAction::retry(), RecoveryAction::escalate()}),
      options};
  dig = [&](Attempt* parent) {
    return parent == nullptr ? agent.run("down") : agent.run("down", {.parent = parent});
  };
  const auto result = dig(nullptr);
  CHECK_ERRC(Errc::escalated, result);
  CHECK(result.error().failure()->type() == FailureType::loop_detected);
  CHECK(calls < 20);
  const auto told = kit.log->entries();
  CHECK(std::any_of(told.begin(), told.end(), [](const auto& entry) {
    return entry.kind == EventKind::run_escalated &&
           entry.text.find("at work on the same task further up") != std::string::npos;
  }));
}

TEST_CASE("a type that a parent states itself wins over its child's", "[nested]") {
  Kit kit;
  const TriageAgent child{&fail_with, escalating(), kit.bare()};
  const TriageAgent parent{
      [&](const std::string&, Attempt& attempt) -> Result<int> {
        static_cast<void>(child.run("refused", {.parent = &attempt}));
        return attempt.fail({.text = "too slow", .type = FailureType::timeout, .reason = "own"});
      },
      escalating(), kit.bare()};
  const auto result = parent.run("x");
  CHECK(result.error().failure()->type() == FailureType::timeout);
  CHECK(result.error().failure()->classification.reason == "own");
}
