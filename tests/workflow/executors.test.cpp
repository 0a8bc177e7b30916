// SPDX-License-Identifier: MIT
#include "driver/stored_run.hpp"
#include "kit.hpp"
#include "triage/testing/simulated_clock.hpp"
#include "triage/workflow/agent_executor.hpp"
#include "triage/workflow/inspect.hpp"
#include "triage/workflow/roundtrip.hpp"

#include <atomic>
#include <limits>
#include <mutex>
#include <random>
#include <vector>

using namespace triage;
using namespace triage::workflow;
using namespace triage::test;
using Catch::Matchers::ContainsSubstring;

namespace {

// Counts in a member; its hook fails when told to.
struct MoodyExecutor {
  std::atomic<int>* broken = nullptr;  // 1: save() throws; 2: it gives NaN.
  std::atomic<bool>* works = nullptr;
  int at = 0;  // The only count at which the hook fails; 0: any.
  int count = 0;

  int operator()(const int& n) {
    if (n == 3 && works != nullptr && !*works) throw std::runtime_error("tired");
    return count += n;
  }
  [[nodiscard]] Json save() const {
    const int how = broken == nullptr || (at != 0 && at != count) ? 0 : broken->load();
    if (how == 1) throw std::runtime_error("no pen");
    if (how == 2) return std::numeric_limits<double>::quiet_NaN();
    return count;
  }
  Result<void> restore(const Json& saved) {
    count = saved.get<int>();
    return outcome::success();
  }
  friend bool operator==(const MoodyExecutor& a, const MoodyExecutor& b) {
    return a.count == b.count;
  }
};

struct Forgetful {
  int kept = 0;
  int lost = 0;
  int operator()(const int& n) { return kept = lost = n; }
  [[nodiscard]] Json save() const { return kept; }
  Result<void> restore(const Json& saved) {
    kept = saved.get<int>();
    return outcome::success();
  }
  friend bool operator==(const Forgetful&, const Forgetful&) = default;
};

// Has had nothing to save so far, and does not want it back.
struct Empty {
  bool operator()(const bool& value) const { return value; }
  [[nodiscard]] static Json save() { return nullptr; }
  static Result<void> restore(const Json& saved) {
    return Error{Errc::invalid_argument, "nobody has saved " + show(saved)};
  }
};

// 1, 2, 3 to one executor with the hooks.
Workflow counting_executor(MoodyExecutor moody, ExecutorOptions options = {}) {
  return built(WorkflowBuilder("w")
                   .executor("feed",
                             [](const int& n, Context& context) {
                               context.send_to("count", n);
                               if (n < 3) context.send_to("feed", n + 1);
                             })
                   .executor("count", moody, std::move(options))
                   .start("feed")
                   .fan_out("feed", {"count", "feed"}));
}

}  // namespace

TEST_CASE("a hook that fails costs the checkpoint, with an event, and not the delivery",
          "[workflow][executors]") {
  const int how = GENERATE(1, 2);
  std::atomic<int> broken{how};
  const MoodyExecutor moody{.broken = &broken, .at = 3};
  ExecutorOptions options;
  if (GENERATE(false, true)) options.limits = Limits{};  // Then each delivery has its own run.
  std::mutex mutex;
  std::vector<WorkflowEvent> failed;
  const auto watch = [&](const WorkflowEvent& event) {
    const std::scoped_lock lock(mutex);
    if (event.kind == WorkflowEventKind::checkpoint_save_failed) failed.push_back(event);
  };
  const auto store = memory();
  WorkflowRun run(counting_executor(moody, options),
                  {.run_id = "w", .store = store, .threads = 1, .on_event = watch});
  const auto result = run.run(1);
  REQUIRE_OK(result);
  CHECK(result.value().value() == 6);
  REQUIRE(failed.size() == 1);
  CHECK(failed[0].executor == "count");
  CHECK(failed[0].occurrence == 2);
  CHECK_THAT(failed[0].error->detail, ContainsSubstring(how == 1 ? "no pen" : "save()"));
  // In the end all of it is stored.
  CHECK(WorkflowRun(counting_executor(moody, options), {.run_id = "w", .store = store})
            .resume()
            .value()
            .value() == 6);
}

