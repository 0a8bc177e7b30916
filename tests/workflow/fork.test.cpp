// SPDX-License-Identifier: MIT
#include "kit.hpp"
#include "random_edit.hpp"
#include "triage/policies/retry.hpp"
#include "triage/workflow/inspect.hpp"

#include <atomic>
#include <functional>
#include <map>
#include <random>

using namespace triage;
using namespace triage::workflow;
using namespace triage::test;
using Catch::Matchers::ContainsSubstring;

namespace {}  // namespace

TEST_CASE("a branch that refuses new effects takes recorded ones and does nothing else",
          "[workflow][fork]") {
  const auto store = memory();
  int charged = 0;
  const auto graph = built(WorkflowBuilder("w")
                               .executor("pay", stateless([&](const Json&, Context& context) {
                                           const int amount = context.input<int>("amount").value();
                                           const bool twice = context.input<bool>("twice").value();
                                           context.effect("charge", [&] { return ++charged; });
                                           if (twice) context.effect("again", [&] { ++charged; });
                                           return amount;
                                         }))
                               .start("pay"));
  WorkflowRun origin(graph, {.run_id = "origin", .store = store});
  REQUIRE_OK(origin.run({{"amount", 1}, {"twice", false}}));
  const std::string last = last_checkpoint(origin);
  WorkflowRun same(graph, {.run_id = "same", .store = store});
  const auto taken = same.fork(
      last, {.label = "same", .inputs = {{"amount", 2}}, .effects = ForkEffects::refuse_new});
  REQUIRE_OK(taken);
  CHECK(taken.value().value() == 2);
  WorkflowRun more(graph, {.run_id = "more", .store = store});
  const auto refused = more.fork(
      last, {.label = "more", .inputs = {{"twice", true}}, .effects = ForkEffects::refuse_new});
  CHECK_ERRC(Errc::conflict, refused);
  CHECK_THAT(refused.error().detail,
             ContainsSubstring("effect \"again\"") && ContainsSubstring("refuses new effects"));
  CHECK_ERRC(Errc::conflict, WorkflowRun(graph, {.run_id = "more", .store = store}).resume());
  CHECK(charged == 1);
  WorkflowRun allowed(graph, {.run_id = "allowed", .store = store});
  REQUIRE_OK(allowed.fork(last, {.label = "allowed", .inputs = {{"twice", true}}}));
  CHECK(charged == 2);
}

TEST_CASE("editing an output runs again what read it, and nothing else", "[workflow][fork]") {
  const auto store = memory();
  TaskGraph graph("plan");
  graph.agent("teller", [](const TaskInput& task) {
    std::string said = task.id;
    for (const TaskOutput& before : task.context) said += before.output.get<std::string>();
    return said;
  });
  graph.task({.id = "a"})
      .task({.id = "b"})
      .task({.id = "c", .depends_on = {"a"}})
      .task({.id = "d", .depends_on = {"b", "c"}})
      .task({.id = "e", .depends_on = {"b"}})
      .task({.id = "f", .depends_on = {"a"}, .context = TaskContext::none});
  WorkflowRun origin(built(graph), {.run_id = "origin", .store = store});
  REQUIRE_OK(origin.run({{"goal", "x"}}));
  const auto before = store->read("origin", {});
  REQUIRE_OK(before);

  WorkflowRun branch(built(graph), {.run_id = "branch", .store = store});
  REQUIRE_OK(branch.fork(last_checkpoint(origin),
                         {.label = "what if", .outputs = {{"a", "edited"}}, .author = "ann"}));
  CHECK(called(branch) == std::set<std::string>{"c", "d"});
  const auto after = store->read("origin", {});
  REQUIRE_OK(after);
  CHECK(after.value().records.size() == before.value().records.size());

  WorkflowRun other(built(graph), {.run_id = "other", .store = store});
  CHECK_ERRC(Errc::conflict, other.fork(last_checkpoint(origin), {.label = "what if"}));
}

