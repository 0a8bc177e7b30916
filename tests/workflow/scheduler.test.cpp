// SPDX-License-Identifier: MIT
// The scheduler alone: random graphs, settled in random orders, compared with a plain model.
#include "schedule/scheduler.hpp"
#include "schedule/router.hpp"
#include "support/catch.hpp"
#include "support/result.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

using namespace triage;
using namespace triage::workflow;
using namespace triage::workflow::detail;

namespace {

using Rng = std::mt19937;

std::size_t below_in(Rng& rng, std::size_t n) { return rng() % n; }

// What a test executor sends: a number made of its input and name.
int sent_by(const std::string& path, const Json& got) {
  std::size_t sum = std::hash<std::string>()(path + show(got));
  return static_cast<int>(sum % 1000);
}

// Node i reaches later ones, and sometimes an earlier one while the number is small.
Workflow graph_to_schedule(Rng& rng, std::size_t nodes, bool cycles,
                           Schedule schedule = Schedule::supersteps) {
  WorkflowBuilder builder("random", {.schedule = schedule, .max_supersteps = 30});
  const auto name = [](std::size_t i) { return "n" + std::to_string(i); };
  for (std::size_t i = 0; i < nodes; ++i) {
    builder.executor(name(i), [](const Json& json) { return json; });
  }
  builder.start(name(0));
  for (std::size_t i = 1; i < nodes; ++i) {
    const std::size_t from = below_in(rng, i);
    const std::size_t other = below_in(rng, i);
    if (i >= 2 && from != other && below_in(rng, 3) == 0) {
      const Join join = below_in(rng, 2) == 0 ? Join::all() : Join::of(1 + below_in(rng, 2));
      builder.fan_in({name(from), name(other)}, name(i), join);
    } else {
      builder.edge(name(from), name(i));
    }
    if (cycles && below_in(rng, 5) == 0) {
      builder.edge(name(i), name(below_in(rng, i)), when<int>([](int n) { return n % 4 == 0; }),
                   {.name = "back" + name(i)});
    }
  }
  return builder.build().value();
}

using Trace = std::vector<std::tuple<std::string, int, int, std::string>>;

// Runs the machine; pending calls are settled in an order chosen by `rng`.
Trace run_machine(const Workflow& graph, Rng* rng, std::optional<int> most = {}) {
  const Plan& plan = graph.body()->plan();
  const WorkflowOptions& options = graph.body()->spec().options;
  Scheduler scheduler(plan, options.schedule, most.value_or(options.max_supersteps));
  scheduler.start(make_message(1));
  Trace trace;
  std::vector<Delivery> running;
  for (;;) {
    while (auto delivery = scheduler.next()) running.push_back(*std::move(delivery));
    if (running.empty()) {
      if (!scheduler.advance()) break;
      continue;
    }
    const std::size_t chosen = rng != nullptr ? below_in(*rng, running.size()) : 0;
    const Delivery delivery = running[chosen];
    running.erase(running.begin() + static_cast<std::ptrdiff_t>(chosen));
    const std::string& path = plan.nodes[delivery.node].path;
    trace.emplace_back(path, delivery.occurrence, delivery.superstep,
                       show(delivery.message.json()));
    const Message message = make_message(sent_by(path, delivery.message.json()));
    const auto& edges = plan.nodes[delivery.node].edges;
    const auto* exits = edges.empty() ? exits_of_output(plan, delivery.node) : &edges;
    std::vector<Sent> sent;
    if (exits != nullptr) sent.push_back({message, routes_of(plan, *exits, message).value()});
    scheduler.settle(delivery, std::move(sent));
  }
  std::sort(trace.begin(), trace.end());
  return trace;
}

// The same by definition: in each superstep all messages are delivered, sender by sender.
Trace run_model(const Workflow& graph) {
  const auto& spec = graph.body()->spec();
  Trace trace;
  std::map<std::string, int> occurrences;
  std::map<std::string, std::map<std::string, std::vector<Json>>> buffers;
  std::vector<std::pair<std::string, Json>> now{{"n0", 1}};
  for (int step = 1; step <= spec.options.max_supersteps && !now.empty(); ++step) {
    std::vector<std::tuple<std::size_t, int, Json>> sent;  // Node, occurrence, message.
    for (const auto& [node, message] : now) {
      const int occurrence = ++occurrences[node];
      trace.emplace_back(node, occurrence, step, show(message));
      sent.emplace_back(std::stoul(node.substr(1)), occurrence, sent_by(node, message));
    }
    std::sort(sent.begin(), sent.end(), [](const auto& a, const auto& b) {
      return std::pair(std::get<0>(a), std::get<1>(a)) < std::pair(std::get<0>(b), std::get<1>(b));
    });
    now.clear();
    for (const auto& [index, occurrence, message] : sent) {
      const std::string from = "n" + std::to_string(index);
      for (const EdgeSpec& edge : spec.edges) {
        if (std::find(edge.sources.begin(), edge.sources.end(), from) == edge.sources.end()) {
          continue;
        }
        if (edge.kind == EdgeSpec::Kind::direct) {
          if (edge.conditions.empty() || message.get<int>() % 4 == 0) {
            now.emplace_back(edge.targets[0], message);
          }
          continue;
        }
        auto& buffer = buffers[edge.options.name];
        buffer[from].push_back(message);
        std::vector<std::string> filled;
        for (const std::string& source : edge.sources) {
          if (!buffer[source].empty()) filled.push_back(source);
        }
        const std::size_t wanted =
            edge.join.kind == Join::Kind::all ? edge.sources.size() : edge.join.count;
        if (filled.size() < wanted) continue;
        Json list = Json::array();
        for (std::size_t i = 0; i < wanted; ++i) {
          list.push_back(buffer[filled[i]].front());
          buffer[filled[i]].erase(buffer[filled[i]].begin());
        }
        now.emplace_back(edge.targets[0], list);
      }
    }
  }
  std::sort(trace.begin(), trace.end());
  return trace;
}

}  // namespace

