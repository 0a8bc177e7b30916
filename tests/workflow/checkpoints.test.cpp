// SPDX-License-Identifier: MIT
#include "kit.hpp"
#include "triage/forwarding_store.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <stop_token>
#include <vector>

using namespace triage;
using namespace triage::workflow;
using namespace triage::test;
using Catch::Matchers::ContainsSubstring;

namespace {

// What made them, or the labels of those that have one.
using Labels = std::set<std::string>;

Labels labels(const WorkflowRun& run) {
  const auto all = run.checkpoints();
  REQUIRE_OK(all);
  Labels found;
  for (const auto& one : all.value()) found.insert(one.label.empty() ? one.trigger : one.label);
  return found;
}

// Does everything that a trigger may refer to.
const auto everything = [](CheckpointTrigger trigger, std::shared_ptr<std::stop_source> stop) {
  return stateless([trigger, stop](const Json&, Context& context) -> Json {
    context.record_step({.action = "ask", .tool_called = "tool", .llm_output = "text"});
    context.effect("act", [] { return 1; });
    if (context.request<int>("port", "?") != 7) throw std::logic_error("another answer");
    context.plan_patched();
    if (trigger == CheckpointTrigger::task_failed) throw std::runtime_error("no");
    if (trigger == CheckpointTrigger::terminate_signal && stop) stop->request_stop();
    return 1;
  });
};

ExecutorOptions options(CheckpointChoice choice = {}) {
  return {.instead = [](const Error&) { return make_message(Json(1)); },
          .instead_is_failure = false,
          .checkpoints = choice,
          .patches_plan = true};
}

// "other" inherits, and "probe", this many workflows below it, has the choice.
Result<Workflow> at_depth(int depth, CheckpointTrigger trigger, CheckpointChoice choice,
                          CheckpointTriggers around, std::shared_ptr<std::stop_source> stop) {
  std::optional<Workflow> inside;
  for (int level = depth; level > 0; --level) {
    WorkflowBuilder builder("nested");
    builder.port<int>("port");
    if (inside) {
      builder.executor("in", *inside).start("in");
    } else {
      builder.executor("probe", everything(trigger, stop), options(choice)).start("probe");
    }
    auto nested = builder.build();
    if (!nested) return std::move(nested).error();
    inside = std::move(nested).value();
  }
  WorkflowBuilder builder("w", {.checkpoints = CheckpointPolicy{.on = around}});
  builder.port<int>("port")
      .executor("other", everything(trigger, nullptr), options())
      .start("other");
  if (inside) {
    builder.executor("in", *inside).edge("other", "in");
  } else {
    builder.executor("probe", everything(trigger, stop), options(choice)).edge("other", "probe");
  }
  return builder.build();
}

Labels made_by(const Workflow& workflow, std::shared_ptr<std::stop_source> stop) {
  WorkflowRun run(workflow, {.run_id = "w", .store = memory(), .stop_token = stop->get_token()});
  auto done = run.start_or_resume(1);
  for (int i = 0; i < 2 && !done && done.error().code == Errc::suspended; ++i) {
    const auto pending = run.pending_requests();
    REQUIRE_OK(pending);
    for (const auto& asked : pending.value()) REQUIRE_OK(run.answer(asked.id, 7));
    done = run.resume();
  }
  CHECK((done || done.error().code == Errc::cancelled));
  Labels found = labels(run);
  CHECK(found.erase("run_started") == 1);
  return found;
}

bool of_the_run(CheckpointTrigger trigger) {
  return trigger == CheckpointTrigger::run_started ||
         trigger == CheckpointTrigger::terminate_signal;
}

Labels expected(CheckpointTrigger trigger, int depth, bool other, bool probe) {
  const std::string name(to_string(trigger));
  if (trigger == CheckpointTrigger::run_started) return {};  // The entry, which always exists.
  if (of_the_run(trigger)) return {name};
  const std::string path = depth == 0 ? "probe" : depth == 1 ? "in/probe" : "in/in/probe";
  // An answer belongs to a request of any delivery.
  const std::string occurrence = trigger == CheckpointTrigger::response_accepted ? "/0" : "/1";
  Labels all;
  const bool step = trigger == CheckpointTrigger::superstep_ended;
  if (other) all.insert(step ? name + "/1" : name + "/other" + occurrence);
  if (probe) all.insert(step ? name + "/2" : name + "/" + path + occurrence);
  return all;
}

// Rejects what it is told to reject.
class Moody final : public ForwardingStore {
 public:
  explicit Moody(std::shared_ptr<CheckpointStore> below) : ForwardingStore(std::move(below)) {}
  Result<void> append(const Lease& lease, std::span<const Record> records,
                      RunStatus status) override {
    if (down) return Error{Errc::io, "no space left on device"};
    for (const Record& one : records) {
      if (labelled && one.kind() == RecordKind::checkpoint_labelled) labelled();
    }
    return ForwardingStore::append(lease, records, status);
  }
  void append_group(std::span<AppendBatch> batches) override {
    for (AppendBatch& batch : batches)
      batch.outcome = append(batch.lease, batch.records, batch.status);
  }
  std::atomic<bool> down{false};
  std::function<void()> labelled{};  // Called before a label is written.
};

}  // namespace

