// SPDX-License-Identifier: MIT
// Failures that are retried, by processes that die at any record: what followed from them is made
// anew, and once all of it is, later goes trust what they find.
#include "kit.hpp"
#include "support/crashed.hpp"

#include <random>

using namespace triage;
using namespace triage::workflow;
using namespace triage::test;

namespace {

using Rng = std::mt19937;
using Names = std::set<std::string>;

std::size_t below(Rng& rng, std::size_t n) { return rng() % n; }

// What the agent does is the program's, and not the list's: which tasks fail may change.
struct Program {
  Names fails{};
  std::vector<Task> tasks{};
  bool asks = false;  // The last task.

  [[nodiscard]] TaskGraph graph() const {
    TaskGraph list("list");
    list.port<int>("n").agent("w", [*this](const TaskInput& task, Context& context) -> Json {
      if (fails.contains(task.id)) throw std::runtime_error("down");
      if (asks && task.id == tasks.back().id) return context.request<int>("n", task.id);
      Json seen = Json::object();
      for (const TaskOutput& one : task.context) seen[one.task] = one.output;
      return std::to_string(std::hash<std::string>()(task.id + seen.dump()) % 1'000);
    });
    for (const Task& task : tasks) list.task(task);
    return list;
  }
};

Program random_program(Rng& rng) {
  Program program;
  const std::size_t count = 3 + below(rng, 5);
  for (std::size_t i = 0; i < count; ++i) {
    Task task{.id = "t" + std::to_string(i)};
    for (std::size_t before = 0; before < i; ++before) {
      if (below(rng, 3) == 0) task.depends_on.push_back("t" + std::to_string(before));
    }
    const OnFailure rules[] = {OnFailure::cascade, OnFailure::skip, OnFailure::carry_on};
    task.on_failure = rules[below(rng, 3)];
    program.tasks.push_back(std::move(task));
  }
  return program;
}

// None that others go on without: such a failure is a result, and is not retried.
Names some_of(const std::vector<Task>& tasks, Rng& rng) {
  Names some;
  for (const Task& task : tasks) {
    if (task.on_failure != OnFailure::carry_on && below(rng, 3) == 0) some.insert(task.id);
  }
  return some;
}

bool is_marked(CheckpointStore& store) {
  const auto latest = store.latest("w");
  REQUIRE_OK(latest);
  return latest.value().state.contains("triage/retried");
}

Sequence records_of(CheckpointStore& store) { return store.read("w", {}).value().records.size(); }

std::string goes_on(const Program& program, const std::shared_ptr<CheckpointStore>& store) {
  const TaskGraph graph = program.graph();
  WorkflowRun run(built(graph), {.run_id = "w", .store = store, .threads = 1});
  const auto done = run.start_or_resume(nullptr);
  std::string left = done ? "" : std::string(to_string(done.error().code));
  const auto views = graph.tasks(run);
  REQUIRE_OK(views);
  for (const TaskView& view : views.value()) {
    left += " " + view.id + " " + std::string(to_string(view.status)) + " " + view.output.dump();
  }
  return left;
}

}  // namespace

TEST_CASE("a retry ends the same wherever it is interrupted, and then leaves no mark",
          "[workflow][tasks][retried]") {
  Rng rng(11);
  for (int i = 0; i < 25; ++i) {
    Program program = random_program(rng);
    program.fails = some_of(program.tasks, rng);
    const auto store = memory();
    goes_on(program, store);
    const Sequence failed_at = records_of(*store);
    // The second go may fail elsewhere, and the third one mends that.
    program.fails = some_of(program.tasks, rng);
    goes_on(program, store);
    const Sequence retried_at = records_of(*store);
    program.fails.clear();
    const std::string expected = goes_on(program, memory());
    INFO("program " << i);
    CHECK(goes_on(program, store) == expected);
    CHECK_FALSE(is_marked(*store));
    const Sequence last = records_of(*store);
    for (Sequence at = failed_at; at < last; ++at) {
      INFO("record " << at << " of " << failed_at << ", " << retried_at << ", " << last);
      const auto crashed = crashed_after(*store, "w", at);
      const Sequence begun_at = records_of(*crashed);
      CHECK(goes_on(program, crashed) == expected);
      CHECK_FALSE(is_marked(*crashed));
      const Sequence more = records_of(*crashed) - begun_at;
      if (more < 2) continue;
      const auto again = crashed_after(*crashed, "w", begun_at + 1 + below(rng, more - 1));
      CHECK(goes_on(program, again) == expected);
      CHECK_FALSE(is_marked(*again));
    }
  }
}

TEST_CASE("a run that waits for an answer after a retry trusts what it has found",
          "[workflow][tasks][retried]") {
  Program program{.fails = {"a"},
                  .tasks = {{.id = "z"},
                            {.id = "a", .depends_on = {"z"}},
                            {.id = "b", .depends_on = {"a"}},
                            {.id = "asks", .depends_on = {"b"}}},
                  .asks = true};
  const auto store = memory();
  goes_on(program, store);
  program.fails.clear();
  for (int go = 0; go < 2; ++go) {  // The first one has left out the task that asks.
    CHECK(goes_on(program, store).rfind("suspended", 0) == 0);
  }
  CHECK_FALSE(is_marked(*store));
}

TEST_CASE("a question that is asked again after a failure may be answered",
          "[workflow][tasks][retried]") {
  Program program{.tasks = {{.id = "asks"}}, .asks = true};
  const auto store = memory();
  CHECK(goes_on(program, store).rfind("suspended", 0) == 0);
  program.fails = {"asks"};
  CHECK(goes_on(program, store).rfind("escalated", 0) == 0);
  program.fails.clear();
  CHECK(goes_on(program, store).rfind("suspended", 0) == 0);
  WorkflowRun run(built(program.graph()), {.run_id = "w", .store = store});
  REQUIRE_OK(run.answer("asks/1/n/1", 3));
  REQUIRE_OK(run.resume());
  CHECK_FALSE(is_marked(*store));
}

TEST_CASE("a retry that waits is not at its end while others wait behind it",
          "[workflow][tasks][retried]") {
  const Task z{.id = "z"};
  const Task a{.id = "a", .depends_on = {"z"}, .on_failure = OnFailure::skip};
  Program program{.fails = {"z"}, .tasks = {z, {.id = "b", .depends_on = {"z"}}, a}, .asks = true};
  program.tasks[0].on_failure = OnFailure::skip;
  const auto store = memory();
  goes_on(program, store);
  program.fails.clear();
  const std::string waits = goes_on(program, store);
  CHECK(waits.rfind("suspended", 0) == 0);
  CHECK(goes_on(program, store) == waits);
}

TEST_CASE("nothing is left of what a mended failure had led to, though some of it had asked",
          "[workflow][retried]") {
  bool broken = true;
  bool asks = false;
  const auto instead = [](const Error&) { return make_message(-1); };
  const auto graph =
      built(WorkflowBuilder("w")
                .port<int>("n")
                .executor("a", stateless([&](const int& n) -> Result<int> {
                            if (broken) return Error{Errc::io, "down"};
                            return n;
                          }),
                          {.instead = instead})
                .executor("more",
                          [](const int& n, Context& context) {
                            for (int i = 0; i < (n < 0 ? 3 : 1); ++i) context.send(i);
                          })
                .executor("b", stateless([&](const int& n, Context& context) -> Result<int> {
                            if (context.occurrence() != 2) return n;
                            if (asks) return context.request<int>("n", n);
                            return Error{Errc::io, "down"};
                          }),
                          {.instead = instead})
                .start("a")
                .chain({"a", "more", "b"}));
  const auto store = memory();
  const auto go_on = [&] {
    return WorkflowRun(graph, {.run_id = "w", .store = store}).start_or_resume(1);
  };
  CHECK_ERRC(Errc::escalated, go_on());
  asks = true;
  CHECK_ERRC(Errc::suspended, go_on());
  broken = false;
  REQUIRE_OK(go_on());
  CHECK_FALSE(is_marked(*store));
  const State state = store->latest("w").value().state;
  for (const auto& [key, value] : *state.values()) {
    INFO(key);
    CHECK((value->is_null() || key.find("done/b/") == std::string::npos || key.ends_with("b/1")));
  }
}
