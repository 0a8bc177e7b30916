// SPDX-License-Identifier: MIT
// Who owns a run, and that other runs are left alone.
#include "kit.hpp"
#include "support/temp_folder.hpp"
#include "triage/agent.hpp"
#include "triage/policies/stop.hpp"
#include "triage/stores/interchange.hpp"
#include "triage/stores/sqlite.hpp"
#include "triage/testing/flaky_store.hpp"

#include <atomic>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

using namespace triage;
using namespace triage::workflow;
using namespace triage::test;
using Catch::Matchers::ContainsSubstring;

namespace {

Workflow adding(const std::string& id, int step) {
  const auto add = stateless([step](const int& n, Context& context) {
    context.shared().set(context.executor(), n + step);
    return n + step;
  });
  return built(
      WorkflowBuilder(id).executor("a", add).executor("b", add).executor("c", add).start("a").chain(
          {"a", "b", "c"}));
}

// The bytes of all records of a run.
std::vector<std::string> bytes_of(CheckpointStore& store, const RunId& run) {
  const auto reading = store.read(run, {});
  REQUIRE_OK(reading);
  std::vector<std::string> all;
  for (const Record& record : reading.value().records) {
    all.emplace_back(to_string(record.kind()));
    record.encode_body(all.back());
  }
  return all;
}

std::shared_ptr<CheckpointStore> opened(const TempFolder& folder, const std::string& name) {
  auto store = SqliteStore::open(folder.file(name));
  REQUIRE_OK(store);
  return store.value();
}

}  // namespace

TEST_CASE("a run that is under way is busy for everybody else", "[workflow][identity]") {
  const TempFolder folder;
  const auto store = opened(folder, "w.db");
  std::optional<Result<WorkflowResult>> other;
  std::optional<Result<WorkflowResult>> started;
  std::optional<Workflow> self;
  const auto graph =
      built(WorkflowBuilder("w")
                .executor("a", stateless([&](const int& n) {
                            if (!other) {
                              const WorkflowRunOptions same{.run_id = "w", .store = store};
                              other = WorkflowRun(*self, same).resume();
                              started = WorkflowRun(*self, same).run(n);
                            }
                            return n;
                          }))
                .start("a"));
  self = graph;
  REQUIRE_OK(WorkflowRun(graph, {.run_id = "w", .store = store}).run(1));
  CHECK_ERRC(Errc::busy, *other);
  CHECK_ERRC(Errc::busy, *started);
}

TEST_CASE("the id of another workflow's run, or of no workflow's, is a conflict",
          "[workflow][identity]") {
  const auto store = memory();
  WorkflowRun one(adding("one", 1), {.run_id = "w", .store = store});
  REQUIRE_OK(one.run(1));
  const auto refused =
      WorkflowRun(adding("two", 1), {.run_id = "w", .store = store}).start_or_resume(1);
  CHECK_ERRC(Errc::conflict, refused);
  CHECK_THAT(refused.error().detail, ContainsSubstring("workflow"));
  const auto from = rehydrate(adding("two", 1), to_string(one.checkpoints().value().back().id),
                              store, {.run_id = "new"});
  REQUIRE_FALSE(from);
  CHECK(from.error().code == Errc::conflict);

  const auto plain = [](const int& n, Attempt& attempt) {
    attempt.update_state({{"n", n}});
    return n;
  };
  FailurePolicy policy;
  policy.otherwise(escalate());
  REQUIRE_OK(
      TriageAgent(plain, policy, {.name = "plain", .store = store}).run(1, {.run_id = "plain"}));
  CHECK_ERRC(Errc::conflict,
             WorkflowRun(adding("one", 1), {.run_id = "plain", .store = store}).resume());
}

TEST_CASE("runs without an id get one each", "[workflow][identity]") {
  const auto store = memory();
  const auto graph = adding("w", 1);
  WorkflowRun one(graph, {.store = store});
  WorkflowRun two(graph, {.store = store});
  REQUIRE_OK(one.run(1));
  REQUIRE_OK(two.run(5));
  CHECK_FALSE(one.id().empty());
  CHECK(one.id() != two.id());
  CHECK(one.state().value() != two.state().value());
}

