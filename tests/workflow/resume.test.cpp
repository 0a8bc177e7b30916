// SPDX-License-Identifier: MIT
#include "kit.hpp"
#include "triage/policies/retry.hpp"
#include "triage/testing/flaky_store.hpp"

#include <atomic>
#include <vector>

using namespace triage;
using namespace triage::workflow;
using namespace triage::test;
using Catch::Matchers::ContainsSubstring;

namespace {

// a -> b, where b asks; counts calls of both.
struct Asking {
  std::atomic<int> a{0};
  std::atomic<int> b{0};
  Workflow workflow = built(WorkflowBuilder("w")
                                .port<int>("n")
                                .executor("a", stateless([this](const int& n) {
                                            ++a;
                                            return n + 1;
                                          }))
                                .executor("b", stateless([this](const int& n, Context& context) {
                                            ++b;
                                            return n * context.request<int>("n", n);
                                          }))
                                .start("a")
                                .edge("a", "b"));
};

std::string checkpoint_at(const WorkflowRun& run, const std::string& trigger) {
  const auto all = run.checkpoints();
  REQUIRE_OK(all);
  for (const auto& one : all.value()) {
    if (one.trigger == trigger) return to_string(one.id);
  }
  FAIL("no checkpoint by " << trigger);
  return "";
}

// Sums its inputs in a member; the third message is too much for version 1.
template <int version>
struct Sum {
  bool fails = false;
  int sum = 0;

  int operator()(const int& n, Context& context) {
    const auto seen = context.state().value("seen", Json(0));
    context.state().set("seen", version == 1 ? Json(seen.get<int>() + 1)
                                             : Json{{"count", seen.at("count").get<int>() + 1}});
    sum += n;
    if (fails && n == 3) throw std::runtime_error("too much");
    context.output(Json{{"sum", sum}, {"seen", *context.state().find("seen")}});
    return n + 1;
  }
  [[nodiscard]] Json save() const { return version == 1 ? Json(sum) : Json{{"sum", sum}}; }
  Result<void> restore(const Json& saved) {
    sum = (version == 1 ? saved : saved.at("sum")).template get<int>();
    return outcome::success();
  }
};

WorkflowBuilder summing_with(const std::string& version, bool fails = false) {
  const ExecutorOptions options{.version = version};
  WorkflowBuilder builder("w");
  if (version != "2") {
    builder.executor("sum", Sum<1>{.fails = fails}, options);
  } else {
    builder.executor("sum", Sum<2>{.fails = fails}, options);
  }
  return builder.start("sum").edge("sum", "sum", when<int>([](int n) { return n <= 4; }));
}

Result<ExecutorState> to_two(ExecutorState old) {
  return ExecutorState{Json{{"sum", old.saved}},
                       Json{{"seen", Json{{"count", old.state.at("seen")}}}}};
}

}  // namespace

TEST_CASE("a live run goes back to a checkpoint, and answers given after it do not count",
          "[workflow][resume]") {
  Asking asking;
  const auto store = memory();
  WorkflowRun run(asking.workflow, {.run_id = "w", .store = store});
  CHECK_ERRC(Errc::suspended, run.run(1));
  REQUIRE_OK(run.answer("b/1/n/1", 10));
  const auto first = run.resume();
  REQUIRE_OK(first);
  CHECK(first.value().value() == 20);

  const std::string after_a = checkpoint_at(run, "superstep_ended/1");
  CHECK_ERRC(Errc::suspended, run.restore(after_a));
  CHECK(run.pending_requests().value().size() == 1);
  CHECK(asking.a == 1);
  REQUIRE_OK(run.answer("b/1/n/1", 100));
  const auto second = run.resume();
  REQUIRE_OK(second);
  CHECK(second.value().value() == 200);
  CHECK(asking.a == 1);

  // Any number of times, also from the entry.
  CHECK_ERRC(Errc::suspended, run.restore(checkpoint_at(run, "run_started")));
  CHECK(asking.a == 2);
  REQUIRE_OK(run.answer("b/1/n/1", 1000));
  REQUIRE_OK(run.resume());
  CHECK(run.resume().value().value() == 2000);

  CHECK_ERRC(Errc::not_found, run.restore("w@999"));
  CHECK_ERRC(Errc::invalid_argument, run.restore("other@3"));
}