TEST_CASE("what a hook has not saved is not taken for done", "[workflow][executors]") {
  std::atomic<int> broken{0};
  std::atomic<bool> works{true};
  const MoodyExecutor moody{.broken = &broken, .works = &works};
  ExecutorOptions options;
  if (GENERATE(false, true)) options.limits = Limits{};  // Then each delivery has its own run.
  const auto graph = counting_executor(moody, options);
  const auto store = memory();
  broken = 1;
  works = false;
  CHECK_FALSE(WorkflowRun(graph, {.run_id = "w", .store = store}).run(1).has_value());
  broken = 0;
  works = true;
  WorkflowRun again(graph, {.run_id = "w", .store = store});
  const auto result = again.resume();
  REQUIRE_OK(result);
  CHECK(result.value().value() == 6);  // Counted from the start, because nothing was saved.
}

namespace {

// Adds up in a member, modulo a number.
struct Summing {
  int modulus = 1;
  int sum = 0;
  int operator()(const int& n) { return sum = (sum + n) % modulus; }
  [[nodiscard]] Json save() const { return sum; }
  Result<void> restore(const Json& saved) {
    sum = saved.get<int>();
    return outcome::success();
  }
};

std::string input_name(std::size_t i) { return "n" + std::to_string(i); }

// So many inputs, each of them sent to "sum".
Workflow summing(std::size_t inputs, int modulus, const ExecutorOptions& options) {
  WorkflowBuilder builder("w", {.deliver_inputs = false});
  builder.executor("sum", Summing{modulus}, options);
  for (std::size_t i = 0; i < inputs; ++i) {
    const std::string id = input_name(i);
    builder
        .executor(id, stateless([id](const Json&, Context& context) {
                    return context.input<int>(id).value();
                  }))
        .start(id)
        .edge(id, "sum");
  }
  return built(builder);
}

Json given(const std::vector<int>& numbers) {
  Json inputs = Json::object();
  for (std::size_t i = 0; i < numbers.size(); ++i) inputs[input_name(i)] = numbers[i];
  return inputs;
}

}  // namespace

TEST_CASE("a branch runs again what an executor's members have made different, and nothing else",
          "[workflow][executors][fork]") {
  std::mt19937 rng(17);
  const auto below = [&](unsigned n) { return static_cast<int>(rng() % n); };
  std::size_t kept_behind = 0;
  for (int round = 0; round < 100; ++round) {
    const int modulus = 2 + below(3);
    std::vector<int> before(2 + rng() % 6);
    for (int& one : before) one = below(4);
    std::vector<int> after = before;
    for (std::size_t i = 0; i < after.size(); ++i) {
      if (below(3) == 0) after[i] = below(4);
    }
    // The oracle: a delivery runs again if its message, or the sum before it, is another one.
    std::set<int> expected;
    std::vector<Json> sums;
    int old_sum = 0;
    int new_sum = 0;
    for (std::size_t i = 0; i < after.size(); ++i) {
      const bool runs = before[i] != after[i] || old_sum != new_sum;
      if (runs) expected.insert(static_cast<int>(i) + 1);
      if (!runs && !expected.empty()) ++kept_behind;
      old_sum = (old_sum + before[i]) % modulus;
      new_sum = (new_sum + after[i]) % modulus;
      sums.emplace_back(new_sum);
    }
    ExecutorOptions options;
    if (below(2) == 0) options.limits = Limits{};
    const auto graph = summing(before.size(), modulus, options);
    const auto store = memory();
    WorkflowRun origin(graph, {.run_id = "origin", .store = store});
    REQUIRE_OK(origin.run(given(before)));
    const std::string from = to_string(origin.checkpoints().value().back().id);
    const Fork edits{.inputs = given(after)};
    const auto preview = preview_fork(*store, from, edits);
    REQUIRE_OK(preview);
    WorkflowRun branch(graph, {.run_id = "branch", .store = store});
    const auto done = branch.fork(from, edits);
    REQUIRE_OK(done);
    INFO("round " << round << " modulo " << modulus << ": " << given(before) << " became "
                  << given(after));
    std::vector<Json> given_out;
    for (const Output& one : done.value().outputs) given_out.push_back(one.value);
    REQUIRE(given_out == sums);
    std::set<int> ran;
    const auto deliveries = branch.deliveries();
    for (const DeliveryView& one : deliveries.value()) {
      if (one.executor == "sum" && one.how != Ran::reused) ran.insert(one.occurrence);
    }
    REQUIRE(ran == expected);
    for (const RerunView& one : preview.value()) {
      if (one.executor != "sum" || !ran.contains(one.occurrence)) continue;
      INFO("occurrence " << one.occurrence);
      REQUIRE((one.how == Rerun::runs || one.how == Rerun::may_run));
    }
  }
  CHECK(kept_behind > 20);
}