TEST_CASE("editing an input or a value of the state runs again who read that key",
          "[workflow][fork]") {
  const auto store = memory();
  const auto graph = built(
      WorkflowBuilder("w", {.deliver_inputs = false})
          .executor("start",
                    [](const Json&, Context& context) {
                      context.shared().set("topic", "tea");
                      return 1;
                    })
          .executor("style",
                    [](const int&, Context& context) {
                      return context.input<std::string>("style").value();
                    })
          .executor("topic",
                    [](const int&, Context& context) {
                      return context.shared().value("topic", std::string());
                    })
          .executor("both", [](const std::vector<std::string>& both) { return both[0] + both[1]; })
          .start("start")
          .fan_out("start", {"style", "topic"})
          .fan_in({"style", "topic"}, "both"));
  WorkflowRun origin(graph, {.run_id = "origin", .store = store});
  REQUIRE_OK(origin.run({{"style", "short"}, {"unused", 1}}));
  const std::string from = last_checkpoint(origin);
  const auto branch = [&](const Fork& edits) {
    WorkflowRun run(graph, {.store = store});
    const auto result = run.fork(from, edits);
    REQUIRE_OK(result);
    return std::pair(called(run), result.value().value().get<std::string>());
  };
  CHECK(branch({.inputs = {{"style", "long"}}}) ==
        std::pair(std::set<std::string>{"style", "both"}, std::string("longtea")));
  CHECK(branch({.inputs = {{"unused", 2}}}) ==
        std::pair(std::set<std::string>{}, std::string("shorttea")));
  CHECK(branch({.state = {{"topic", "rum"}}}) ==
        std::pair(std::set<std::string>{"topic", "both"}, std::string("shortrum")));
  // What a person has put there stands, although what the executor read is edited, too.
  CHECK(branch({.inputs = {{"style", "long"}}, .outputs = {{"style", "mine"}}}) ==
        std::pair(std::set<std::string>{"both"}, std::string("minetea")));
}

TEST_CASE("random edits of random task graphs run again what an oracle says", "[workflow][fork]") {
  std::mt19937 rng(11);
  std::size_t rerun = 0;
  for (int round = 0; round < 200; ++round) {
    const EditedRun edited = random_edit(rng);
    INFO("round " << round << ": " << edited.wrong);
    REQUIRE(edited.wrong.empty());
    rerun += edited.rerun;
  }
  CHECK(rerun > 100);
}

TEST_CASE("edits of what does not exist or has not finished are refused", "[workflow][fork]") {
  const auto store = memory();
  const auto graph = built(WorkflowBuilder("w")
                               .executor("a",
                                         [](const int& n, Context& context) {
                                           context.send(n);
                                           context.send(n);
                                         })
                               .executor("b", [](const int& n) { return n; })
                               .executor("never", [](const int& n) { return n; })
                               .start("a")
                               .edge("a", "b")
                               .edge("a", "never", [](const Message&) { return false; }));
  WorkflowRun origin(graph, {.run_id = "origin", .store = store});
  REQUIRE_OK(origin.run(1));
  const std::string from = last_checkpoint(origin);
  const auto refused = [&](const Fork& edits, const std::string& says) {
    WorkflowRun run(graph, {.store = store});
    const auto result = run.fork(from, edits);
    CHECK_ERRC(Errc::invalid_argument, result);
    CHECK_THAT(result.error().detail, ContainsSubstring(says));
    CHECK(run.handler_calls() == 0);
  };
  refused({.outputs = {{"x", 1}}},
          "\"x\", whose output is edited, does not exist; allowed are a, b");
  refused({.outputs = {{"never", 1}}}, "\"never\", whose output is edited, has not finished");
  refused({.outputs = {{"a", 1}}}, "\"a\" cannot be edited: it has sent 2 messages; allowed is 1");
  refused({.inputs = 3}, "inputs must be a JSON object; this is a number");
  WorkflowRun run(graph, {.store = store});
  CHECK_ERRC(Errc::not_found, run.fork("nothing@3", {}));
}