TEST_CASE("a checkpoint is rehydrated twice in new objects, as branches side by side",
          "[workflow][resume]") {
  Asking asking;
  const auto store = memory();
  std::string at;
  {
    WorkflowRun origin(asking.workflow, {.run_id = "origin", .store = store});
    CHECK_ERRC(Errc::suspended, origin.run(1));
    at = checkpoint_at(origin, "superstep_ended/1");
    REQUIRE_OK(origin.answer("b/1/n/1", 5));
    REQUIRE_OK(origin.resume());
  }
  const auto before = store->read("origin", {}).value().records.size();
  for (const int answer : {7, 9}) {
    auto branch = rehydrate(asking.workflow, at, store,
                            {.checkpoints = CheckpointPolicy{.on = CheckpointTriggers::none()}});
    REQUIRE_OK(branch);
    WorkflowRun& run = branch.value();
    CHECK_ERRC(Errc::suspended, run.resume());
    REQUIRE_OK(run.answer("b/1/n/1", answer));
    const auto done = run.resume();
    REQUIRE_OK(done);
    CHECK(done.value().value() == 2 * answer);
  }
  CHECK(asking.a == 1);
  CHECK(store->read("origin", {}).value().records.size() == before);
  CHECK_ERRC(Errc::not_found, rehydrate(asking.workflow, "origin@999", store));
}

TEST_CASE("a workflow of which parts differ that had their turn is refused, and says which",
          "[workflow][resume]") {
  const auto build = [](const std::string& a, const std::string& b, bool more, bool fails) {
    WorkflowBuilder builder("w");
    builder.executor("a", [](const int& n) { return n; }, {.version = a})
        .executor("b", stateless([fails](const int& n) {
                    if (fails) throw std::runtime_error("no");
                    return n;
                  }),
                  {.version = b})
        .start("a")
        .edge("a", "b");
    if (more) builder.executor("c", [](const int& n) { return n + 100; }).edge("b", "c");
    return built(builder);
  };
  const auto stopped = [&] {
    const auto store = memory();
    CHECK_FALSE(WorkflowRun(build("1", "1", false, true), {.run_id = "w", .store = store})
                    .run(1)
                    .has_value());
    return store;
  };
  const auto store = stopped();
  const auto go_on = [&](const Workflow& workflow, bool force = false) {
    return WorkflowRun(workflow, {.run_id = "w", .store = store, .force = force})
        .start_or_resume(1);
  };
  const auto refused = go_on(build("2", "2", false, false));
  CHECK_ERRC(Errc::conflict, refused);
  CHECK_THAT(refused.error().detail, ContainsSubstring("executor a (version 1, now 2)"));
  CHECK_THAT(refused.error().detail, !ContainsSubstring("executor b"));

  // b has not finished anything, and c is new after it.
  const auto done = go_on(build("1", "2", true, false));
  REQUIRE_OK(done);
  CHECK(done.value().value() == 101);
  // These are the run's parts from now on.
  REQUIRE_OK(go_on(build("1", "2", true, false)));

  const auto other = stopped();
  REQUIRE_OK(
      WorkflowRun(build("2", "2", false, false), {.run_id = "w", .store = other, .force = true})
          .start_or_resume(1));
}

TEST_CASE("a new version of an executor takes over what the old one left behind, once",
          "[workflow][resume]") {
  const auto store = memory();
  CHECK_FALSE(WorkflowRun(built(summing_with("1", true)), {.run_id = "w", .store = store})
                  .run(1)
                  .has_value());
  const auto two = built(summing_with("2"));
  CHECK_ERRC(Errc::conflict, WorkflowRun(two, {.run_id = "w", .store = store}).resume());

  std::atomic<int> migrations{0};
  const auto migrating = [&](bool fails) {
    return built(summing_with("2", fails).migrate("sum", "1", "2", [&](ExecutorState old) {
      ++migrations;
      return to_two(std::move(old));
    }));
  };
  CHECK_FALSE(WorkflowRun(migrating(true), {.run_id = "w", .store = store}).resume().has_value());
  const auto done = WorkflowRun(migrating(false), {.run_id = "w", .store = store}).resume();
  REQUIRE_OK(done);
  CHECK(migrations == 1);
  REQUIRE(done.value().outputs.size() == 4);
  CHECK(done.value().value() == Json{{"sum", 10}, {"seen", {{"count", 4}}}});
}