TEST_CASE("a branch of a run that an earlier version has made does not trust members either",
          "[workflow][executors][fork]") {
  const auto graph = summing(3, 100, {});
  const auto store = memory();
  WorkflowRun origin(graph, {.run_id = "origin", .store = store});
  REQUIRE_OK(origin.run(given({1, 1, 1})));
  const auto latest = store->latest("origin");
  REQUIRE_OK(latest);
  Json changed{{"triage/edits", {{"inputs", {{"n1", 5}}}, {"changed", true}}}};
  for (int occurrence = 1; occurrence <= 3; ++occurrence) {
    const std::string key = "triage/done/sum/" + std::to_string(occurrence);
    changed[key] = *latest.value().state.find(key);
    REQUIRE(changed[key].erase("began") == 1);
  }
  const std::string from = to_string(origin.checkpoints().value().back().id);
  REQUIRE_OK(workflow::detail::make_branch(store, "w", from, "branch", changed, {}));
  WorkflowRun branch(graph, {.run_id = "branch", .store = store});
  const auto done = branch.resume();
  REQUIRE_OK(done);
  REQUIRE(done.value().outputs.size() == 3);
  CHECK(done.value().outputs[1].value == 6);
  CHECK(done.value().outputs[2].value == 7);
  CHECK(branch.handler_calls() == 3);  // Of n1, and twice of sum.
}

TEST_CASE("what a failed task has left out is not in the members of an executor that goes on",
          "[workflow][executors]") {
  std::atomic<bool> works{false};
  ExecutorOptions options;
  if (GENERATE(false, true)) options.limits = Limits{};
  const auto graph = built(WorkflowBuilder("w")
                               .executor("first", stateless([&](const int& n) -> Result<int> {
                                           if (!works) return Error{Errc::io, "no"};
                                           return n;
                                         }),
                                         {.instead = [](const Error&) { return make_message(0); }})
                               .executor("second", [](const int&) { return 1; })
                               .executor("sum", Summing{100}, options)
                               .start("first")
                               .start("second")
                               .edge("first", "sum")
                               .edge("second", "sum"));
  WorkflowRun run(graph, {.run_id = "w", .store = memory()});
  CHECK_ERRC(Errc::escalated, run.run(5));
  works = true;
  const auto done = run.resume();
  REQUIRE_OK(done);
  REQUIRE(done.value().outputs.size() == 2);
  CHECK(done.value().outputs[0].value == 5);
  CHECK(done.value().outputs[1].value == 6);
}

TEST_CASE("several handlers of one executor keep their members", "[workflow][executors]") {
  std::atomic<bool> works{false};
  const auto graph = built(WorkflowBuilder("w")
                               .executor("feed",
                                         [](const int& n, Context& context) {
                                           context.send_to("count", n);
                                           if (n < 3) context.send_to("feed", n + 1);
                                         })
                               .executor("count", handlers([](const std::string&) { return 0; },
                                                           Empty(), MoodyExecutor{.works = &works}))
                               .start("feed")
                               .fan_out("feed", {"count", "feed"}));
  const auto store = memory();
  CHECK_ERRC(Errc::escalated, WorkflowRun(graph, {.run_id = "w", .store = store}).run(1));
  works = true;
  WorkflowRun other(graph, {.run_id = "w", .store = store});
  const auto done = other.resume();
  REQUIRE_OK(done);
  CHECK(done.value().outputs.back().value == 6);
}