TEST_CASE("a place that the next in line can no longer use goes to the one behind it",
          "[workflow][scheduler]") {
  const auto pass = [](const Json& json) { return json; };
  const Workflow graph = WorkflowBuilder("w", {.capacity = 2, .capacities = {{"gpu", 1}}})
                             .executor("a", pass)
                             .executor("b", pass)
                             .executor("holder", pass, {.shares = "gpu"})
                             .executor("next", pass, {.shares = "gpu"})
                             .executor("other", pass)
                             .start("a")
                             .start("b")
                             .start("holder")
                             .start("next")
                             .start("other")
                             .build()
                             .value();
  const Plan& plan = graph.body()->plan();
  Scheduler scheduler(plan, Schedule::supersteps, 1);
  scheduler.start(make_message(1));
  const auto next = [&] {
    auto delivery = scheduler.next();
    REQUIRE(delivery);
    return *std::move(delivery);
  };
  const Delivery a = next();
  const Delivery b = next();
  REQUIRE_FALSE(scheduler.next());  // Three wait for a place; the gpu is free.
  scheduler.settle(a, {});
  CHECK(plan.nodes[next().node].path == "holder");
  scheduler.settle(b, {});
  CHECK(plan.nodes[next().node].path == "other");
}

TEST_CASE("random graphs deliver what a plain model says, in whatever order work is settled",
          "[workflow][scheduler]") {
  Rng rng(20261122);
  std::size_t deliveries = 0;
  for (int graph = 0; graph < 1000; ++graph) {
    const Workflow workflow = graph_to_schedule(rng, 2 + below_in(rng, 30), true);
    const Trace expected = run_model(workflow);
    INFO("graph " << graph);
    REQUIRE(run_machine(workflow, nullptr) == expected);
    for (int order = 0; order < 3; ++order) REQUIRE(run_machine(workflow, &rng) == expected);
    deliveries += expected.size();
  }
  CHECK(deliveries > 20'000);
}

TEST_CASE("an eager graph at its limit has run all within it, in whatever order work is settled",
          "[workflow][scheduler]") {
  Rng rng(20261128);
  for (int graph = 0; graph < 300; ++graph) {
    const Workflow workflow = graph_to_schedule(rng, 2 + below_in(rng, 29), false, Schedule::eager);
    const int most = 1 + static_cast<int>(below_in(rng, 5));
    Trace expected = run_model(workflow);
    std::erase_if(expected, [&](const auto& one) { return std::get<2>(one) > most; });
    INFO("graph " << graph);
    for (int order = 0; order < 4; ++order) REQUIRE(run_machine(workflow, &rng, most) == expected);
  }
}

TEST_CASE("an eager graph delivers what one of supersteps does, in whatever order work is settled",
          "[workflow][scheduler]") {
  Rng rng(20261123);
  for (int graph = 0; graph < 1000; ++graph) {
    const Workflow workflow = graph_to_schedule(rng, 2 + below_in(rng, 29), false, Schedule::eager);
    const Trace expected = run_model(workflow);
    INFO("graph " << graph);
    for (int order = 0; order < 4; ++order) REQUIRE(run_machine(workflow, &rng) == expected);
  }
}

TEST_CASE("an eager graph delivers the same in whatever order work is settled",
          "[workflow][scheduler]") {
  Rng rng(7);
  for (int graph = 0; graph < 300; ++graph) {
    WorkflowBuilder builder("eager", {.schedule = Schedule::eager});
    const std::size_t nodes = 2 + below_in(rng, 60);
    const auto name = [](std::size_t i) { return "n" + std::to_string(i); };
    for (std::size_t i = 0; i < nodes; ++i) {
      builder.executor(name(i), [](const Json& json) { return json; });
      if (i == 0) continue;
      std::set<std::string> from;
      for (std::size_t k = 0; k < 1 + below_in(rng, 4); ++k) from.insert(name(below_in(rng, i)));
      if (from.size() == 1) {
        builder.edge(*from.begin(), name(i));
      } else {
        builder.fan_in({from.begin(), from.end()}, name(i));
      }
    }
    const Workflow workflow = builder.start("n0").build().value();
    const Trace expected = run_machine(workflow, nullptr);
    REQUIRE(expected.size() == nodes);
    for (int order = 0; order < 3; ++order) REQUIRE(run_machine(workflow, &rng) == expected);
  }
}

namespace {

// A tree of executors and of workflows like it; its leaves send what leaves it.
Workflow tree_to_schedule(Rng& rng, int depth, Schedule schedule) {
  WorkflowBuilder builder("tree", {.schedule = schedule, .max_supersteps = 60});
  const auto name = [](std::size_t i) { return "n" + std::to_string(i); };
  const std::size_t nodes = 2 + below_in(rng, 5);
  for (std::size_t i = 0; i < nodes; ++i) {
    if (depth > 0 && below_in(rng, 2) == 0) {
      builder.executor(name(i), tree_to_schedule(rng, depth - 1, schedule));
    } else {
      builder.executor(name(i), [](const Json& json) { return json; });
    }
    if (i == 0) continue;
    const std::size_t from = below_in(rng, i);
    const std::size_t other = below_in(rng, i);
    const Condition odd = [](const Message& message) { return message.json().get<int>() % 2 == 1; };
    if (from != other && below_in(rng, 2) == 0) {
      const Join join = below_in(rng, 2) == 0 ? Join::all() : Join::of(1 + below_in(rng, 2));
      builder.fan_in({name(from), name(other)}, name(i), join);
    } else {
      builder.edge(name(from), name(i), below_in(rng, 2) == 0 ? odd : Condition());
    }
  }
  return builder.start("n0").build().value();
}

}  // namespace

TEST_CASE("an eager graph with graphs inside delivers what one of supersteps does",
          "[workflow][scheduler]") {
  std::size_t several = 0;
  for (std::uint32_t graph = 0; graph < 1000; ++graph) {
    Rng one(graph);
    Rng same(graph);
    const Workflow steps = tree_to_schedule(one, 2, Schedule::supersteps);
    const Workflow eager = tree_to_schedule(same, 2, Schedule::eager);
    const Trace expected = run_machine(steps, nullptr);
    INFO("graph " << graph);
    Rng order(graph);
    for (int round = 0; round < 4; ++round) REQUIRE(run_machine(eager, &order) == expected);
    several += static_cast<std::size_t>(std::count_if(
        expected.begin(), expected.end(), [](const auto& call) { return std::get<1>(call) > 1; }));
  }
  CHECK(several > 1'000);
}
