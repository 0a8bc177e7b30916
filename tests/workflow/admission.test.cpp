// SPDX-License-Identifier: MIT
// Which executors may start: capacities and budgets.
#include "kit.hpp"
#include "support/wait_until.hpp"
#include "triage/policies/retry.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <future>
#include <memory>
#include <mutex>
#include <thread>

using namespace triage;
using namespace triage::workflow;
using namespace triage::test;
using Catch::Matchers::ContainsSubstring;

namespace {

// Records the maximum number running at once.
class Crowd {
 public:
  void pass() {
    const int now = ++inside_;
    for (int most = most_; now > most && !most_.compare_exchange_weak(most, now);) {}
    for (int i = 0; i < 20; ++i) std::this_thread::yield();
    --inside_;
  }
  [[nodiscard]] int most() const { return most_; }

 private:
  std::atomic<int> inside_{0};
  std::atomic<int> most_{0};
};

std::shared_ptr<Budget> tokens(std::uint64_t most) {
  auto budget = Budget::create({.max_tokens = most});
  REQUIRE_OK(budget);
  return std::move(budget).value();
}

// Sleepers wake up when the others have run.
class PatientClock final : public Clock {
 public:
  explicit PatientClock(std::atomic<int>& ran, int awaited) : ran_(ran), awaited_(awaited) {}
  TimePoint now() override { return real_clock()->now(); }
  WallTime wall_now() override { return real_clock()->wall_now(); }
  bool sleep_until(TimePoint, std::stop_token) override {
    wait_until([this] { return ran_ >= awaited_; });
    return true;
  }

 private:
  std::atomic<int>& ran_;
  const int awaited_;
};

}  // namespace

TEST_CASE("who waits before another try lends its thread to others", "[workflow][admission]") {
  const std::size_t threads = GENERATE(1U, 3U);
  constexpr int others = 20;
  std::atomic<int> ran{0};
  std::atomic<int> early{0};
  WorkflowBuilder builder("w");
  for (int i = 0; i < 5; ++i) {  // More than there are threads.
    FailurePolicy policy;
    policy.otherwise(retry({.max_attempts = 2, .delay = std::chrono::hours(1)}));
    const std::string id = "failing" + std::to_string(i);
    builder
        .executor(id,
                  stateless([&, failed = std::make_shared<std::atomic<bool>>(false)](const int& n) {
                    if (!failed->exchange(true)) throw std::runtime_error("not yet");
                    if (ran < others) ++early;
                    return n;
                  }),
                  {.policy = policy})
        .start(id);
  }
  for (int i = 0; i < others; ++i) {
    const std::string id = "other" + std::to_string(i);
    builder
        .executor(id, stateless([&](const int& n) {
                    ++ran;
                    return n;
                  }))
        .start(id);
  }
  WorkflowRun run(built(builder),
                  {.threads = threads, .clock = std::make_shared<PatientClock>(ran, others)});
  REQUIRE_OK(run.run(1));
  CHECK(run.handler_calls() == 30);
  CHECK(early == 0);
}

TEST_CASE("no more than a workflow's capacity is at work at once, nested executors included",
          "[workflow][admission]") {
  const Schedule schedule = GENERATE(Schedule::supersteps, Schedule::eager);
  Crowd crowd;
  const auto work = stateless([&](const int& n) {
    crowd.pass();
    return n;
  });
  WorkflowBuilder inner("inner", {.schedule = schedule});
  inner.executor("a", work).executor("b", work).start("a").start("b");
  WorkflowBuilder builder("w", {.schedule = schedule, .capacity = 2});
  builder.executor("start", [](const int& n) { return n; })
      .executor("inner", built(inner))
      .start("start");
  std::vector<std::string> all{"inner"};
  for (int i = 0; i < 20; ++i) {
    all.push_back("w" + std::to_string(i));
    builder.executor(all.back(), work);
  }
  WorkflowRun run(built(builder.fan_out("start", all)), {.threads = 8});
  REQUIRE_OK(run.run(1));
  CHECK(run.handler_calls() == 23);
  CHECK(crowd.most() <= 2);
}