TEST_CASE("branches that write side by side leave their origin as it was, byte for byte",
          "[workflow][identity]") {
  const TempFolder folder;
  const auto store = opened(folder, "w.db");
  const auto graph = adding("w", 1);
  WorkflowRun origin(graph, {.run_id = "origin", .store = store});
  REQUIRE_OK(origin.run(1));
  const auto before = bytes_of(*store, "origin");
  const auto checkpoints = origin.checkpoints();
  REQUIRE_OK(checkpoints);
  const std::string from = to_string(checkpoints.value().back().id);
  std::atomic<int> right{0};
  {
    std::vector<std::jthread> people;
    for (int i = 0; i < 4; ++i) {
      people.emplace_back([&, i] {
        WorkflowRun branch(graph, {.store = store});
        const auto done = branch.fork(from, {.outputs = {{"a", 10 * i}}});
        if (done && done.value().value() == 10 * i + 2) ++right;
      });
    }
  }
  CHECK(right == 4);
  CHECK(bytes_of(*store, "origin") == before);
  WorkflowRun again(graph, {.run_id = "origin", .store = store});
  const auto recorded = again.start_or_resume(1);
  REQUIRE_OK(recorded);
  CHECK(recorded.value().value() == 4);
  CHECK(again.handler_calls() == 0);
}

