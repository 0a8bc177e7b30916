// SPDX-License-Identifier: MIT
// Processes that die when an executor's own run has ended, but before its workflow's run knows.
#include "kit.hpp"
#include "support/crashed.hpp"
#include "triage/policies/fallback.hpp"
#include "triage/policies/retry.hpp"

#include <atomic>

using namespace triage;
using namespace triage::workflow;
using namespace triage::test;
using Catch::Matchers::ContainsSubstring;

namespace {

// Without what only this version stores at the end of an executor's own run.
Record of_earlier_version(const Record& record) {
  if (record.kind() != RecordKind::finished) return record;
  Json body = record.body().value();
  REQUIRE(body.at("result").erase("ways_out") == 1);
  return {record.seq(), record.kind(), record.time(),
          std::make_shared<const Json>(std::move(body))};
}

// The run as it is when a process dies before this key of its state is stored; with the runs below.
std::shared_ptr<CheckpointStore> crashed_before(CheckpointStore& store, const std::string& key,
                                                bool earlier) {
  const JournalReading reading = store.read("w", {}).value();
  Sequence before = 0;
  for (const Record& record : reading.records) {
    if (record.body().value().dump().find(key) != std::string::npos) break;
    before = record.seq();
  }
  if (earlier) return crashed_among_others(store, "w", before, of_earlier_version);
  return crashed_among_others(store, "w", before);
}

// The store of a run "w" that has finished, as it is when the process dies in the first attempt of
// its executor.
std::shared_ptr<CheckpointStore> died_at_work(CheckpointStore& store) {
  auto died = MemoryStore::create();
  const std::vector<RunInfo> all = store.runs({}).value();
  for (const RunInfo& one : all) {
    const Sequence last = sequence_of(store, one.id, RecordKind::attempt_started);
    JournalReading reading = store.read(one.id, {1, last}).value();
    reading.info.status = RunStatus::running;
    const Lease lease = died->start(reading.info, reading.records).value();
    REQUIRE_OK(died->release(lease));
  }
  return died;
}

// "a" has a policy; its message goes to some of "b" and "c", whose edges are added in this order.
struct Graph {
  std::atomic<int> calls{0};
  std::atomic<int> effects{0};
  bool falls_back = false;

  [[nodiscard]] Workflow leading_to(const std::vector<std::string>& targets) {
    FailurePolicy policy;
    policy.otherwise(falls_back ? fallback(5) : retry({.max_attempts = 2}));
    const auto passes_on = [](const int& n, Context& context) {
      return context.executor() + std::to_string(n);
    };
    WorkflowBuilder builder("w");
    builder.executor("a", stateless([this](const int& n, Context& context) {
                       ++calls;
                       context.effect("act", [&] { return ++effects; });
                       if (falls_back) throw std::runtime_error("no");
                       return n;
                     }),
                     {.policy = policy});
    for (const std::string& target : targets) {
      builder.executor(target, passes_on).edge("a", target);
    }
    return built(builder.start("a"));
  }
  [[nodiscard]] std::shared_ptr<CheckpointStore> crashed(const std::vector<std::string>& targets,
                                                         bool earlier) {
    const auto store = MemoryStore::create();
    REQUIRE_OK(WorkflowRun(leading_to(targets), {.run_id = "w", .store = store}).run(5));
    calls = 0;
    return crashed_before(*store, "triage/done/a/1", earlier);
  }
};

std::set<std::string> ends_with(const Workflow& workflow,
                                const std::shared_ptr<CheckpointStore>& store) {
  const auto done = WorkflowRun(workflow, {.run_id = "w", .store = store}).resume();
  REQUIRE_OK(done);
  std::set<std::string> outputs;
  for (const Output& one : done.value().outputs) outputs.insert(one.value.get<std::string>());
  return outputs;
}

// Gives the sum of what it has got; while it is broken, it fails at each second message.
struct Sums {
  const bool* broken;
  int sum = 0;

  Result<int> operator()(const int& n, Context& context) {
    if (*broken && context.occurrence() % 2 == 0) return Error{Errc::io, "down"};
    return sum += n;
  }
  [[nodiscard]] Json save() const { return sum; }
  [[nodiscard]] Result<void> restore(const Json& saved) {
    sum = saved.get<int>();
    return outcome::success();
  }
};

}  // namespace

TEST_CASE("an executor whose own run has ended is not called again", "[workflow][inner]") {
  Graph graph;
  graph.falls_back = GENERATE(false, true);
  const auto store = graph.crashed({"b"}, GENERATE(false, true));
  CHECK(ends_with(graph.leading_to({"b"}), store) == std::set<std::string>{"b5"});
  CHECK(graph.calls == 0);
}

TEST_CASE("an executor whose own run has ended is called again if its edges have changed",
          "[workflow][inner]") {
  Graph graph;
  graph.falls_back = GENERATE(false, true);
  const auto store = graph.crashed({"b"}, false);
  using Names = std::vector<std::string>;
  const Names now = GENERATE(Names{"c"}, Names{"b", "c"});
  std::set<std::string> expected;
  for (const std::string& target : now) expected.insert(target + "5");
  CHECK(ends_with(graph.leading_to(now), store) == expected);
  CHECK(graph.calls == 1);
  CHECK(graph.effects == 1);
}