TEST_CASE("executors that share a capacity take turns, and the others do not wait for them",
          "[workflow][admission]") {
  Crowd gpu;
  Crowd any;
  WorkflowBuilder builder("w", {.capacity = 6, .capacities = {{"gpu", 1}, {"disk", 2}}});
  builder.executor("start", [](const int& n) { return n; }).start("start");
  std::vector<std::string> all;
  for (int i = 0; i < 30; ++i) {
    const bool uses_gpu = i % 3 == 0;
    all.push_back("w" + std::to_string(i));
    builder.executor(all.back(), stateless([&, uses_gpu](const int& n) {
                       any.pass();
                       if (uses_gpu) gpu.pass();
                       return n;
                     }),
                     {.shares = uses_gpu     ? "gpu"
                                : i % 3 == 1 ? "disk"
                                             : ""});
  }
  WorkflowRun run(built(builder.fan_out("start", all)), {.threads = 8});
  REQUIRE_OK(run.run(1));
  CHECK(run.handler_calls() == 31);
  CHECK(gpu.most() == 1);
  CHECK(any.most() <= 6);
}

TEST_CASE("a place that the next in line cannot use goes to the one behind it",
          "[workflow][admission]") {
  std::promise<void> passed;
  bool in_time = false;
  const auto pass = stateless([](const int& n) { return n; });
  WorkflowBuilder builder("w", {.capacity = 2, .capacities = {{"gpu", 1}}});
  builder.executor("start", [](const int& n) { return n; })
      .start("start")
      .executor("a", stateless([&](const int& n) {  // Holds the gpu until "d" has run.
                  in_time = passed.get_future().wait_for(std::chrono::seconds(10)) ==
                            std::future_status::ready;
                  return n;
                }),
                {.shares = "gpu"})
      .executor("b", pass)
      .executor("c", pass, {.shares = "gpu"})
      .executor("d", stateless([&](const int& n) {
                  passed.set_value();
                  return n;
                }))
      .fan_out("start", {"a", "b", "c", "d"});
  REQUIRE_OK(WorkflowRun(built(builder), {.threads = 2}).run(1));
  CHECK(in_time);
}

TEST_CASE("an eager executor begins once its inputs are there, whatever else takes long",
          "[workflow][admission]") {
  std::promise<void> passed;
  bool in_time = false;
  WorkflowBuilder builder("w", {.schedule = Schedule::eager});
  builder
      .executor("a", stateless([&](const int& n) {  // Ends after "c".
                  in_time = passed.get_future().wait_for(std::chrono::seconds(10)) ==
                            std::future_status::ready;
                  return n;
                }))
      .executor("b", [](const int& n) { return n; })
      .executor("c", stateless([&](const int& n) {
                  passed.set_value();
                  return n;
                }))
      .edge("b", "c")
      .start("a")
      .start("b");
  REQUIRE_OK(WorkflowRun(built(builder), {.threads = 2}).run(1));
  CHECK(in_time);
}

TEST_CASE("an executor that waits for an answer holds no place", "[workflow][admission]") {
  const auto graph =
      built(WorkflowBuilder("w", {.capacity = 1})
                .port<int>("n")
                .executor("ask", [](const int&,
                                    Context& context) { return context.request<int>("n", {}); })
                .executor("work", [](const int& n) { return n; })
                .start("ask")
                .start("work"));
  WorkflowRun run(graph, {.run_id = "w", .store = memory()});
  CHECK_ERRC(Errc::suspended, run.run(1));
  CHECK(run.handler_calls() == 2);
  REQUIRE_OK(run.answer("ask/1/n/1", 5));
  REQUIRE_OK(run.resume());
}

TEST_CASE("tasks of one agent run one after another if it has room for one",
          "[workflow][admission]") {
  Crowd crowd;
  TaskGraph graph("plan");
  graph.agent(
      "writer",
      [&](const TaskInput& task) {
        crowd.pass();
        return task.id;
      },
      1);
  for (int i = 0; i < 12; ++i) graph.task({.id = "t" + std::to_string(i)});
  WorkflowRun run(built(graph), {.threads = 4});
  REQUIRE_OK(run.run({}));
  CHECK(crowd.most() == 1);
}

TEST_CASE("a capacity of nothing, or one that nobody has, is refused", "[workflow][admission]") {
  const auto with = [](std::map<std::string, std::size_t> capacities) {
    return WorkflowBuilder("w", {.capacities = std::move(capacities)})
        .executor("a", [](const int& n) { return n; }, {.shares = "gpu"})
        .start("a")
        .build();
  };
  CHECK_THAT(with({{"gpu", 0}}).error().detail, ContainsSubstring("\"gpu\" is 0"));
  CHECK_THAT(with({{"gpus", 1}}).error().detail,
             ContainsSubstring("\"a\"") && ContainsSubstring("did you mean \"gpus\""));
}

