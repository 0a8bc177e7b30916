// SPDX-License-Identifier: MIT
// What may change in a task list while a run of it is not finished.
#include "kit.hpp"

#include <atomic>
#include <map>
#include <stdexcept>

using namespace triage;
using namespace triage::workflow;
using namespace triage::test;
using Catch::Matchers::ContainsSubstring;

namespace {

using Tasks = std::vector<Task>;

// Each task of `fails` fails; the others return whose outputs they got.
TaskGraph list_of(Tasks tasks, const std::set<std::string>& fails = {}) {
  TaskGraph graph("list");
  graph.agent("w", [fails](const TaskInput& task) {
    if (fails.contains(task.id)) throw std::runtime_error("down");
    return task.description + told(task);
  });
  for (Task& task : tasks) graph.task(std::move(task));
  return graph;
}

// The store of a run in which "a" has failed.
std::shared_ptr<CheckpointStore> failed_run_of(const Tasks& tasks) {
  auto store = memory();
  CHECK_FALSE(WorkflowRun(built(list_of(tasks, {"a"})), {.run_id = "w", .store = store})
                  .run(nullptr)
                  .has_value());
  return store;
}

// As an earlier version has stored it, which kept only a hash of the tasks that depend on none.
std::shared_ptr<CheckpointStore> of_earlier_version(CheckpointStore& store) {
  const JournalReading reading = store.read("w", {}).value();
  std::vector<Record> records;
  for (const Record& record : reading.records) {
    Json body = record.body().value();
    if (record.kind() == RecordKind::run_started) {
      Json& stored = body.at("task").at("parts");
      Json parts = Json::parse(stored.get<std::string>());
      REQUIRE(parts.erase("starts") == 1);
      stored = parts.dump();
    }
    records.emplace_back(record.seq(), record.kind(), record.time(),
                         std::make_shared<const Json>(std::move(body)));
  }
  auto older = MemoryStore::create();
  const Lease lease = older->start(reading.info, records).value();
  REQUIRE_OK(older->release(lease));
  return older;
}

// A run of `before` in which "a" fails, continued with `now`, in which nothing fails.
Result<WorkflowResult> goes_on(const Tasks& before, const Tasks& now,
                               std::map<std::string, Json>* outputs = nullptr) {
  const auto store = failed_run_of(before);
  const TaskGraph graph = list_of(now);
  WorkflowRun run(built(graph), {.run_id = "w", .store = store});
  auto done = run.resume();
  if (outputs != nullptr) {
    const auto views = graph.tasks(run);
    REQUIRE_OK(views);
    for (const TaskView& view : views.value()) (*outputs)[view.id] = view.output;
  }
  return done;
}

}  // namespace

TEST_CASE("a task that has not run may change: it was to follow a failed one, or was skipped",
          "[workflow][tasks]") {
  std::map<std::string, Json> outputs;
  const auto rule = GENERATE(OnFailure::cascade, OnFailure::skip);
  const Tasks before{{.id = "z"},
                     {.id = "a", .depends_on = {"z"}, .on_failure = rule},
                     {.id = "b", .depends_on = {"a"}},
                     {.id = "c", .depends_on = {"b"}}};
  Tasks now = before;
  now[2].description = "better ";
  now[3].version = "2";
  REQUIRE_OK(goes_on(before, now, &outputs));
  CHECK(outputs.at("b") == "better b[a]");
  CHECK(outputs.at("c") == "c[b]");

  now[3].depends_on = {"a"};
  REQUIRE_OK(goes_on(before, now, &outputs));
  CHECK(outputs.at("b") == "better b[a]");
  CHECK(outputs.at("c") == "c[a]");

  // Neither has to be there any more.
  REQUIRE_OK(goes_on(before, {before[0], before[1]}));

  now[0].description = "other";
  const auto refused = goes_on(before, now);
  CHECK_ERRC(Errc::conflict, refused);
  CHECK_THAT(refused.error().detail, ContainsSubstring("executor z"));
}