TEST_CASE("a migration may begin at a version with a long name", "[workflow][resume]") {
  const std::string old(100, '1');
  const auto store = memory();
  CHECK_FALSE(WorkflowRun(built(summing_with(old, true)), {.run_id = "w", .store = store})
                  .run(1)
                  .has_value());
  REQUIRE_OK(WorkflowRun(built(summing_with("2").migrate("sum", old, "2", to_two)),
                         {.run_id = "w", .store = store})
                 .resume());
}

TEST_CASE("a migration that fails, or leads nowhere, changes nothing", "[workflow][resume]") {
  const auto store = memory();
  CHECK_FALSE(WorkflowRun(built(summing_with("1", true)), {.run_id = "w", .store = store})
                  .run(1)
                  .has_value());
  const auto failing =
      built(summing_with("2").migrate("sum", "1", "2", [](ExecutorState) -> Result<ExecutorState> {
        throw std::runtime_error("lost");
      }));
  const auto refused = WorkflowRun(failing, {.run_id = "w", .store = store}).resume();
  CHECK_ERRC(Errc::conflict, refused);
  CHECK_THAT(refused.error().detail, ContainsSubstring("from version 1 to 2: lost"));
  REQUIRE_OK(WorkflowRun(built(summing_with("2").migrate("sum", "1", "2", to_two)),
                         {.run_id = "w", .store = store})
                 .resume());

  CHECK_ERRC(Errc::invalid_argument, summing_with("2").migrate("sun", "1", "2", to_two).build());
  CHECK_ERRC(Errc::invalid_argument, summing_with("2").migrate("sum", "2", "2", to_two).build());
}

TEST_CASE("a run that has asked at a port is not continued where its answers are of another type",
          "[workflow][resume]") {
  const auto store = memory();
  CHECK_ERRC(Errc::suspended,
             WorkflowRun(Asking().workflow, {.run_id = "w", .store = store}).run(1));
  const auto other = [](bool nested) {
    WorkflowBuilder inner("w");
    inner.port<std::string>("n")
        .executor("a", [](const int& n) { return n; })
        .executor("b", [](const int& n, Context& c) { return c.request<std::string>("n", n); })
        .start("a")
        .edge("a", "b");
    if (!nested) return built(inner);
    return built(WorkflowBuilder("outer").executor("w", built(inner)).start("w"));
  };
  const auto refused = WorkflowRun(other(false), {.run_id = "w", .store = store}).resume();
  CHECK_ERRC(Errc::conflict, refused);
  CHECK_THAT(refused.error().detail, ContainsSubstring(": port n (changed);"));
  CHECK(other(true).fingerprint().contains("port w/n"));

  // Nobody has been asked at the other port.
  const auto more =
      built(WorkflowBuilder("w")
                .port<int>("n")
                .port<std::string>("unused")
                .executor("a", [](const int& n) { return n; })
                .executor("b", [](const int& n, Context& c) { return c.request<int>("n", n); })
                .start("a")
                .edge("a", "b"));
  CHECK_ERRC(Errc::suspended, WorkflowRun(more, {.run_id = "w", .store = store}).resume());
}

TEST_CASE("a run that an older version of the library has begun is continued",
          "[workflow][resume]") {
  const auto store = memory();
  CHECK_ERRC(Errc::suspended,
             WorkflowRun(Asking().workflow, {.run_id = "w", .store = store}).run(1));
  // It wrote the fingerprint as an object, and had no ports.
  const JournalReading reading = store->read("w", {}).value();
  std::vector<Record> records;
  for (const Record& record : reading.records) {
    Json body = record.body().value();
    if (record.kind() == RecordKind::run_started) {
      Json& parts = body.at("task").at("parts");
      parts = Json::parse(parts.get<std::string>());
      REQUIRE(parts.erase("port n") == 1);
    }
    records.emplace_back(record.seq(), record.kind(), record.time(),
                         std::make_shared<const Json>(std::move(body)));
  }
  const auto older = MemoryStore::create();
  const Lease lease = older->start(reading.info, records).value();
  REQUIRE_OK(older->release(lease));

  const Asking asking;
  WorkflowRun run(asking.workflow, {.run_id = "w", .store = older});
  REQUIRE_OK(run.answer("b/1/n/1", 10));
  const auto done = run.start_or_resume(1);
  REQUIRE_OK(done);
  CHECK(done.value().value() == 20);
  CHECK(asking.a == 0);
  REQUIRE_OK(run.start_or_resume(1));
  CHECK_ERRC(Errc::conflict, run.start_or_resume(2));
}