TEST_CASE("a spent budget lets running work finish and begins nothing more; more of it goes on",
          "[workflow][admission]") {
  const auto store = memory();
  const auto spend = [](const int& n, Context& context) -> Result<int> {
    auto reserved = context.reserve({.input_tokens = 40});
    if (!reserved) return reserved.error();
    reserved.value().settle({.input_tokens = 40});
    return n + 1;
  };
  const auto graph = built(WorkflowBuilder("w")
                               .executor("a", spend)
                               .executor("b", spend)
                               .executor("c", spend)
                               .executor("d", spend)
                               .start("a")
                               .chain({"a", "b", "c", "d"}));
  const auto small = tokens(80);
  WorkflowRun run(graph, {.run_id = "w", .store = store, .budget = small});
  const auto stopped = run.run(1);
  CHECK_ERRC(Errc::exhausted, stopped);
  CHECK_THAT(stopped.error().detail, ContainsSubstring("budget is spent"));
  CHECK(run.handler_calls() == 2);
  CHECK(small->spent().tokens() == 80);
  CHECK_ERRC(Errc::exhausted, run.resume());
  CHECK(run.handler_calls() == 2);
  WorkflowRun more(graph, {.run_id = "w", .store = store, .budget = tokens(80)});
  const auto done = more.resume();
  REQUIRE_OK(done);
  CHECK(done.value().value() == 5);
  CHECK(more.handler_calls() == 2);
}

TEST_CASE("a budget of money alone is spent when nothing is left but what rounding leaves",
          "[workflow][admission]") {
  const auto spend = [](const int& n, Context& context) -> Result<int> {
    auto reserved = context.reserve({.cost_usd = 0.1});
    if (!reserved) return reserved.error();
    reserved.value().settle({.cost_usd = 0.1});
    return n + 1;
  };
  const auto graph = built(WorkflowBuilder("w")
                               .executor("a", spend)
                               .start("a")
                               .edge("a", "a", when<int>([](const int& n) { return n < 100; })));
  auto dollar = Budget::create({.max_cost_usd = 1.0});  // Ten times 0.1 is a little less.
  REQUIRE_OK(dollar);
  WorkflowRun run(graph, {.run_id = "w", .store = memory(), .budget = dollar.value()});
  CHECK_ERRC(Errc::exhausted, run.run(1));
  CHECK(run.handler_calls() == 10);
}

namespace {

// One thread, and whoever wants to run what waits for it.
class Waiting final : public Threads {
 public:
  void start(std::function<void()> work) override {
    const std::scoped_lock lock(mutex_);
    waiting_.push_back(std::move(work));
    changed_.notify_all();
  }
  // Waits for the next, and runs it.
  void run_one() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return closing_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    const auto work = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    work();
  }
  // Begins when so many are waiting.
  void serve(std::size_t first) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return closing_ || waiting_.size() >= first; });
    }
    while (!closing_) run_one();
  }
  void close() {
    const std::scoped_lock lock(mutex_);
    closing_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_{};
  std::condition_variable changed_{};
  std::deque<std::function<void()>> waiting_{};
  std::atomic<bool> closing_{false};
};

}  // namespace

TEST_CASE("what is only reserved of a budget is not spent: others begin when it is given back",
          "[workflow][admission]") {
  const auto pool = std::make_shared<Waiting>();
  std::atomic<int> ran{0};
  const auto budget = tokens(100);
  WorkflowBuilder builder("w");
  builder
      .executor("a", stateless([&](const int& n, Context& context) {
                  auto all = context.reserve({.input_tokens = 100});
                  REQUIRE_OK(all);
                  pool->run_one();  // b, for which nothing is left now.
                  all.value().settle({.input_tokens = 10});
                  return n;
                }))
      .executor("b", stateless([&](const int& n) {
                  ++ran;
                  return n;
                }))
      .start("a")
      .start("b");
  std::thread thread([&] { pool->serve(2); });
  std::atomic<int> told{0};
  WorkflowRun run(built(builder),
                  {.pool = pool, .budget = budget, .on_event = [&](const WorkflowEvent& event) {
                     if (event.kind == WorkflowEventKind::budget_spent) ++told;
                   }});
  const auto done = run.run(1);
  pool->close();
  thread.join();
  REQUIRE_OK(done);
  CHECK(done.value().outputs.size() == 2);
  CHECK(ran == 1);
  CHECK(told == 0);
}
