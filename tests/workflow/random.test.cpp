// SPDX-License-Identifier: MIT
// Random graphs, executed: on many threads, and from every record of their journals.
#include "kit.hpp"
#include "support/crashed.hpp"

#include <atomic>
#include <random>
#include <thread>

using namespace triage;
using namespace triage::workflow;
using namespace triage::test;

namespace {

using Rng = std::mt19937;

std::size_t below(Rng& rng, std::size_t n) { return rng() % n; }

// Sends a number made of the input and the executor's name, and adds to a shared sum.
const auto work = [](const Json& got, Context& context) -> int {
  const std::size_t hash = std::hash<std::string>()(context.executor() + show(got));
  const int sent = static_cast<int>(hash % 1000);
  context.shared().set("sum", sent);
  context.state().set("last", sent);
  context.output(context.shared().value("sum", 0));
  return sent;
};

Workflow random_graph(Rng& rng, std::size_t nodes, int max_supersteps) {
  WorkflowBuilder builder("random", {.max_supersteps = max_supersteps});
  builder.reducer("sum", reduce::sum());
  const auto name = [](std::size_t i) { return "n" + std::to_string(i); };
  for (std::size_t i = 0; i < nodes; ++i) builder.executor(name(i), work);
  builder.start(name(0));
  for (std::size_t i = 1; i < nodes; ++i) {
    const std::size_t from = below(rng, i);
    const std::size_t other = below(rng, i);
    if (from != other && below(rng, 3) == 0) {
      builder.fan_in({name(from), name(other)}, name(i),
                     below(rng, 2) == 0 ? Join::all() : Join::any());
    } else {
      builder.edge(name(from), name(i));
    }
    if (below(rng, 6) == 0) {
      builder.edge(name(i), name(below(rng, i)), when<int>([](int n) { return n % 4 == 0; }),
                   {.name = "back" + name(i)});
    }
  }
  return built(builder);
}

// All results of a run, including one stopped at its limit.
std::string left_by(WorkflowRun& run, const Result<WorkflowResult>& result) {
  std::string text = result ? "" : std::string(to_string(result.error().code));
  if (result) {
    for (const Output& one : result.value().outputs) text += one.executor + show(one.value) + ";";
  }
  const auto state = run.state();
  REQUIRE_OK(state);
  return text + show(state.value());
}

}  // namespace

TEST_CASE("random graphs leave the same behind on one, two and eight threads",
          "[workflow][random]") {
  Rng rng(3);
  for (int graph = 0; graph < 200; ++graph) {
    const Workflow workflow = random_graph(rng, 2 + below(rng, 40), 12);
    std::string expected;
    for (const std::size_t threads : {1U, 2U, 8U}) {
      WorkflowRun run(workflow, {.threads = threads});
      const std::string left = left_by(run, run.run(1));
      if (expected.empty()) expected = left;
      INFO("graph " << graph << " on " << threads << " threads");
      REQUIRE(left == expected);
    }
  }
}

TEST_CASE("continued from every record, a run ends the same and calls only what had not finished",
          "[workflow][random]") {
  Rng rng(5);
  for (int graph = 0; graph < 12; ++graph) {
    const Workflow workflow = random_graph(rng, 3 + below(rng, 10), 8);
    const auto store = MemoryStore::create();
    WorkflowRun whole(workflow, {.run_id = "w", .store = store, .threads = 2});
    const std::string expected = left_by(whole, whole.run(1));
    const auto reading = store->read("w", {});
    REQUIRE_OK(reading);
    const Sequence last = reading.value().records.back().seq();
    for (Sequence at = 1; at < last; ++at) {
      const auto crashed = crashed_after(*store, "w", at);
      const auto before = crashed->latest("w");
      REQUIRE_OK(before);
      std::size_t finished = 0;
      if (before.value().state.values()) {
        for (const auto& [key, value] : *before.value().state.values()) {
          finished += key.rfind("triage/done/", 0) == 0 ? 1U : 0U;
        }
      }
      WorkflowRun rest(workflow, {.run_id = "w", .store = crashed, .threads = 2});
      INFO("graph " << graph << ", record " << at);
      REQUIRE(left_by(rest, rest.resume()) == expected);
      REQUIRE(finished + rest.handler_calls() == whole.handler_calls());
    }
  }
}

TEST_CASE("sixty-four runs of one workflow at once do not disturb each other",
          "[workflow][random]") {
  Rng rng(9);
  const Workflow workflow = random_graph(rng, 30, 10);
  const auto store = memory();
  WorkflowRun alone(workflow);
  const std::string expected = left_by(alone, alone.run(1));
  std::atomic<int> same{0};
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 8; ++thread) {
      threads.emplace_back([&] {
        for (int i = 0; i < 8; ++i) {
          WorkflowRun run(workflow, {.store = store, .threads = 2});
          const auto result = run.run(1);
          const auto state = run.state();
          std::string text = result ? "" : std::string(to_string(result.error().code));
          if (result) {
            for (const Output& one : result.value().outputs) {
              text += one.executor + show(one.value) + ";";
            }
          }
          if (state && text + show(state.value()) == expected) ++same;
        }
      });
    }
  }
  CHECK(same == 64);
}