TEST_CASE("every trigger makes checkpoints of those who inherit it or own it, at three depths",
          "[workflow][checkpoints]") {
  for (int number = 0; number < static_cast<int>(CheckpointTrigger::all); ++number) {
    const auto trigger = static_cast<CheckpointTrigger>(number);
    for (const int depth : {0, 1, 2}) {
      const auto with = [&](CheckpointChoice choice, CheckpointTriggers around) {
        auto stop = std::make_shared<std::stop_source>();
        const auto workflow = at_depth(depth, trigger, choice, around, stop);
        REQUIRE_OK(workflow);
        return made_by(workflow.value(), stop);
      };
      INFO(to_string(trigger) << " at depth " << depth);
      CHECK(with(CheckpointChoice::inherit(), trigger) == expected(trigger, depth, true, true));
      CHECK(with(CheckpointChoice::off(), trigger) == expected(trigger, depth, true, false));
      if (of_the_run(trigger)) {
        const auto refused =
            at_depth(depth, trigger, CheckpointPolicy{.on = trigger}, CheckpointTriggers::none(),
                     std::make_shared<std::stop_source>());
        CHECK_ERRC(Errc::invalid_argument, refused);
        CHECK_THAT(refused.error().detail, ContainsSubstring("only the run as a whole"));
      } else {
        CHECK(with(CheckpointPolicy{.on = trigger}, CheckpointTriggers::none()) ==
              expected(trigger, depth, false, true));
      }
    }
  }
}

TEST_CASE("a trigger that nothing can pull is refused, with why", "[workflow][checkpoints]") {
  const auto build = [](CheckpointTriggers on, Schedule schedule = Schedule::supersteps) {
    return WorkflowBuilder("w", {.schedule = schedule, .checkpoints = CheckpointPolicy{.on = on}})
        .executor("a", [](const int& n) { return n; })
        .start("a")
        .build();
  };
  for (const CheckpointTrigger trigger :
       {CheckpointTrigger::agent_step, CheckpointTrigger::llm_call_completed,
        CheckpointTrigger::tool_call_completed, CheckpointTrigger::before_effect,
        CheckpointTrigger::request_opened, CheckpointTrigger::response_accepted,
        CheckpointTrigger::plan_patched}) {
    const auto refused = build({CheckpointTrigger::task_completed, trigger});
    CHECK_ERRC(Errc::invalid_argument, refused);
    CHECK_THAT(refused.error().detail, ContainsSubstring(std::string(to_string(trigger))));
    CHECK_THAT(refused.error().detail, ContainsSubstring("workflow \"w\""));
  }
  CHECK_ERRC(Errc::invalid_argument, build(CheckpointTrigger::superstep_ended, Schedule::eager));
  REQUIRE_OK(build(CheckpointTrigger::all));
  // The same holds for a run's policy, before anything runs.
  WorkflowRun run(
      built(WorkflowBuilder("w").executor("a", [](const int& n) { return n; }).start("a")),
      {.store = memory(), .checkpoints = CheckpointPolicy{.on = CheckpointTrigger::agent_step}});
  CHECK_ERRC(Errc::invalid_argument, run.run(1));
  CHECK(run.handler_calls() == 0);
}

TEST_CASE("names of triggers are read and written", "[workflow][checkpoints]") {
  for (int number = 0; number <= static_cast<int>(CheckpointTrigger::all); ++number) {
    const auto trigger = static_cast<CheckpointTrigger>(number);
    CHECK(parse_trigger(to_string(trigger)) == trigger);
  }
  CHECK_FALSE(parse_trigger("task_complete").has_value());
}