TEST_CASE("a run goes on in a store of another kind that its copy was taken to",
          "[workflow][identity]") {
  const TempFolder folder;
  const auto store = opened(folder, "w.db");
  bool works = false;
  int calls = 0;
  const auto graph = built(WorkflowBuilder("w")
                               .executor("a", stateless([&](const int& n, Context& context) {
                                           ++calls;
                                           context.memory("a").set("seen", n);
                                           context.shared().set("key", "value");
                                           return std::string(2'000, 'x') + std::to_string(n);
                                         }))
                               .executor("b", stateless([&](const std::string& text) {
                                           if (!works) throw std::runtime_error("not here");
                                           return text.size();
                                         }))
                               .start("a")
                               .chain({"a", "b"}));
  CHECK_FALSE(WorkflowRun(graph, {.run_id = "w", .store = store}).run(7));
  std::stringstream file;
  const std::vector<RunId> runs{"w"};
  REQUIRE_OK(export_runs(*store, runs, file));
  const auto elsewhere = memory();
  REQUIRE_OK(import_runs(*elsewhere, file));
  works = true;
  WorkflowRun rest(graph, {.run_id = "w", .store = elsewhere});
  const auto done = rest.start_or_resume(7);
  REQUIRE_OK(done);
  CHECK(done.value().value() == 2'001);
  CHECK(calls == 1);
  auto branch = rehydrate(graph, to_string(rest.checkpoints().value().front().id), elsewhere);
  REQUIRE_OK(branch);
  REQUIRE_OK(branch.value().resume());
  CHECK(calls == 2);
}

TEST_CASE("what looks like the library's own records is data in messages and state",
          "[workflow][identity]") {
  const auto store = memory();
  const Json data{{"triage/done/b/1", {{"sent", Json::array()}}},
                  {"", {{"", "NAME"}}},
                  {"kind", "run_started"},
                  {"t", "x"},
                  {"v", nullptr}};
  const auto graph = built(WorkflowBuilder("w")
                               .executor("a",
                                         [](const Json& got, Context& context) {
                                           context.shared().set("kept", got);
                                           return got;
                                         })
                               .executor("b",
                                         [](const Json& got, Context& context) -> Json {
                                           const auto kept = context.shared().value("kept", Json());
                                           return Json::array({got, kept});
                                         })
                               .start("a")
                               .chain({"a", "b"}));
  REQUIRE_OK(WorkflowRun(graph, {.run_id = "w", .store = store}).run(data));
  const auto recorded = WorkflowRun(graph, {.run_id = "w", .store = store}).start_or_resume(data);
  REQUIRE_OK(recorded);
  CHECK(recorded.value().value() == Json::array({data, data}));
}

TEST_CASE("a store that fails from the n-th write on loses nothing that it has, for all n",
          "[workflow][identity]") {
  using testing::FaultPoint;
  using testing::StoreOperation;
  const FaultPoint point = GENERATE(FaultPoint::before, FaultPoint::after);
  std::map<std::string, int> acts;
  const auto work = stateless([&](const int& n, Context& context) {
    return context.effect("act", [&] { return ++acts[context.executor()], n + 1; },
                          {.reconcile = [&, n, id = context.executor()] {
                            return acts.contains(id) ? Reconciled::done(n + 1)
                                                     : Reconciled::not_done();
                          }});
  });
  WorkflowBuilder builder("w");
  builder.executor("start", work).start("start");
  std::vector<std::string> all;
  for (int i = 0; i < 5; ++i) {
    all.push_back("n" + std::to_string(i));
    builder.executor(all.back(), work);
  }
  builder.executor("end", [](const std::vector<int>& got) {
    int sum = 0;
    for (const int n : got) sum += n;
    return sum;
  });
  const auto graph = built(builder.fan_out("start", all).fan_in(all, "end"));
  int failed = 0;
  for (int n = 1;; ++n) {
    acts.clear();
    const auto inner = MemoryStore::create();
    const auto store = testing::FlakyStore::around(inner);
    std::atomic<int> writes{0};
    store->fail_when([&](StoreOperation operation) -> std::optional<FaultPoint> {
      if (operation != StoreOperation::append && operation != StoreOperation::start) {
        return std::nullopt;
      }
      return ++writes >= n ? std::optional(point) : std::nullopt;
    });
    INFO("from write " << n << " on");
    std::size_t before = 0;
    {
      WorkflowRun run(graph, {.run_id = "w", .store = store, .threads = 1});
      const auto result = run.run(1);
      if (result) REQUIRE(result.value().value() == 15);
      if (!result) {
        CHECK_FALSE(result.error().detail.empty());
        ++failed;
      }
    }
    if (writes < n) break;
    const auto latest = inner->latest("w");
    if (latest && latest.value().state.values()) {
      for (const auto& [key, value] : *latest.value().state.values()) {
        before += key.rfind("triage/done/", 0) == 0 ? 1U : 0U;
      }
    }
    store->heal();
    WorkflowRun rest(graph, {.run_id = "w", .store = store, .threads = 1});
    const auto done = rest.start_or_resume(1);
    REQUIRE_OK(done);
    CHECK(done.value().value() == 15);
    CHECK(before + rest.handler_calls() <= 7);
    for (const auto& [id, times] : acts) {
      INFO(id);
      CHECK(times == 1);
    }
  }
  CHECK(failed > 10);
}

TEST_CASE("effects are told apart by resource and key, whatever letters these have",
          "[workflow][identity]") {
  std::atomic<int> acts{0};
  const auto graph = built(WorkflowBuilder("w")
                               .executor("a", stateless([&](const Json&, Context& context) {
                                           const auto act = [&] { return ++acts; };
                                           return Json{context.effect_on("b@c", "a", act),
                                                       context.effect_on("c", "a@b", act),
                                                       context.effect("pay@account", act),
                                                       context.effect_on("account", "pay", act),
                                                       context.effect_on("account", "pay", act)};
                                         }))
                               .start("a"));
  const auto done = WorkflowRun(graph, {.run_id = "w", .store = memory()}).run(nullptr);
  REQUIRE_OK(done);
  CHECK(done.value().value() == Json{1, 2, 3, 4, 4});
}

TEST_CASE("a run whose process died too often goes on when it is revived", "[workflow][identity]") {
  FailurePolicy policy;
  policy.otherwise(escalate());
  const bool own_run = GENERATE(false, true);
  std::atomic<bool> broken{true};
  const auto graph = built(WorkflowBuilder("w")
                               .executor("a", stateless([&](const int& n) -> Result<int> {
                                           if (broken) return Error{Errc::io, "no"};
                                           return n;
                                         }),
                                         {.policy = own_run ? std::optional(policy) : std::nullopt})
                               .start("a"));
  const auto store = memory();
  REQUIRE_FALSE(WorkflowRun(graph, {.run_id = "w", .store = store}).run(1).has_value());
  const auto runs = store->runs({});
  REQUIRE_OK(runs);
  CHECK(runs.value().size() == (own_run ? 2 : 1));
  for (const RunInfo& one : runs.value()) {
    const auto lease = store->acquire(one.id);
    REQUIRE_OK(lease);
    REQUIRE_OK(store->append(lease.value(), {}, RunStatus::poisoned));
    REQUIRE_OK(store->release(lease.value()));
  }
  broken = false;
  CHECK_ERRC(Errc::conflict, WorkflowRun(graph, {.run_id = "w", .store = store}).resume());
  const auto done = WorkflowRun(graph, {.run_id = "w", .store = store, .revive = true}).resume();
  REQUIRE_OK(done);
  CHECK(done.value().value() == 1);
}
