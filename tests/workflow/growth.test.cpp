// SPDX-License-Identifier: MIT
#include "kit.hpp"
#include "schedule/router.hpp"
#include "schedule/scheduler.hpp"
#include "support/weighing_store.hpp"
#include "triage/workflow/crew.hpp"
#include "triage/workflow/inspect.hpp"
#include "triage/workflow/team.hpp"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <functional>
#include <random>
#include <string>
#include <vector>

using namespace triage;
using namespace triage::workflow;
using namespace triage::test;

namespace {

// This many bytes that occur nowhere else.
std::string fresh_text(std::size_t bytes, int seed) {
  std::minstd_rand random(static_cast<unsigned>(seed) + 1);
  std::string text;
  while (text.size() < bytes) text += static_cast<char>('a' + random() % 26);
  return text;
}

using Grow = std::function<Json(Json, int)>;

Json grown_list(Json conversation, int turn, std::size_t bytes) {
  if (!conversation.is_array()) conversation = Json::array();
  conversation.push_back(
      {{"role", turn % 2 == 0 ? "user" : "assistant"}, {"content", fresh_text(bytes, turn)}});
  return conversation;
}

// Two executors that send each other the whole conversation, which grows each time.
Workflow ping_pong(int turns, const Grow& grow) {
  const auto say = stateless([=](const Json& heard, Context& context) {
    const int turn = context.superstep();
    Json said = grow(heard, turn);
    if (turn == turns) {
      context.output(said.size());
    } else {
      context.send(said);
    }
  });
  return built(WorkflowBuilder("talk", {.max_supersteps = 10'000})
                   .executor("ping", say)
                   .executor("pong", say)
                   .start("ping")
                   .edge("ping", "pong")
                   .edge("pong", "ping"));
}

// One executor that keeps the whole conversation in its state.
Workflow diary(int turns, const Grow& grow) {
  return built(WorkflowBuilder("diary", {.max_supersteps = 10'000})
                   .executor("writer", stateless([=](const int& turn, Context& context) {
                               context.state().set(
                                   "said", grow(context.state().value("said", Json()), turn));
                               return turn + 1;
                             }))
                   .start("writer")
                   .edge("writer", "writer", when<int>([=](int next) { return next <= turns; })));
}

// Bytes appended per byte of the final conversation as JSON.
double appended(const Workflow& workflow, const Json& inputs, const Json& conversation) {
  const auto store = std::make_shared<WeighingStore>(memory());
  REQUIRE_OK(WorkflowRun(workflow, {.run_id = "w", .store = store}).run(inputs));
  const auto bytes = static_cast<double>(store->bytes());
  const auto distinct = static_cast<double>(show(conversation).size());
  std::printf("%.0f bytes appended for %.0f: %.2f times\n", bytes, distinct, bytes / distinct);
  return bytes / distinct;
}

Json all_of(const Grow& grow, int turns) {
  Json conversation;
  for (int turn = 1; turn <= turns; ++turn) conversation = grow(std::move(conversation), turn);
  return conversation;
}

Json grown_text(const Json& conversation, int turn, std::size_t bytes) {
  return (conversation.is_string() ? conversation.get<std::string>() : "") +
         fresh_text(bytes, turn);
}

const Grow list_by_2000 = [](Json said, int turn) {
  return grown_list(std::move(said), turn, 2'000);
};
const Grow text_by_2000 = [](const Json& said, int turn) { return grown_text(said, turn, 2'000); };
// 100 kB at the beginning.
const Grow large_list = [](Json said, int turn) {
  return grown_list(std::move(said), turn, turn == 1 ? 100'000 : 200);
};

}  // namespace

TEST_CASE("a history that grows by 2 kB in 41 supersteps is stored about once",
          "[workflow][growth]") {
  for (const Grow& grow : {list_by_2000, text_by_2000}) {
    const Json all = all_of(grow, 41);
    CHECK(appended(ping_pong(41, grow), nullptr, all) <= 1.5);
    CHECK(appended(diary(41, grow), 1, all) <= 1.5);
  }
}

TEST_CASE("a conversation of 100 kB that is sent again in each of 500 turns is stored about once",
          "[workflow][growth]") {
  CHECK(appended(ping_pong(500, large_list), nullptr, all_of(large_list, 500)) <= 1.5);
}

TEST_CASE("a growing history is stored about once by a run that went on in another process",
          "[workflow][growth]") {
  const auto store = std::make_shared<WeighingStore>(memory());
  for (int limit = 10; limit <= 50; limit += 10) {
    WorkflowRun run(ping_pong(41, list_by_2000),
                    {.run_id = "w", .store = store, .max_supersteps = limit});
    const auto done = run.start_or_resume(nullptr);
    if (limit < 41) {
      CHECK_ERRC(Errc::exhausted, done);
    } else {
      REQUIRE_OK(done);
      CHECK(done.value().value() == 41);
    }
    CHECK(run.handler_calls() == (limit == 50 ? 1 : 10));
  }
  const double distinct = static_cast<double>(show(all_of(list_by_2000, 41)).size());
  CHECK(static_cast<double>(store->bytes()) / distinct <= 1.5);
}

TEST_CASE("a branch of a run with large values has them, and an edit of one is its own",
          "[workflow][growth][fork]") {
  const auto store = memory();
  const auto graph = ping_pong(8, list_by_2000);
  WorkflowRun origin(graph, {.run_id = "origin", .store = store});
  REQUIRE_OK(origin.run(nullptr));
  const std::string last = to_string(origin.checkpoints().value().back().id);
  WorkflowRun same(graph, {.store = store});
  REQUIRE_OK(same.fork(last, {.label = "same"}));
  CHECK(called(same).empty());
  WorkflowRun branch(graph, {.store = store});
  const Json edited = Json::array({std::string(2'000, 'e')});
  const auto done = branch.fork(last, {.label = "edited", .outputs = {{"ping", edited}}});
  REQUIRE_OK(done);
  CHECK(done.value().value() == 2);  // What ping sent in superstep 7, and pong's answer to it.
  CHECK(called(branch) == std::set<std::string>{"pong"});
}

TEST_CASE("large values are shown as a whole, from any record on and of abandoned timelines too",
          "[workflow][growth][inspect]") {
  const auto store = memory();
  const auto graph = ping_pong(8, text_by_2000);
  WorkflowRun run(graph, {.run_id = "w", .store = store});
  REQUIRE_OK(run.run(nullptr));
  const auto view = inspect(*store, "w");
  REQUIRE_OK(view);
  for (const StoredDelivery& one : view.value().deliveries) {
    if (one.superstep == 8) continue;
    CHECK(one.sent.at(0) == all_of(text_by_2000, one.superstep));
  }
  const auto all = events(*store, "w");
  REQUIRE_OK(all);
  const auto completed = [](const std::vector<WorkflowEvent>& events) {
    std::size_t count = 0;
    for (const WorkflowEvent& one : events) {
      if (one.kind != WorkflowEventKind::executor_completed || one.superstep == 8) continue;
      ++count;
      CHECK(one.value.at(0) == all_of(text_by_2000, one.superstep));
    }
    return count;
  };
  CHECK(completed(all.value()) == 7);
  const auto late = events(*store, "w", all.value().at(all.value().size() / 2).sequence);
  REQUIRE_OK(late);
  CHECK(completed(late.value()) >= 3);
  REQUIRE_OK(run.restore(to_string(run.checkpoints().value().front().id)));
  const auto both = events(*store, "w", 3);
  REQUIRE_OK(both);
  CHECK(completed(both.value()) == 14);
}

namespace {

// Of several measurements, which other programs disturb.
double least(double (&time)(int), int size) {
  return std::min({time(size), time(size), time(size), time(size), time(size)});
}

// The processor's time for asking, answering and going on, with so many executors that ask.
double time_to_answer(int executors) {
  WorkflowBuilder builder("w");
  std::vector<std::string> ids;
  builder.port<int>("n").executor("start", [](const int& n) { return n; }).start("start");
  for (int i = 0; i < executors; ++i) {
    ids.push_back("e" + std::to_string(i));
    builder.executor(ids.back(),
                     [](const int& n, Context& context) { return context.request<int>("n", n); });
  }
  builder.fan_out("start", ids);
  const auto graph = built(builder);
  const std::clock_t begun = std::clock();
  WorkflowRun run(graph, {.run_id = "w", .store = memory()});
  CHECK_ERRC(Errc::suspended, run.run(1));
  for (const std::string& id : ids) {
    if (auto sent = run.answer(id + "/1/n/1", 1); !sent) FAIL(sent.error().detail);
  }
  REQUIRE_OK(run.resume());
  return static_cast<double>(std::clock() - begun);
}

}  // namespace

TEST_CASE("a question takes no longer if there are many others", "[workflow][growth]") {
  const double few = least(time_to_answer, 400);
  CHECK(least(time_to_answer, 1'600) < 9 * few);
}

namespace {

// The processor's time for an executor that writes 4 MB, and so many others that read it.
double time_to_read(int readers) {
  WorkflowBuilder builder("w");
  std::vector<std::string> ids;
  builder
      .executor("start",
                [](const int& n, Context& context) {
                  context.shared().set("large", fresh_text(4'000'000, n));
                  return n;
                })
      .start("start");
  for (int i = 0; i < readers; ++i) {
    ids.push_back("e" + std::to_string(i));
    builder.executor(ids.back(), [](const int&, Context& context) {
      return context.shared().find("large")->get_ref<const std::string&>().size();
    });
  }
  builder.fan_out("start", ids);
  const auto graph = built(builder);
  const std::clock_t begun = std::clock();
  WorkflowRun run(graph, {.run_id = "w", .store = memory(), .threads = 1});
  REQUIRE_OK(run.run(1));
  return static_cast<double>(std::clock() - begun);
}

// The processor's time of an eager graph in which so many fan-ins hold a message at once, because
// another one that comes before it may still arrive.
double time_of_fan_ins(int fan_ins) {
  const auto pass = [](const Json& json) { return json; };
  WorkflowBuilder builder("w", {.schedule = Schedule::eager});
  builder.executor("start", pass).start("start");
  std::vector<std::string> firsts;
  for (int i = 0; i < fan_ins; ++i) {
    const std::string n = std::to_string(i);
    firsts.push_back("fast" + n);
    firsts.push_back("slow" + n);
    for (const char* kind : {"fast", "then", "slow", "join"}) builder.executor(kind + n, pass);
    builder.edge("fast" + n, "then" + n).fan_in({"then" + n, "slow" + n}, "join" + n, Join::any());
  }
  const auto graph = built(builder.fan_out("start", firsts));
  const workflow::detail::Plan& plan = graph.body()->plan();
  const std::clock_t begun = std::clock();
  workflow::detail::Scheduler scheduler(plan, Schedule::eager, 100);
  std::vector<workflow::detail::Delivery> slow;
  const auto settle = [&](const workflow::detail::Delivery& one) {
    const auto& exits = plan.nodes[one.node].edges;
    scheduler.settle(one, {{one.message, routes_of(plan, exits, one.message).value()}});
  };
  scheduler.start(make_message(1));
  std::size_t joined = 0;
  for (;;) {
    if (auto one = scheduler.next()) {
      const std::string& path = plan.nodes[one->node].path;
      joined += path.rfind("join", 0) == 0 ? 1U : 0U;
      if (path.rfind("slow", 0) == 0) {
        slow.push_back(*std::move(one));
      } else {
        settle(*one);
      }
    } else if (!slow.empty()) {
      settle(slow.back());
      slow.pop_back();
    } else {
      break;
    }
  }
  CHECK(joined == 2 * static_cast<std::size_t>(fan_ins));
  return static_cast<double>(std::clock() - begun);
}

}  // namespace

TEST_CASE("a large value takes no longer to read if many have read it", "[workflow][growth]") {
  const double few = least(time_to_read, 4);
  CHECK(least(time_to_read, 40) < 4 * few);
}

TEST_CASE("fan-ins that hold messages take no longer if there are many others",
          "[workflow][growth]") {
  const double few = least(time_of_fan_ins, 1'000);
  CHECK(least(time_of_fan_ins, 4'000) < 9 * few);
}

namespace {

// Task "t7" ends with text number 7.
Json text_of(const TaskInput& task) { return fresh_text(2'000, std::stoi(task.id.substr(1))); }

Json texts(int tasks) {
  Json all = Json::array();
  for (int i = 0; i < tasks; ++i) all.push_back(fresh_text(2'000, i));
  return all;
}

// Tasks one after another, each of which sees all outputs before.
Workflow crew_of(int tasks) {
  Crew crew("crew");
  crew.agent("ann", text_of);
  for (int i = 0; i < tasks; ++i) crew.task({.id = "t" + std::to_string(i)});
  return built(crew);
}

// Each task depends on the `needs` tasks before it.
Workflow team_of(int tasks, int needs) {
  Json plan = Json::array();
  for (int i = 0; i < tasks; ++i) {
    Json before = Json::array();
    for (int j = std::max(0, i - needs); j < i; ++j) before.push_back("t" + std::to_string(j));
    plan.push_back({{"id", "t" + std::to_string(i)},
                    {"depends_on", std::move(before)},
                    {"assignee", i % 2 == 0 ? "ann" : "bob"}});
  }
  Team team("team", {.max_tasks = tasks});
  team.agent("ann", text_of).agent("bob", text_of);
  team.coordinator([=](const TeamQuestion&, Context&) -> Json { return {{"add", plan}}; });
  team.synthesis([](const std::vector<TaskOutput>& all, Context&) -> Json { return all.size(); });
  return built(team);
}

}  // namespace

TEST_CASE("what a crew's tasks give is stored about once, however many there are",
          "[workflow][growth]") {
  CHECK(appended(crew_of(40), nullptr, texts(40)) <= 1.5);
  CHECK(appended(crew_of(400), nullptr, texts(400)) <= 1.5);
}

TEST_CASE("what a team's tasks give is stored about once, however many there are",
          "[workflow][growth]") {
  const int needs = GENERATE(0, 1, 3);
  const double most = needs < 3 ? 1.5 : 1.6;
  CHECK(appended(team_of(40, needs), nullptr, texts(40)) <= most);
  CHECK(appended(team_of(400, needs), nullptr, texts(400)) <= most);
}
