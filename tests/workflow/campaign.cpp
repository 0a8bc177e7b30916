// SPDX-License-Identifier: MIT
// Random workflows in numbers too large for a test: their results on any number of threads, from
// any of their checkpoints in other processes, killed at any time, raced for, and with failures.
// Usage: workflow_campaign [--graphs N] [--rehydrated N] [--kills N] [--races N] [--answers N]
//                          [--edits N] [--failures N] [--seed S]
#include "campaign_graphs.hpp"
#include "random_edit.hpp"
#include "random_failures.hpp"
#include "support/temp_folder.hpp"
#include "triage/stores/memory.hpp"
#include "triage/stores/sqlite.hpp"
#include "triage/workflow/inspect.hpp"
#include "victim.hpp"

#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <set>
#include <thread>

namespace triage::test {
namespace {

using namespace workflow;

struct Counts {
  long graphs = 15;
  long rehydrated = 2;
  long kills = 10;
  long races = 20;
  long answers = 300;
  long edits = 50;
  long failures = 30;
  unsigned seed = 1;
};

[[noreturn]] void found(const std::string& what) {
  std::fprintf(stderr, "workflow_campaign: %s\n", what.c_str());
  std::exit(1);
}

std::shared_ptr<CheckpointStore> opened(const std::string& file) {
  auto store = SqliteStore::open(file);
  if (!store) found("the store cannot be opened: " + store.error().detail);
  return store.value();
}

// Runs `work` in a separate process. Its exit status, or -1 if it was killed.
int in_process(const std::function<int()>& work) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(work());
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// The same result on one, two and eight threads.
void graphs(const Counts& counts) {
  std::size_t deliveries = 0;
  for (long i = 0; i < counts.graphs; ++i) {
    Rng rng(counts.seed * 1'000'003 + static_cast<unsigned>(i));
    const Workflow graph = random_workflow(rng, 2 + below(rng, 199));
    std::string expected;
    for (const std::size_t threads : {1U, 2U, 8U}) {
      const auto store = MemoryStore::create();
      WorkflowRun run(graph, {.run_id = "w", .store = store, .threads = threads});
      const std::string left = run_to_end(run, *store);
      if (expected.empty()) expected = left;
      if (left != expected) {
        found("graph " + std::to_string(i) + " of seed " + std::to_string(counts.seed) +
              " leaves something else behind on " + std::to_string(threads) + " threads");
      }
      deliveries += run.handler_calls();
    }
  }
  std::printf("%ld graphs on 1, 2 and 8 threads: the same left behind (%zu calls)\n", counts.graphs,
              deliveries);
}

// Continues a run from each checkpoint twice, in separate processes.
void rehydrated(const Counts& counts) {
  std::size_t branched = 0;
  for (long i = 0; i < counts.rehydrated; ++i) {
    Rng rng(counts.seed * 2'000'003 + static_cast<unsigned>(i));
    const Workflow graph = random_workflow(rng, 2 + below(rng, 30));
    const TempFolder folder;
    const std::string file = folder.file("w.db");
    std::string expected;
    std::vector<std::string> checkpoints;
    {
      const auto store = opened(file);
      WorkflowRun run(graph, {.run_id = "w", .store = store});
      expected = run_to_end(run, *store);
      const auto all = run.checkpoints();
      if (!all) found("checkpoints: " + all.error().detail);
      for (const CheckpointInfo& one : all.value()) checkpoints.push_back(to_string(one.id));
    }
    for (std::size_t k = 0; k < checkpoints.size(); ++k) {
      for (const char* which : {"a", "b"}) {
        const RunId id = "branch" + std::to_string(k) + which;
        const int status = in_process([&] {
          const auto store = opened(file);
          auto run = rehydrate(graph, checkpoints[k], store, {.run_id = id});
          if (!run) return 2;
          return run_to_end(run.value(), *store) == expected ? 0 : 3;
        });
        if (status != 0) {
          found("checkpoint " + checkpoints[k] + " of graph " + std::to_string(i) + ", seed " +
                std::to_string(counts.seed) + ": " + std::to_string(status));
        }
        ++branched;
      }
    }
    const auto store = opened(file);
    const auto all = branches(*store, "w");
    if (!all || all.value().size() != 1 + 2 * checkpoints.size()) found("branches are missing");
  }
  std::printf("%ld graphs, each checkpoint in two new processes: %zu branches, all the same\n",
              counts.rehydrated, branched);
}

std::set<std::string> finished_in(CheckpointStore& store) {
  std::set<std::string> finished;
  const auto view = inspect(store, "w");
  if (!view) return finished;  // It had not started.
  for (const StoredDelivery& one : view.value().deliveries) finished.insert(one.executor);
  return finished;
}

// A run of thirty executors, killed at any time and then continued.
void kills(const Counts& counts) {
  Rng rng(counts.seed * 3'000'017);
  long killed = 0;
  for (long i = 0; i < counts.kills; ++i) {
    const TempFolder folder;
    const std::string file = folder.file("w.db");
    const std::string world = folder.file("world");
    const auto after = static_cast<::suseconds_t>(1 + below(rng, 20'000));
    const pid_t child = ::fork();
    if (child == 0) {
      const ::itimerval timer{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_usec = after}};
      ::setitimer(ITIMER_REAL, &timer, nullptr);  // The unhandled signal ends the process.
      const auto store = opened(file);
      WorkflowRun run(victim(world), {.run_id = "w", .store = store, .threads = 2});
      ::_exit(answered_to_end(run, 7) ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    killed += WIFSIGNALED(status) ? 1 : 0;
    const auto store = opened(file);
    const std::set<std::string> finished = finished_in(*store);
    WorkflowRun run(victim(world), {.run_id = "w", .store = store, .threads = 2});
    std::set<std::string> called;
    const auto result = answered_to_end(run, 7, [&] {
      const auto deliveries = run.deliveries();
      if (!deliveries) return;
      for (const DeliveryView& one : deliveries.value()) {
        if (one.how != Ran::reused) called.insert(one.executor);
      }
    });
    if (!result || result.value().value() != undisturbed) {
      found("killed after " + std::to_string(after) + " us, it ends otherwise");
    }
    for (const std::string& one : finished) {
      if (called.contains(one)) found(one + " had finished and ran again");
    }
    for (const auto& [what, times] : noted(world)) {
      if (times != 1) found(what + " happened " + std::to_string(times) + " times");
    }
    if (noted(world).size() != 8) found("an effect is missing");
  }
  std::printf("%ld runs, %ld of them killed: the same end, each effect once\n", counts.kills,
              killed);
}

// Two processes continue one run: the handler is called once.
void races(const Counts& counts) {
  const TempFolder folder;
  const std::string file = folder.file("w.db");
  for (long i = 0; i < counts.races; ++i) {
    const std::string world = folder.file("world" + std::to_string(i));
    const RunId id = "race" + std::to_string(i);
    const auto graph = WorkflowBuilder("race")
                           .port<int>("n")
                           .executor("ask", stateless([&](const int& n, Context& context) {
                                       const int answer = context.request<int>("n", n);
                                       note(world, "call");
                                       return answer;
                                     }))
                           .start("ask")
                           .build()
                           .value();
    {
      WorkflowRun run(graph, {.run_id = id, .store = opened(file)});
      if (run.run(1)) found("the run did not ask");
      if (!run.answer("ask/1/n/1", 5)) found("the answer was not taken");
    }
    int gate[2];
    if (::pipe(gate) != 0) found("no pipe");
    std::vector<pid_t> children;
    for (int one = 0; one < 2; ++one) {
      const pid_t child = ::fork();
      if (child == 0) {
        ::close(gate[1]);
        const auto store = opened(file);
        char byte = 0;
        static_cast<void>(::read(gate[0], &byte, 1));
        const auto done = WorkflowRun(graph, {.run_id = id, .store = store}).resume();
        if (done) ::_exit(done.value().value() == 5 ? 0 : 9);
        ::_exit(done.error().code == Errc::busy ? 1 : 8);
      }
      children.push_back(child);
    }
    ::close(gate[0]);
    ::close(gate[1]);  // Releases both.
    int proceeded = 0;
    for (const pid_t child : children) {
      int status = 0;
      ::waitpid(child, &status, 0);
      if (!WIFEXITED(status) || WEXITSTATUS(status) > 1) found("a racer failed");
      proceeded += WEXITSTATUS(status) == 0 ? 1 : 0;
    }
    // A second process that arrives after the first has finished gets the recorded result.
    if (proceeded == 0 || noted(world)["call"] != 1) {
      found("race " + std::to_string(i) + ": the handler was called " +
            std::to_string(noted(world)["call"]) + " times");
    }
  }
  std::printf("%ld times two processes went on with one run: one did\n", counts.races);
}

// Two answers to one request: one wins, and the run gets that one.
void answers(const Counts& counts) {
  const auto graph =
      WorkflowBuilder("answers")
          .port<int>("n")
          .executor("ask",
                    [](const int& n, Context& context) { return context.request<int>("n", n); })
          .start("ask")
          .build()
          .value();
  for (long i = 0; i < counts.answers; ++i) {
    const auto store = MemoryStore::create();
    WorkflowRun run(graph, {.run_id = "w", .store = store});
    if (run.run(1)) found("the run did not ask");
    std::atomic<int> won{0};
    std::atomic<int> which{-1};
    {
      std::vector<std::jthread> people;
      for (int person = 0; person < 2; ++person) {
        people.emplace_back([&, person] {
          WorkflowRun own(graph, {.run_id = "w", .store = store});
          if (!own.answer("ask/1/n/1", person)) return;
          ++won;
          which = person;
        });
      }
    }
    const auto done = run.resume();
    if (won != 1 || !done || done.value().value() != which.load()) {
      found("answer " + std::to_string(i) + ": " + std::to_string(won) + " won");
    }
  }
  std::printf("%ld times two answers to one request: one won\n", counts.answers);
}

// Calls `play` with a generator for each of n graphs; the sum of what it counts.
template <class Play>
std::size_t over_graphs(long n, unsigned first_seed, const std::string& what, Play play) {
  std::size_t sum = 0;
  for (long i = 0; i < n; ++i) {
    std::mt19937 rng(first_seed + static_cast<unsigned>(i));
    const auto [count, wrong] = play(rng);
    if (!wrong.empty()) {
      found(what + " " + std::to_string(i) + " from seed " + std::to_string(first_seed) + ": " +
            wrong);
    }
    sum += count;
  }
  return sum;
}

// One output of a finished run is edited: only what reads it runs again.
void edits(const Counts& counts) {
  const std::size_t rerun = over_graphs(counts.edits, counts.seed * 5'000'011, "edit", random_edit);
  std::printf("%ld graphs with an edited output: %zu tasks ran again, as an oracle says\n",
              counts.edits, rerun);
}

// Executors fail and ask, and processes die; in the end nothing of it is left.
void failures(const Counts& counts) {
  const std::size_t ends =
      over_graphs(counts.failures, counts.seed * 7'000'003, "failures", random_failures);
  std::printf("%ld graphs with failures, questions and crashes: %zu ends, all the same\n",
              counts.failures, ends);
}

int campaign(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  Counts counts;
  const std::map<std::string, long*> options{
      {"--graphs", &counts.graphs},    {"--rehydrated", &counts.rehydrated},
      {"--kills", &counts.kills},      {"--races", &counts.races},
      {"--answers", &counts.answers},  {"--edits", &counts.edits},
      {"--failures", &counts.failures}};
  for (int i = 1; i < argc; i += 2) {
    const std::string name = argv[i];
    if (i + 1 >= argc) found(name + " has no value");
    const long value = std::strtol(argv[i + 1], nullptr, 10);
    if (name == "--seed") {
      counts.seed = static_cast<unsigned>(value);
    } else if (const auto option = options.find(name); option != options.end()) {
      *option->second = value;
    } else {
      found("unknown argument " + name);
    }
  }
  // Those that fork come first, while there is only one thread.
  rehydrated(counts);
  kills(counts);
  races(counts);
  graphs(counts);
  answers(counts);
  edits(counts);
  failures(counts);
  return 0;
}

}  // namespace
}  // namespace triage::test

int main(int argc, char** argv) { return triage::test::campaign(argc, argv); }
