// SPDX-License-Identifier: MIT
// Workflows: the cost of a delivery, many nodes, what is stored, and what checkpoints add.
#include "support/bare_pool.hpp"
#include "support/raw_sqlite.hpp"
#include "support/scratch.hpp"
#include "support/turns.hpp"
#include "triage/forwarding_store.hpp"
#include "triage/stores/memory.hpp"
#include "triage/stores/sqlite.hpp"
#include "triage/workflow/run.hpp"
#include "triage/workflow/task_graph.hpp"

#include <benchmark/benchmark.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace triage::bench {
namespace {

using namespace workflow;

constexpr int rounds = 5;
constexpr std::size_t threads = 2;

// --- A delivery, compared with a plain pool of threads with one queue. Both have two working
// threads, pass on JSON messages and test the same condition. The pool has no order, no state and
// no record of senders. Processor time of all threads is compared as well, because it excludes
// other programs on the machine.

constexpr int width = 100;
constexpr int depth = 100;
constexpr int deliveries = width * depth + 1;

std::string name_of(int i) { return "n" + std::to_string(i); }

// A hundred executors that each send themselves a number until it reaches `depth`.
Workflow rings() {
  WorkflowBuilder builder("rings", {.max_supersteps = 1'000'000});
  builder.executor("start", [](const int& n) { return n; }).start("start");
  std::vector<std::string> all;
  for (int i = 0; i < width; ++i) {
    const std::string id = name_of(i);
    all.push_back(id);
    builder.executor(id, [](const int& n) { return n + 1; }).edge(id, id, when<int>([](int n) {
                                                                    return n <= depth;
                                                                  }));
  }
  return builder.fan_out("start", all).build().value();
}

// The same work without a workflow: each job reads its message, makes the next one, tests the
// condition and adds the next job of its ring.
double bare_seconds() {
  std::atomic<int> left{width};
  std::mutex mutex;
  std::condition_variable done;
  BarePool pool(threads);
  const auto begin = Clock::now();
  const Condition goes_on = when<int>([](int n) { return n <= depth; });
  std::function<void(const Message&)> step = [&](const Message& got) {
    Message next = make_message(got.json().get<int>() + 1);
    if (goes_on(next)) {
      pool.add([&step, next = std::move(next)] { step(next); });
    } else if (--left == 0) {
      const std::scoped_lock lock(mutex);
      done.notify_one();
    }
  };
  for (int i = 0; i < width; ++i) pool.add([&step] { step(make_message(1)); });
  std::unique_lock lock(mutex);
  done.wait(lock, [&] { return left == 0; });
  return seconds_since(begin);
}

// The same, but like a workflow: messages of a superstep are passed on in order, once all of it has
// run.
double stepped_seconds() {
  std::mutex mutex;
  std::condition_variable done;
  BarePool pool(threads);
  const auto begin = Clock::now();
  const Condition goes_on = when<int>([](int n) { return n <= depth; });
  std::vector<Message> messages(width, make_message(1));
  while (!messages.empty()) {
    std::vector<Message> sent(messages.size());
    std::size_t left = messages.size();
    for (std::size_t i = 0; i < messages.size(); ++i) {
      pool.add([&, i] {
        sent[i] = make_message(messages[i].json().get<int>() + 1);
        const std::scoped_lock lock(mutex);
        if (--left == 0) done.notify_one();
      });
    }
    std::unique_lock lock(mutex);
    done.wait(lock, [&] { return left == 0; });
    std::erase_if(sent, [&](const Message& message) { return !goes_on(message); });
    messages = std::move(sent);
  }
  return seconds_since(begin);
}

// Processor time of all threads of this process.
double process_seconds() {
  ::timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

template <class Work>
double processor_seconds(const Work& work) {
  const double begin = process_seconds();
  work();
  return process_seconds() - begin;
}

double run_seconds(const Workflow& graph, WorkflowRunOptions options, const Json& inputs) {
  WorkflowRun run(graph, std::move(options));
  const auto begin = Clock::now();
  run.run(inputs).value();
  return seconds_since(begin);
}

void workflow_delivery(benchmark::State& state) {
  const Workflow graph = rings();
  for (auto _ : state) {
    const auto [bare, stepped, ours] = by_turns(
        rounds, [] { return bare_seconds(); }, [] { return stepped_seconds(); },
        [&] { return run_seconds(graph, {.threads = threads}, 1); });
    state.counters["bare_us"] = bare * 1e6 / deliveries;
    state.counters["each_us"] = ours * 1e6 / deliveries;
    state.counters["ratio"] = ours / bare;
    state.counters["stepped_us"] = stepped * 1e6 / deliveries;
    state.counters["stepped_ratio"] = ours / stepped;
    const auto [bare_cpu, our_cpu] = by_turns(
        rounds, [] { return processor_seconds([] { bare_seconds(); }); },
        [&] { return processor_seconds([&] { run_seconds(graph, {.threads = threads}, 1); }); });
    state.counters["each_cpu_us"] = our_cpu * 1e6 / deliveries;
    state.counters["cpu_ratio"] = our_cpu / bare_cpu;
  }
}
BENCHMARK(workflow_delivery)->Iterations(1);

// --- The same without a barrier, in chains side by side that have so many executors together.
constexpr int eager_deliveries = 5'000;

Workflow chains(Schedule schedule, int ways) {
  WorkflowBuilder builder("chains", {.schedule = schedule, .max_supersteps = 1'000'000});
  for (int i = 0; i < eager_deliveries; ++i) {
    const std::string id = name_of(i);
    builder.executor(id, [](const int& n) { return n + 1; });
    if (i < ways) {
      builder.start(id);
    } else {
      builder.edge(name_of(i - ways), id);
    }
  }
  return builder.build().value();
}

// Arguments: chains, threads.
void workflow_eager(benchmark::State& state) {
  const auto ways = static_cast<int>(state.range(0));
  const auto count = static_cast<std::size_t>(state.range(1));
  const Workflow eager = chains(Schedule::eager, ways);
  const Workflow plain = chains(Schedule::supersteps, ways);
  const auto run = [&](const Workflow& graph) { return run_seconds(graph, {.threads = count}, 1); };
  for (auto _ : state) {
    const auto [each, cpu, plain_cpu] = by_turns(
        rounds, [&] { return run(eager); }, [&] { return processor_seconds([&] { run(eager); }); },
        [&] { return processor_seconds([&] { run(plain); }); });
    state.counters["each_us"] = each * 1e6 / eager_deliveries;
    state.counters["each_cpu_us"] = cpu * 1e6 / eager_deliveries;
    state.counters["plain_cpu_us"] = plain_cpu * 1e6 / eager_deliveries;
  }
}
BENCHMARK(workflow_eager)->Iterations(1)->ArgsProduct({{1, 2, 8, 100}, {1, 2, 4}});

// --- Ten thousand nodes.

constexpr int layer = 100;
constexpr int layers = 100;

// Each node of a layer sends to one of the next. The last one calls `at_end`.
Workflow layered(const std::function<void()>& at_end) {
  WorkflowBuilder builder("layered", {.max_supersteps = 1'000});
  builder.executor("start", [](const int& n) { return n; }).start("start");
  std::vector<std::string> first;
  std::vector<std::string> last;
  for (int i = 0; i < layer; ++i) {
    for (int k = 0; k < layers; ++k) {
      const std::string id = name_of(k * layer + i);
      builder.executor(id, [](const int& n) { return n + 1; });
      if (k > 0) builder.edge(name_of((k - 1) * layer + i), id);
    }
    first.push_back(name_of(i));
    last.push_back(name_of((layers - 1) * layer + i));
  }
  builder.executor("end", stateless([at_end](const std::vector<int>& all) {
                     at_end();
                     return std::accumulate(all.begin(), all.end(), 0);
                   }));
  return builder.fan_out("start", first).fan_in(last, "end").build().value();
}

// Builds, runs and stores them in a file.
void workflow_nodes(benchmark::State& state) {
  const Scratch scratch;
  for (auto _ : state) {
    std::vector<double> all;
    for (int round = 0; round < rounds; ++round) {
      const std::string file = scratch.fresh("nodes.db");
      const auto begin = Clock::now();
      const auto store = SqliteStore::open(file).value();
      WorkflowRun run(layered([] {}), {.run_id = "w", .store = store, .threads = threads});
      run.run(1).value();
      all.push_back(seconds_since(begin));
    }
    state.counters["all_ms"] = median(std::move(all)) * 1e3;
  }
}
BENCHMARK(workflow_nodes)->Iterations(1);

// All but the last node have finished; the file is reopened.
void workflow_resume(benchmark::State& state) {
  const Scratch scratch;
  for (auto _ : state) {
    std::vector<double> until_first;
    for (int round = 0; round < rounds; ++round) {
      const std::string file = scratch.fresh("resume.db");
      const auto fail = [] { throw std::runtime_error("not yet"); };
      static_cast<void>(
          WorkflowRun(layered(fail), {.run_id = "w", .store = SqliteStore::open(file).value()})
              .run(1));
      Clock::time_point called;
      const Workflow graph = layered([&] { called = Clock::now(); });
      const auto store = SqliteStore::open(file).value();
      WorkflowRun run(graph, {.run_id = "w", .store = store, .threads = threads});
      const auto begin = Clock::now();
      run.resume().value();
      until_first.push_back(std::chrono::duration<double>(called - begin).count());
    }
    state.counters["ms"] = median(std::move(until_first)) * 1e3;
  }
}
BENCHMARK(workflow_resume)->Iterations(1);

// --- What is stored.

// Keeps the appended records in the groups in which they arrive.
class GroupingStore final : public ForwardingStore {
 public:
  struct Group {
    std::vector<Record> records{};
    std::vector<std::string> bodies{};
  };
  explicit GroupingStore(std::shared_ptr<CheckpointStore> inner)
      : ForwardingStore(std::move(inner)) {}
  ~GroupingStore() override { stop_queue(); }
  Result<Lease> start(const RunInfo& run, std::span<const Record> records) override {
    keep(records);
    return inner().start(run, records);
  }
  Result<void> append(const Lease& lease, std::span<const Record> records,
                      RunStatus status) override {
    keep(records);
    return inner().append(lease, records, status);
  }
  void append_group(std::span<AppendBatch> batches) override {
    for (const AppendBatch& batch : batches) keep(batch.records);
    inner().append_group(batches);
  }

  [[nodiscard]] const std::vector<Group>& groups() const noexcept { return groups_; }
  [[nodiscard]] std::size_t bytes() const {
    std::size_t sum = 0;
    for (const Group& group : groups_) {
      for (const std::string& body : group.bodies) sum += body.size();
    }
    return sum;
  }

 private:
  void keep(std::span<const Record> records) {
    if (records.empty()) return;
    Group group;
    for (const Record& record : records) {
      std::string body;
      record.encode_body(body);
      group.records.emplace_back(record.seq(), record.kind(), record.time(),
                                 std::make_shared<const std::string>(body));
      group.bodies.push_back(std::move(body));
    }
    const std::scoped_lock lock(mutex_);
    groups_.push_back(std::move(group));
  }
  std::mutex mutex_{};
  std::vector<Group> groups_{};
};

using Groups = std::vector<GroupingStore::Group>;

double raw_seconds(const std::string& path, const Groups& groups) {
  RawSqlite raw(path);
  const auto begin = Clock::now();
  for (const auto& group : groups) raw.insert(group.bodies);
  raw.fold();
  return seconds_since(begin);
}

double append_seconds(const std::string& path, const Groups& groups) {
  const auto store = SqliteStore::open(path).value();
  const auto begin = Clock::now();
  const Lease lease = store->start({.id = "run"}, groups.front().records).value();
  for (std::size_t i = 1; i < groups.size(); ++i) {
    store->append(lease, groups[i].records, RunStatus::running).value();
  }
  store->idle();
  return seconds_since(begin);
}

// The groups of a run of many nodes, as raw INSERTs and through the store, compared with the run.
void workflow_appends(benchmark::State& state) {
  const Scratch scratch;
  // The groups in which a slow store receives them.
  const auto seen =
      std::make_shared<GroupingStore>(SqliteStore::open(scratch.fresh("seen.db")).value());
  const Workflow graph = layered([] {});
  WorkflowRun(graph, {.run_id = "w", .store = seen, .threads = threads}).run(1).value();
  const Groups& groups = seen->groups();
  std::size_t records = 0;
  for (const auto& group : groups) records += group.records.size();
  for (auto _ : state) {
    const auto [raw, ours, whole] = by_turns(
        rounds, [&] { return raw_seconds(scratch.fresh("raw.db"), groups); },
        [&] { return append_seconds(scratch.fresh("ours.db"), groups); },
        [&] {
          const auto store = SqliteStore::open(scratch.fresh("whole.db")).value();
          return run_seconds(graph, {.run_id = "w", .store = store, .threads = threads}, 1);
        });
    state.counters["groups"] = static_cast<double>(groups.size());
    state.counters["raw_us"] = raw * 1e6 / static_cast<double>(records);
    state.counters["ratio"] = raw / ours;
    state.counters["run_us"] = whole * 1e6 / static_cast<double>(records);
  }
}
BENCHMARK(workflow_appends)->Iterations(1);

// --- What checkpoints add.

Workflow thousand_tasks() {
  TaskGraph graph("tasks");
  graph.agent("worker", [](const TaskInput& task) { return task.id + std::string(200, 'x'); });
  for (int i = 0; i < 1'000; ++i) {
    Task task{.id = "t" + std::to_string(i)};
    if (i >= 10) task.depends_on = {"t" + std::to_string(i - 10)};
    graph.task(std::move(task));
  }
  return graph.build().value();
}

void workflow_all(benchmark::State& state) {
  const Scratch scratch;
  const Workflow graph = thousand_tasks();
  const auto options = [](std::shared_ptr<CheckpointStore> store, CheckpointTrigger trigger) {
    return WorkflowRunOptions{.run_id = "w",
                              .store = std::move(store),
                              .threads = threads,
                              .checkpoints = CheckpointPolicy{.on = trigger}};
  };
  const auto bytes = [&](CheckpointTrigger trigger) {
    const auto store = std::make_shared<GroupingStore>(MemoryStore::create());
    WorkflowRun(graph, options(store, trigger)).run(1).value();
    return static_cast<double>(store->bytes());
  };
  const auto seconds = [&](CheckpointTrigger trigger) {
    const auto store = SqliteStore::open(scratch.fresh("tasks.db")).value();
    return run_seconds(graph, options(store, trigger), 1);
  };
  using enum CheckpointTrigger;
  for (auto _ : state) {
    const auto [few, many] = by_turns(
        rounds, [&] { return seconds(task_completed); }, [&] { return seconds(all); });
    state.counters["few_ms"] = few * 1e3;
    state.counters["time_ratio"] = many / few;
    state.counters["bytes_ratio"] = bytes(all) / bytes(task_completed);
  }
}
BENCHMARK(workflow_all)->Iterations(1);

}  // namespace
}  // namespace triage::bench