TEST_CASE("an executor that does nothing for too long has failed, however long it may take in all",
          "[workflow][executors]") {
  const auto clock = std::make_shared<testing::SimulatedClock>();
  const auto with = [&](Duration gap, Duration total) {
    const auto graph =
        built(WorkflowBuilder("w", {.defaults = {.idle_timeout = std::chrono::seconds(10)}})
                  .executor("a", stateless([=](const int& n, Context& context) {
                              for (Duration at{0}; at < total; at += gap) {
                                clock->advance(gap);
                                context.record_step({.action = "work"});
                              }
                              return n;
                            }))
                  .start("a"));
    return WorkflowRun(graph, {.clock = clock}).run(1);
  };
  REQUIRE_OK(with(std::chrono::seconds(9), std::chrono::seconds(90)));
  const auto idle = with(std::chrono::seconds(11), std::chrono::seconds(22));
  CHECK_ERRC(Errc::escalated, idle);
  REQUIRE(idle.error().failure() != nullptr);
  CHECK(idle.error().failure()->classification.type == FailureType::timeout);
  CHECK(idle.error().failure()->classification.reason == "idle_timeout");
}

TEST_CASE("limits of an executor hold for its attempts together", "[workflow][executors]") {
  std::atomic<int> calls{0};
  FailurePolicy policy;
  policy.otherwise(
      Strategy("again", [](const FailureContext&) { return RecoveryAction::retry(); }));
  const auto graph = built(WorkflowBuilder("w", {.defaults = {.policy = policy}})
                               .executor("a", stateless([&](const int&) -> int {
                                           ++calls;
                                           throw std::runtime_error("no");
                                         }),
                                         {.limits = Limits{.max_attempts = 3}})
                               .start("a"));
  CHECK_FALSE(WorkflowRun(graph).run(1).has_value());
  CHECK(calls == 3);
}

TEST_CASE("an agent is an executor, and its cut-off run goes on where it was",
          "[workflow][executors]") {
  std::atomic<int> fetched{0};
  std::atomic<bool> works{false};
  const auto make = [&] {
    FailurePolicy policy;
    policy.otherwise(
        Strategy("none", [](const FailureContext& f) { return RecoveryAction::escalate(f.text); }));
    auto work = [&](const std::string& task, Attempt& attempt) -> Result<std::string> {
      const int pages = attempt.effect("fetch", [&] { return ++fetched; });
      if (!works) return attempt.fail({.text = "no"});
      return task + std::to_string(pages);
    };
    return TriageAgent{work, policy, {.name = "fetcher"}};
  };
  const auto graph = [&] {
    return built(WorkflowBuilder("w")
                     .executor("fetch", agent_executor(make()))
                     .executor("shout", [](const std::string& text) { return text + "!"; })
                     .start("fetch")
                     .edge("fetch", "shout"));
  };
  const auto store = memory();
  CHECK_ERRC(Errc::escalated, WorkflowRun(graph(), {.run_id = "w", .store = store}).run("tea"));
  works = true;
  const auto result = WorkflowRun(graph(), {.run_id = "w", .store = store}).resume();
  REQUIRE_OK(result);
  CHECK(result.value().value() == "tea1!");
  CHECK(fetched == 1);
  const auto plain = WorkflowRun(graph()).run("cup");
  REQUIRE_OK(plain);
  CHECK(plain.value().value() == "cup2!");
}

TEST_CASE("a test finds an executor whose hooks forget something", "[workflow][executors]") {
  MoodyExecutor counter;
  counter(4);
  REQUIRE_OK(testing::check_roundtrip(counter));
  Forgetful forgetful;
  forgetful(4);
  CHECK_ERRC(Errc::conflict, testing::check_roundtrip(forgetful));
  std::atomic<int> broken{1};
  CHECK_ERRC(Errc::conflict, testing::check_roundtrip(MoodyExecutor{.broken = &broken}));
  broken = 2;
  CHECK_ERRC(Errc::invalid_argument, testing::check_roundtrip(MoodyExecutor{.broken = &broken}));
}