TEST_CASE("a run's checkpoint policy takes the place of its workflow's",
          "[workflow][checkpoints]") {
  const auto graph = built(WorkflowBuilder("w")
                               .executor("a", [](const int& n) { return n; })
                               .executor("b", [](const int& n) { return n; })
                               .start("a")
                               .edge("a", "b"));
  const auto with = [&](std::optional<CheckpointPolicy> policy) {
    WorkflowRun run(graph, {.run_id = "w", .store = memory(), .checkpoints = policy});
    REQUIRE_OK(run.run(1));
    return labels(run);
  };
  CHECK(with(std::nullopt) == Labels{"run_started", "superstep_ended/1", "superstep_ended/2"});
  CHECK(with(CheckpointPolicy{.on = CheckpointTrigger::task_completed}) ==
        Labels{"run_started", "task_completed/a/1", "task_completed/b/1"});
  CHECK(with(CheckpointPolicy{.on = CheckpointTriggers::none()}) == Labels{"run_started"});
  CHECK(with(CheckpointPolicy{.on = CheckpointTrigger::task_completed, .max_checkpoints = 1}) ==
        Labels{"run_started", "task_completed/b/1"});
}

TEST_CASE("a place that has a checkpoint gets no second one", "[workflow][checkpoints]") {
  const auto graph =
      built(WorkflowBuilder("w").executor("a", [](const int& n) { return n; }).start("a"));
  WorkflowRun run(graph, {.run_id = "w",
                          .store = memory(),
                          .checkpoints = CheckpointPolicy{.on = CheckpointTrigger::all}});
  REQUIRE_OK(run.run(1));
  CHECK(labels(run) == Labels{"run_started", "task_completed/a/1"});
}