TEST_CASE("an executor whose own run has ended is not called again if its edges are as they were",
          "[workflow][inner]") {
  Graph graph;
  const auto store = graph.crashed({"b", "c"}, false);
  CHECK(ends_with(graph.leading_to({"c", "b"}), store) == std::set<std::string>{"b5", "c5"});
  CHECK(graph.calls == 0);
}

TEST_CASE("an executor whose process died in its last attempt is called again only if asked to",
          "[workflow][inner]") {
  int calls = 0;
  const auto graph = built(WorkflowBuilder("w")
                               .executor("a", stateless([&](const int& n) { return n + ++calls; }),
                                         {.limits = Limits{.max_attempts = 1}})
                               .start("a"));
  const auto finished = memory();
  REQUIRE_OK(WorkflowRun(graph, {.run_id = "w", .store = finished}).run(5));
  const auto store = died_at_work(*finished);
  calls = 0;
  const auto at_limit = WorkflowRun(graph, {.run_id = "w", .store = store}).resume();
  CHECK_ERRC(Errc::escalated, at_limit);
  CHECK_THAT(at_limit.error().message(), ContainsSubstring("limits.max_attempts (1) reached"));
  CHECK(calls == 0);
  CHECK_ERRC(Errc::escalated,
             WorkflowRun(graph, {.run_id = "w", .store = store, .retry_failed = false}).resume());
  CHECK(calls == 0);
  REQUIRE_OK(WorkflowRun(graph, {.run_id = "w", .store = store}).resume());
  CHECK(calls == 1);
}

TEST_CASE("what an executor's own run has made of a failure does not count once that is mended",
          "[workflow][inner]") {
  bool broken = true;
  bool asks = false;
  const auto graph =
      built(WorkflowBuilder("w")
                .port<int>("n")
                .executor("a", stateless([&](const int& n) -> Result<int> {
                            if (broken) return Error{Errc::io, "down"};
                            return n;
                          }),
                          {.instead = [](const Error&) { return make_message(-1); }})
                .executor("b",
                          [](const int& n, Context& context) {
                            context.shared().set("got", n);
                            return 0;
                          })
                .executor("c", stateless([&](const int&, Context& context) {
                            const int got = context.shared().value("got", 0);
                            return got > 0 && asks ? context.request<int>("n", got) : got;
                          }),
                          {.limits = Limits{}})
                .start("a")
                .chain({"a", "b", "c"}));
  const auto failed = MemoryStore::create();
  CHECK_ERRC(Errc::escalated, WorkflowRun(graph, {.run_id = "w", .store = failed}).run(1));
  broken = false;
  SECTION("a process dies before it is stored in the workflow's run") {
    WorkflowRun run(graph,
                    {.run_id = "w", .store = crashed_before(*failed, "triage/done/c/1", false)});
    const auto done = run.resume();
    REQUIRE_OK(done);
    CHECK(done.value().value() == 1);
  }
  SECTION("the executor asks meanwhile") {
    asks = true;
    for (int go = 0; go < 2; ++go) {
      CHECK_ERRC(Errc::suspended, WorkflowRun(graph, {.run_id = "w", .store = failed}).resume());
    }
    WorkflowRun run(graph, {.run_id = "w", .store = failed});
    REQUIRE_OK(run.answer("c/1/n/1", 7));
    const auto done = run.resume();
    REQUIRE_OK(done);
    CHECK(done.value().value() == 7);
  }
}

TEST_CASE("an executor knows what its own run had learnt before a process died",
          "[workflow][inner]") {
  bool broken = true;
  const auto graph = built(
      WorkflowBuilder("w")
          .executor("numbers",
                    [](const int&, Context& context) {
                      for (const int n : {3, 0, 5, 7}) context.send(n);
                    })
          .executor("sum", Sums{&broken},
                    {.limits = Limits{}, .instead = [](const Error&) { return make_message(-1); }})
          .start("numbers")
          .edge("numbers", "sum"));
  const auto failed = MemoryStore::create();
  CHECK_ERRC(Errc::escalated, WorkflowRun(graph, {.run_id = "w", .store = failed}).run(1));
  broken = false;
  WorkflowRun run(graph,
                  {.run_id = "w", .store = crashed_before(*failed, "triage/done/sum/3", false)});
  const auto done = run.resume();
  REQUIRE_OK(done);
  std::vector<Json> sums;
  for (const Output& one : done.value().outputs) sums.push_back(one.value);
  CHECK(sums == std::vector<Json>{3, 3, 8, 15});
}

TEST_CASE("what an earlier version has left of an executor's own run counts as long as it can",
          "[workflow][inner]") {
  Graph graph;
  CHECK(ends_with(graph.leading_to({"c"}), graph.crashed({"b"}, true)) ==
        std::set<std::string>{"c5"});
  CHECK(graph.calls == 1);
}