TEST_CASE("an executor whose policy has given up is tried again when the run goes on",
          "[workflow][resume]") {
  std::atomic<int> calls{0};
  FailurePolicy policy;
  policy.otherwise(retry({.max_attempts = 2, .delay = Duration::zero()}));
  const auto graph = built(WorkflowBuilder("w")
                               .executor("a", stateless([&](const int& n) {
                                           if (++calls < 5) throw std::runtime_error("not yet");
                                           return n;
                                         }),
                                         {.policy = policy})
                               .start("a"));
  const auto store = memory();
  const WorkflowRunOptions options{.run_id = "w", .store = store};
  CHECK_ERRC(Errc::escalated, WorkflowRun(graph, options).run(1));
  CHECK(calls == 2);
  // A policy counts on: one more try each time.
  CHECK_ERRC(Errc::escalated, WorkflowRun(graph, options).resume());
  CHECK(calls == 3);
  auto keeps = options;
  keeps.retry_failed = false;
  CHECK_ERRC(Errc::escalated, WorkflowRun(graph, keeps).start_or_resume(1));
  CHECK(calls == 3);
  CHECK_ERRC(Errc::escalated, WorkflowRun(graph, options).start_or_resume(1));
  REQUIRE_OK(WorkflowRun(graph, options).resume());
  CHECK(calls == 5);
}

TEST_CASE("a branch that could not begin may be tried again", "[workflow][resume]") {
  const auto store = testing::FlakyStore::around(memory());
  const auto graph =
      built(WorkflowBuilder("w").executor("a", [](const int& n) { return n + 1; }).start("a"));
  WorkflowRun origin(graph, {.run_id = "origin", .store = store});
  REQUIRE_OK(origin.run(1));
  auto branch = rehydrate(graph, to_string(origin.checkpoints().value().front().id), store);
  REQUIRE_OK(branch);
  store->fail_until_healed();
  CHECK_ERRC(Errc::io, branch.value().resume());
  store->heal();
  const auto done = branch.value().resume();
  REQUIRE_OK(done);
  CHECK(done.value().value() == 2);
}

TEST_CASE("a run that keeps its failures is not tried again, but goes on when it is answered",
          "[workflow][resume]") {
  std::atomic<int> calls{0};
  const auto fails = built(WorkflowBuilder("w")
                               .executor("a", stateless([&](const int&) -> Result<int> {
                                           ++calls;
                                           return Error{Errc::io, "no"};
                                         }))
                               .start("a"));
  WorkflowRun failed(fails, {.run_id = "w", .store = memory(), .retry_failed = false});
  REQUIRE_FALSE(failed.run(1).has_value());
  REQUIRE_FALSE(failed.resume().has_value());
  CHECK(calls == 1);
  Asking asking;
  WorkflowRun run(asking.workflow, {.run_id = "w", .store = memory(), .retry_failed = false});
  CHECK_ERRC(Errc::suspended, run.start_or_resume(1));
  REQUIRE_OK(run.answer("b/1/n/1", 10));
  REQUIRE_OK(run.start_or_resume(1));
}

TEST_CASE("an executor that finds nothing is not taken for a run that does not exist",
          "[workflow][run]") {
  const auto store = memory();
  bool there = false;
  const auto graph = built(WorkflowBuilder("w")
                               .executor("a", stateless([&](const int& n) -> Result<int> {
                                           if (!there) return Error{Errc::not_found, "no page"};
                                           return n;
                                         }))
                               .start("a"));
  for (int i = 0; i < 2; ++i) {
    const auto failed = start_or_resume(graph, "r", 1, store);
    CHECK_ERRC(Errc::not_found, failed);
    CHECK_THAT(failed.error().detail, ContainsSubstring("no page"));
  }
  there = true;
  REQUIRE_OK(start_or_resume(graph, "r", 1, store));
}