TEST_CASE("checkpoints are made every so many steps or bytes", "[workflow][checkpoints]") {
  const auto graph = built(WorkflowBuilder("w")
                               .executor("a",
                                         [](const int& n, Context& context) {
                                           for (int i = 0; i < 10; ++i) {
                                             context.record_step({.action = "step"});
                                           }
                                           return n;
                                         })
                               .executor("b", [](const int&) { return std::string(5'000, 'b'); })
                               .executor("c", [](const std::string& all) { return all.size(); })
                               .start("a")
                               .chain({"a", "b", "c"}));
  const auto count = [&](Every every) {
    WorkflowRun run(
        graph, {.run_id = "w",
                .store = memory(),
                .checkpoints = CheckpointPolicy{.on = CheckpointTriggers::none(), .every = every}});
    REQUIRE_OK(run.run(1));
    return labels(run).size() - 1;
  };
  CHECK(count(every(Steps{100})) == 0);
  CHECK(count(every(Steps{10})) == 1);
  CHECK(count(every(Bytes{4'000})) == 1);
  CHECK(count(every(Bytes{1'000'000})) == 0);
  CHECK(count(every(std::chrono::hours(1))) == 0);
}

TEST_CASE("an executor without checkpoints begins without private state, and repeats nothing",
          "[workflow][checkpoints]") {
  std::atomic<bool> works{false};
  const auto graph = built(WorkflowBuilder("w")
                               .executor("loop", stateless([&](const int& n, Context& context) {
                                           const int seen = context.state().value("seen", 0) + 1;
                                           context.state().set("seen", seen);
                                           context.shared().set("total", n);
                                           if (n == 3 && !works) throw std::runtime_error("tired");
                                           context.output(seen);
                                           if (n < 3) context.send(n + 1);
                                         }),
                                         {.checkpoints = CheckpointChoice::off()})
                               .start("loop")
                               .edge("loop", "loop", when<int>([](int) { return true; })));
  const auto store = memory();
  WorkflowRun first(graph, {.run_id = "w", .store = store});
  CHECK_FALSE(first.run(1).has_value());
  CHECK(labels(first) == Labels{"run_started"});
  works = true;
  WorkflowRun again(graph, {.run_id = "w", .store = store});
  const auto result = again.resume();
  REQUIRE_OK(result);
  CHECK(again.handler_calls() == 1);
  CHECK(result.value().outputs.size() == 3);
  CHECK(result.value().value() == 1);  // What it had counted before is forgotten.
}

TEST_CASE("a checkpoint that cannot be stored is an event, and the next one carries what it missed",
          "[workflow][checkpoints]") {
  const auto below = memory();
  const auto store = std::make_shared<Moody>(below);
  const auto graph = built(WorkflowBuilder("w")
                               .executor("a", [](const int& n) { return n + 1; })
                               .executor("b", [](const int& n) { return n + 1; })
                               .start("a")
                               .edge("a", "b"));
  std::vector<WorkflowEvent> failed;
  std::vector<WorkflowEvent> ended;
  WorkflowRun run(
      graph, {.run_id = "w", .store = store, .threads = 1, .on_event = [&](const auto& event) {
                // Its result is stored.
                const bool a_ended =
                    event.kind == WorkflowEventKind::executor_completed && event.executor == "a";
                if (a_ended) store->down = true;
                if (event.kind == WorkflowEventKind::checkpoint_save_failed) {
                  failed.push_back(event);
                  store->down = false;
                }
                if (event.kind == WorkflowEventKind::superstep_completed) ended.push_back(event);
              }});
  const auto result = run.run(1);
  REQUIRE_OK(result);
  CHECK(result.value().value() == 3);
  REQUIRE(failed.size() == 1);
  CHECK(failed.front().superstep == 1);
  REQUIRE(failed.front().error.has_value());
  CHECK_THAT(failed.front().error->detail, ContainsSubstring("no space left"));
  REQUIRE(ended.size() == 2);
  CHECK_FALSE(ended[0].checkpoint.has_value());
  REQUIRE(ended[1].checkpoint.has_value());
  const auto state = below->load_state(ended[1].checkpoint->id);
  REQUIRE_OK(state);
  CHECK(state.value().contains("triage/done/a/1"));
  CHECK(state.value().contains("triage/done/b/1"));
}

TEST_CASE("a checkpoint with a label is made while the run is under way, or says why not",
          "[workflow][checkpoints]") {
  const auto store = std::make_shared<Moody>(memory());
  WorkflowRun* self = nullptr;
  std::vector<Result<CheckpointId>> made;
  const auto graph = built(WorkflowBuilder("w")
                               .executor("a", [](const int& n) { return n; })
                               .executor("b", stateless([&](const int& n) {
                                           made.push_back(self->checkpoint("before b"));
                                           made.push_back(self->checkpoint_async("async").get());
                                           made.push_back(self->checkpoint("triage/mine"));
                                           store->down = true;
                                           made.push_back(self->checkpoint("lost"));
                                           store->down = false;
                                           return n;
                                         }))
                               .start("a")
                               .edge("a", "b"));
  WorkflowRun run(graph, {.run_id = "w", .store = store, .threads = 1});
  self = &run;
  CHECK_ERRC(Errc::not_found, run.checkpoint("early"));
  REQUIRE_OK(run.run(1));
  REQUIRE(made.size() == 4);
  REQUIRE_OK(made[0]);
  REQUIRE_OK(made[1]);
  CHECK_ERRC(Errc::invalid_argument, made[2]);
  CHECK_ERRC(Errc::io, made[3]);
  CHECK(labels(run).contains("before b"));
  CHECK_FALSE(labels(run).contains("lost"));

  WorkflowRun branch(graph, {.run_id = "branch", .store = store});
  REQUIRE_OK(branch.fork(to_string(made[0].value()), {}));
  CHECK(called(branch) == Labels{"b"});
}

TEST_CASE("a run may be asked and paused while a checkpoint of it is being written",
          "[workflow][checkpoints]") {
  const auto store = std::make_shared<Moody>(memory());
  WorkflowRun* self = nullptr;
  std::atomic<bool> writes{false};
  std::atomic<bool> answered{false};
  const auto graph = built(WorkflowBuilder("w")
                               .executor("a", stateless([&](const int& n) {
                                           writes = true;
                                           REQUIRE_OK(self->checkpoint("here"));
                                           return n;
                                         }))
                               .start("a"));
  WorkflowRun run(graph, {.run_id = "w", .store = store});
  self = &run;
  std::future<bool> asked;
  store->labelled = [&] {  // On a thread of its own, or a fault would never end.
    if (!writes) return;
    asked = std::async(std::launch::async, [&] { return run.id() == "w" && run.pause(); });
    answered = asked.wait_for(std::chrono::seconds(20)) == std::future_status::ready && asked.get();
  };
  REQUIRE_OK(run.run(1));
  CHECK(answered);
}

TEST_CASE("a branch may begin at the entry of a run, with other inputs",
          "[workflow][checkpoints]") {
  const auto graph =
      built(WorkflowBuilder("w").executor("a", [](const Json& in) { return in; }).start("a"));
  const auto store = memory();
  WorkflowRun run(graph, {.run_id = "w",
                          .store = store,
                          .checkpoints = CheckpointPolicy{.on = CheckpointTriggers::none()}});
  REQUIRE_OK(run.run({{"n", 1}}));
  const auto entry = run.checkpoints().value().front();
  CHECK(entry.trigger == "run_started");
  WorkflowRun branch(graph, {.run_id = "branch", .store = store});
  const auto result = branch.fork(to_string(entry.id), {.inputs = {{"n", 2}}});
  REQUIRE_OK(result);
  CHECK(result.value().value() == Json{{"n", 2}});
}