TEST_CASE("editing a task that failed or was skipped lets what depends on it run with the edit",
          "[workflow][fork]") {
  const auto store = memory();
  TaskGraph graph("plan");
  std::atomic<int> failures{0};
  graph.agent("worker", [&](const TaskInput& task) -> Result<std::string> {
    if (task.id == "bad") {
      ++failures;
      return Error{Errc::io, std::string(1'000, 'x')};
    }
    std::string said = task.id;
    for (const TaskOutput& before : task.context) said += before.output.get<std::string>();
    return said;
  });
  graph.task({.id = "bad"})
      .task({.id = "no", .condition = [](const TaskInput&) { return false; }})
      .task({.id = "after", .depends_on = {"bad", "no"}});
  WorkflowRun origin(built(graph), {.run_id = "origin", .store = store});
  CHECK_FALSE(origin.run(nullptr).has_value());
  WorkflowRun branch(built(graph), {.run_id = "branch", .store = store});
  const Fork edits{.outputs = {{"bad", "mine"}, {"no", "own"}}};
  const auto preview = preview_fork(*store, last_checkpoint(origin), edits);
  REQUIRE_OK(preview);
  const auto done = branch.fork(last_checkpoint(origin), edits);
  REQUIRE_OK(done);
  CHECK(failures == 1);
  CHECK(called(branch) == std::set<std::string>{"after"});
  const auto tasks = graph.tasks(branch);
  REQUIRE_OK(tasks);
  for (const TaskView& task : tasks.value()) CHECK(task.status == TaskStatus::completed);
  CHECK(tasks.value()[0].output == "mine");
  CHECK(tasks.value()[2].output == "aftermineown");
}

TEST_CASE("an edit of a key that several have added to is its value, whatever they added",
          "[workflow][fork]") {
  const auto store = memory();
  const auto add = [](const int& n, Context& context) {
    context.shared().set("sum", n);
    return n;
  };
  const auto graph =
      built(WorkflowBuilder("w")
                .reducer("sum", reduce::sum())
                .executor("a", add)
                .executor("b", add)
                .executor("c", [](const int&,
                                  Context& context) { return context.shared().value("sum", 0); })
                .start("a")
                .chain({"a", "b", "c"}));
  WorkflowRun origin(graph, {.run_id = "origin", .store = store});
  CHECK(origin.run(5).value().value() == 10);
  for (const int wanted : {100, 5, 10}) {
    WorkflowRun branch(graph, {.store = store});
    const Fork edits{.state = {{"sum", wanted}}};
    const auto preview = preview_fork(*store, last_checkpoint(origin), edits);
    REQUIRE_OK(preview);
    bool told = false;
    for (const RerunView& one : preview.value()) {
      told |= one.executor == "c" && (one.how == Rerun::runs || one.how == Rerun::may_run);
    }
    CHECK(told);
    const auto done = branch.fork(last_checkpoint(origin), edits);
    REQUIRE_OK(done);
    CHECK(done.value().value() == wanted);
    CHECK(branch.state().value().at("s||").at("sum") == wanted);
  }
  for (const char* key : {"", "triage/sum"}) {
    WorkflowRun branch(graph, {.store = store});
    CHECK_ERRC(Errc::invalid_argument, branch.fork(last_checkpoint(origin), {.state = {{key, 1}}}));
  }
}

TEST_CASE("a branch asks again what an edit has made another question, and nothing else",
          "[workflow][requests][fork]") {
  const auto store = memory();
  const auto retried = GENERATE(false, true);
  FailurePolicy again;
  again.otherwise(retry({.max_attempts = 2}));
  ExecutorOptions options;
  if (retried) options.policy = again;
  const auto graph =
      built(WorkflowBuilder("w")
                .port<bool>("approve")
                .executor(
                    "pay",
                    [](const Json&, Context& context) {
                      const int amount = context.input<int>("amount").value();
                      static_cast<void>(context.input<std::string>("note"));
                      const bool may = context.request<bool>("approve", {{"amount", amount}});
                      return may ? amount : 0;
                    },
                    options)
                .start("pay"));
  const std::string request = "pay/1/approve/1";
  WorkflowRun origin(graph, {.run_id = "origin", .store = store});
  CHECK_ERRC(Errc::suspended, origin.run({{"amount", 5}, {"note", "a"}}));
  const std::string asked = to_string(origin.checkpoints().value().back().id);
  CHECK_ERRC(Errc::suspended, origin.resume());  // Nobody has answered yet.
  REQUIRE_OK(origin.answer(request, true));
  CHECK(origin.resume().value().value() == 5);
  const std::string answered = to_string(origin.checkpoints().value().back().id);

  for (const std::string& from : {asked, answered}) {
    INFO("from " << from);
    WorkflowRun branch(graph, {.store = store});
    CHECK_ERRC(Errc::suspended, branch.fork(from, {.inputs = {{"amount", 500}}}));
    const auto pending = branch.pending_requests();
    REQUIRE_OK(pending);
    REQUIRE(pending.value().size() == 1);
    CHECK(pending.value().front().payload == Json{{"amount", 500}});
    CHECK_ERRC(Errc::suspended, branch.resume());
    REQUIRE_OK(branch.answer(request, false));
    CHECK(branch.resume().value().value() == 0);
    CHECK(branch.pending_requests().value().empty());
  }
  WorkflowRun same(graph, {.store = store});
  const auto done = same.fork(answered, {.inputs = {{"note", "b"}}});
  REQUIRE_OK(done);
  CHECK(done.value().value() == 5);
  CHECK(called(same) == std::set<std::string>{"pay"});
}

TEST_CASE("an edit goes where the message went that was sent to one executor", "[workflow][fork]") {
  const auto store = memory();
  const auto pass = [](const int& n) { return n; };
  const auto graph =
      built(WorkflowBuilder("w")
                .executor("a",
                          [](const int& n, Context& context) {
                            context.shared().set("note", n);
                            context.send_to("b", n);
                          })
                .executor("b", pass)
                .executor("c", pass)
                .executor("odd", pass)
                .executor("even", pass)
                .start("a")
                .fan_out("a", {"b", "c"})
                .choice("b", {{when<int>([](int n) { return n % 2 == 1; }), "odd"}}, "even"));
  WorkflowRun origin(graph, {.run_id = "origin", .store = store});
  REQUIRE_OK(origin.run(1));
  CHECK(called(origin) == std::set<std::string>{"a", "b", "odd"});
  const auto ran = [&](const std::string& from, const std::string& id, const Fork& edits) {
    WorkflowRun branch(graph, {.run_id = id, .store = store});
    REQUIRE_OK(branch.fork(from, edits));
    return called(branch);
  };
  const std::string last = last_checkpoint(origin);
  CHECK(ran(last, "state", {.state = {{"note", 5}}}).empty());
  CHECK(ran(last, "output", {.outputs = {{"a", 3}}}) == std::set<std::string>{"b", "odd"});
  // Without send_to, the edit itself says where it goes.
  CHECK(ran(last, "other-way", {.outputs = {{"b", 4}}}) == std::set<std::string>{"even"});
  const Fork both{.outputs = {{"a", 4}}, .state = {{"note", 5}}};
  CHECK(ran(last, "both", both) == std::set<std::string>{"b", "even"});
  // A branch of a branch edits what is edited already.
  WorkflowRun edited(graph, {.run_id = "edited", .store = store});
  REQUIRE_OK(edited.fork(last, {.outputs = {{"a", 4}, {"b", 6}}}));
  const std::string further = last_checkpoint(edited);
  CHECK(ran(further, "back", {.outputs = {{"b", 7}}}) == std::set<std::string>{"odd"});
  CHECK(ran(further, "still", {.outputs = {{"a", 9}}}).empty());
}

TEST_CASE("a key that only an edit has set is in the state that the store shows",
          "[workflow][fork]") {
  const auto store = memory();
  const auto graph = built(
      WorkflowBuilder("w")
          .executor("a", [](const int& n,
                            Context& context) { return n + context.shared().value("more", 0); })
          .start("a"));
  WorkflowRun origin(graph, {.run_id = "origin", .store = store});
  REQUIRE_OK(origin.run(1));
  WorkflowRun branch(graph, {.run_id = "branch", .store = store});
  const auto done = branch.fork(last_checkpoint(origin), {.state = {{"more", 5}}});
  REQUIRE_OK(done);
  CHECK(done.value().value() == 6);
  CHECK(branch.state().value().at("s||").at("more") == 5);
  const WorkflowRun other(graph, {.run_id = "branch", .store = store});
  const auto state = other.state();
  REQUIRE_OK(state);
  CHECK(state.value().value("s||", Json::object()).value("more", 0) == 5);
}

TEST_CASE("a run at another one's checkpoint has its inputs, and never another run's result",
          "[workflow][fork]") {
  const auto store = memory();
  const auto graph =
      built(WorkflowBuilder("w").executor("a", [](const int& n) { return n + 1; }).start("a"));
  WorkflowRun origin(graph, {.run_id = "origin", .store = store});
  REQUIRE_OK(origin.run(1));
  REQUIRE_OK(WorkflowRun(graph, {.run_id = "other", .store = store}).run(41));
  const auto from = to_string(origin.checkpoints().value().front().id);
  auto branch = rehydrate(graph, from, store, {.run_id = "branch"});
  REQUIRE_OK(branch);
  CHECK_ERRC(Errc::conflict, branch.value().start_or_resume(2));
  CHECK_ERRC(Errc::conflict, branch.value().run(2));
  const auto done = branch.value().run(1);
  REQUIRE_OK(done);
  CHECK(done.value().value() == 2);
  auto taken = rehydrate(graph, from, store, {.run_id = "other"});
  REQUIRE_OK(taken);
  for (int i = 0; i < 2; ++i) CHECK_ERRC(Errc::conflict, taken.value().resume());
  // Its own branch, which another process has begun.
  auto again = rehydrate(graph, from, store, {.run_id = "branch"});
  REQUIRE_OK(again);
  CHECK_ERRC(Errc::conflict, again.value().resume());
  REQUIRE_OK(again.value().resume());
}

TEST_CASE("a branch cannot set keys of inputs that have none", "[workflow][fork]") {
  const auto graph =
      built(WorkflowBuilder("w").executor("a", [](const std::string& s) { return s; }).start("a"));
  const auto store = memory();
  WorkflowRun origin(graph, {.run_id = "origin", .store = store});
  REQUIRE_OK(origin.run("tea"));
  WorkflowRun branch(graph, {.run_id = "branch", .store = store});
  const auto refused = branch.fork(last_checkpoint(origin), {.inputs = {{"topic", "coffee"}}});
  CHECK_ERRC(Errc::invalid_argument, refused);
  CHECK_THAT(refused.error().detail, ContainsSubstring("string"));
  CHECK_ERRC(Errc::not_found, store->run("branch"));
}