TEST_CASE("a task whose condition has failed may change, and stays skipped", "[workflow][tasks]") {
  std::map<std::string, Json> outputs;
  const Tasks before{
      {.id = "z"},
      {.id = "s", .depends_on = {"z"}, .condition = [](const TaskInput&) { return false; }},
      {.id = "a", .depends_on = {"s"}}};
  Tasks now = before;
  now[1].description = "other";
  REQUIRE_OK(goes_on(before, now, &outputs));
  CHECK(outputs.at("s") == nullptr);
  CHECK(outputs.at("a") == "a[]");

  // What has gone on without it may not be put after another task.
  CHECK_ERRC(Errc::conflict, goes_on({before[0],
                                      before[1],
                                      {.id = "d", .depends_on = {"s"}},
                                      {.id = "a", .depends_on = {"d"}}},
                                     {before[0],
                                      before[1],
                                      {.id = "new"},
                                      {.id = "d", .depends_on = {"new"}},
                                      {.id = "a", .depends_on = {"d"}}}));
}

TEST_CASE("a task may be added after one whose condition has failed", "[workflow][tasks]") {
  std::map<std::string, Json> outputs;
  const auto never = [](const TaskInput&) { return false; };
  const Tasks before{{.id = "s0"},
                     {.id = "s", .depends_on = {"s0"}, .condition = never},
                     {.id = "d", .depends_on = {"s"}},
                     {.id = "last", .depends_on = {"s0"}, .condition = never},
                     {.id = "a", .depends_on = {"d"}}};
  Tasks now = before;
  now.push_back({.id = "beside", .depends_on = {"s"}});  // As "d", which has run.
  now.push_back({.id = "after", .depends_on = {"last"}});
  now.push_back({.id = "both", .depends_on = {"last", "s"}});
  REQUIRE_OK(goes_on(before, now, &outputs));
  for (const char* id : {"beside", "after", "both"})
    CHECK(outputs.at(id) == id + std::string("[]"));
  CHECK(outputs.at("a") == "a[d]");

  // Not if the run is finished.
  const auto store = memory();
  REQUIRE_OK(WorkflowRun(built(list_of(before)), {.run_id = "w", .store = store}).run(nullptr));
  const auto refused =
      WorkflowRun(built(list_of(now)), {.run_id = "w", .store = store}).start_or_resume(nullptr);
  CHECK_ERRC(Errc::conflict, refused);
  CHECK_THAT(refused.error().detail, ContainsSubstring("edge last->after (new)"));
}

TEST_CASE("a task that failed and that others went on without may not change",
          "[workflow][tasks]") {
  const Tasks before{{.id = "a", .on_failure = OnFailure::carry_on},
                     {.id = "b", .depends_on = {"a"}}};
  const auto store = memory();
  CHECK_FALSE(WorkflowRun(built(list_of(before, {"a", "b"})), {.run_id = "w", .store = store})
                  .run(nullptr)
                  .has_value());
  Tasks now = before;
  now[0].description = "other";
  CHECK_ERRC(Errc::conflict,
             WorkflowRun(built(list_of(now)), {.run_id = "w", .store = store}).resume());
}

TEST_CASE("a task that depends on none may be added to a run that is not finished",
          "[workflow][tasks]") {
  std::map<std::string, Json> outputs;
  const Tasks before{{.id = "z"}, {.id = "a", .depends_on = {"z"}}};
  const Tasks now{{.id = "new"},
                  {.id = "z"},
                  {.id = "a", .depends_on = {"z"}},
                  {.id = "after", .depends_on = {"new"}}};
  REQUIRE_OK(goes_on(before, now, &outputs));
  CHECK(outputs.at("a") == "a[z]");
  CHECK(outputs.at("after") == "after[new]");

  // One that has run may not depend on it, nor be gone.
  CHECK_ERRC(Errc::conflict, goes_on(before, {{.id = "new"},
                                              {.id = "z", .depends_on = {"new"}},
                                              {.id = "a", .depends_on = {"z"}}}));
  CHECK_ERRC(Errc::conflict, goes_on(before, {{.id = "new"}, {.id = "a"}}));

  // A finished run has nothing left to do.
  const auto store = memory();
  REQUIRE_OK(WorkflowRun(built(list_of(before)), {.run_id = "w", .store = store}).run(nullptr));
  const auto refused =
      WorkflowRun(built(list_of(now)), {.run_id = "w", .store = store}).start_or_resume(nullptr);
  CHECK_ERRC(Errc::conflict, refused);
  // A branch of it has.
  WorkflowRun origin(built(list_of(before)), {.run_id = "w", .store = store});
  WorkflowRun branch(built(list_of(now)), {.run_id = "b", .store = store});
  REQUIRE_OK(branch.fork(last_checkpoint(origin), {}));
  CHECK(called(branch) == std::set<std::string>{"new", "after"});
}

TEST_CASE("a task that depends on none may be gone, or depend on another, if it has not run",
          "[workflow][tasks]") {
  std::map<std::string, Json> outputs;
  const Tasks before{{.id = "z"}, {.id = "a"}, {.id = "b", .depends_on = {"a"}}};
  REQUIRE_OK(goes_on(before, {before[0]}, &outputs));
  CHECK(outputs == std::map<std::string, Json>{{"z", "z[]"}});

  REQUIRE_OK(goes_on(before, {before[0], {.id = "b"}}, &outputs));
  CHECK(outputs.at("b") == "b[]");

  const Tasks after_new{{.id = "new"},
                        before[0],
                        {.id = "a", .depends_on = {"new"}},
                        {.id = "b", .depends_on = {"a"}}};
  REQUIRE_OK(goes_on(before, after_new, &outputs));
  CHECK(outputs.at("a") == "a[new]");
  CHECK(outputs.at("b") == "b[a]");

  REQUIRE_OK(goes_on(before, {before[2], before[1], before[0]}, &outputs));  // In another order.
  CHECK(outputs.at("b") == "b[a]");
}

TEST_CASE("a task that depends on none and has run may neither be gone nor depend on another",
          "[workflow][tasks]") {
  const auto refused = [](const Tasks& before, const Tasks& now, const std::string& says) {
    const auto done = goes_on(before, now);
    CHECK_ERRC(Errc::conflict, done);
    CHECK_THAT(done.error().detail, ContainsSubstring(says));
  };
  const Tasks before{{.id = "z"}, {.id = "a"}};
  refused(before, {before[1]}, ": executor z (gone);");
  refused(before, {{.id = "new"}, {.id = "z", .depends_on = {"new"}}, before[1]},
          ": start z (gone);");
  // As for any other task, what it comes to depend on must not have run either.
  refused(before, {before[0], {.id = "a", .depends_on = {"z"}}}, ": edge z->a (new);");
  // One that its condition has left out stays so.
  const Tasks left_out{{.id = "s", .condition = [](const TaskInput&) { return false; }},
                       {.id = "a"}};
  refused(left_out, {{.id = "new"}, {.id = "s", .depends_on = {"new"}}, {.id = "a"}},
          ": start s (gone);");

  const auto store = memory();
  REQUIRE_OK(WorkflowRun(built(list_of(before)), {.run_id = "w", .store = store}).run(nullptr));
  CHECK_ERRC(Errc::conflict,
             WorkflowRun(built(list_of({before[0]})), {.run_id = "w", .store = store}).resume());
}

TEST_CASE("a run that goes on with other first tasks keeps them", "[workflow][tasks]") {
  const auto store = failed_run_of({{.id = "z"}, {.id = "a"}});
  const auto goes_on_with = [&](const Tasks& tasks, const std::set<std::string>& fails) {
    return WorkflowRun(built(list_of(tasks, fails)), {.run_id = "w", .store = store}).resume();
  };
  CHECK_ERRC(Errc::escalated, goes_on_with({{.id = "z"}, {.id = "c"}}, {"c"}));
  CHECK_ERRC(Errc::escalated, goes_on_with({{.id = "z"}, {.id = "d"}}, {"d"}));
  REQUIRE_OK(goes_on_with({{.id = "z"}, {.id = "d"}}, {}));
}

TEST_CASE("a run of an earlier version may only get tasks that depend on none",
          "[workflow][tasks]") {
  const Tasks before{{.id = "z"}, {.id = "a"}};
  const auto store = failed_run_of(before);
  const auto goes_on_with = [&](const Tasks& tasks) {
    return WorkflowRun(built(list_of(tasks)), {.run_id = "w", .store = of_earlier_version(*store)})
        .resume();
  };
  REQUIRE_OK(goes_on_with(before));
  REQUIRE_OK(goes_on_with({before[0], before[1], {.id = "new"}}));
  for (const Tasks& now :
       {Tasks{before[0]}, Tasks{before[0], {.id = "new"}, {.id = "a", .depends_on = {"new"}}}}) {
    const auto refused = goes_on_with(now);
    CHECK_ERRC(Errc::conflict, refused);
    CHECK_THAT(refused.error().detail, ContainsSubstring(": workflow (changed);"));
  }
}
