// SPDX-License-Identifier: MIT
#include "random_failures.hpp"

#include "campaign_graphs.hpp"
#include "support/crashed.hpp"
#include "triage/workflow/run.hpp"

#include <functional>
#include <memory>
#include <set>
#include <utility>
#include <vector>

namespace triage::test {
namespace {

using namespace workflow;

using Names = std::set<std::string>;

bool once_in(Rng& rng, std::size_t n) { return below(rng, n) == 0; }

std::size_t digest(const std::string& text) { return std::hash<std::string>()(text) % 97; }

// What an executor gives depends on its message, on the shared state that it reads and on what it
// remembers.
struct Node {
  std::string id{};
  std::vector<std::string> reads{};  // Keys of the shared state, which have their writer's name.
  std::size_t values = 1;            // It gives one of so many.
  bool own_run = false;
  bool private_state = false;
  bool members = false;
};

struct Edge {
  enum class Kind { direct, any, all };
  Kind kind = Kind::direct;
  std::vector<std::string> sources{};
  std::string target{};
  bool only_even = false;
};

struct Program {
  bool eager = false;
  std::vector<Node> nodes{};
  std::vector<Edge> edges{};
  Names fails{};
  Names asks{};

  // The result refers to this program.
  [[nodiscard]] Result<Workflow> workflow() const;
  [[nodiscard]] Result<Json> call(const Node& node, const Json& message, Context& context,
                                  std::size_t remembered) const;
};

Result<Json> Program::call(const Node& node, const Json& message, Context& context,
                           std::size_t remembered) const {
  if (fails.contains(node.id)) return Error{Errc::io, "down"};
  std::string seen = node.id + message.dump() + std::to_string(remembered);
  for (const std::string& key : node.reads) {
    const auto value = context.shared().find(key);
    seen += key + (value ? value->dump() : "-");
  }
  if (asks.contains(node.id)) static_cast<void>(context.request<int>("n", 1));
  if (node.private_state) {
    const int calls = context.state().value("calls", 0) + 1;
    context.state().set("calls", calls);
    seen += "#" + std::to_string(calls);
  }
  context.shared().set(node.id, digest(seen));
  return Json(digest(seen) % node.values);
}

struct Remembering {
  const Program* program;
  const Node* node;
  std::size_t remembered = 0;

  Result<Json> operator()(const Json& message, Context& context) {
    auto given = program->call(*node, message, context, remembered);
    remembered += 1 + digest(message.dump()) % 5;
    return given;
  }
  [[nodiscard]] Json save() const { return remembered; }
  [[nodiscard]] Result<void> restore(const Json& saved) {
    remembered = saved.get<std::size_t>();
    return outcome::success();
  }
};

bool is_even(const Message& message) {
  return !message.json().is_number() || message.json().get<int>() % 2 == 0;
}

Result<Workflow> Program::workflow() const {
  WorkflowBuilder builder(
      "w", {.schedule = eager ? Schedule::eager : Schedule::supersteps, .max_supersteps = 40});
  builder.port<int>("n");
  for (const Node& node : nodes) {
    ExecutorOptions options;
    options.instead = [](const Error&) { return make_message(Json(-1)); };
    if (node.own_run) options.limits = Limits{};
    if (node.members) {
      builder.executor(node.id, Remembering{this, &node}, options);
    } else {
      builder.executor(node.id, stateless([this, &node](const Json& message, Context& context) {
                         return call(node, message, context, 0);
                       }),
                       options);
    }
  }
  builder.start(nodes.front().id);
  for (const Edge& edge : edges) {
    if (edge.kind != Edge::Kind::direct) {
      builder.fan_in(edge.sources, edge.target,
                     edge.kind == Edge::Kind::any ? Join::any() : Join::all());
    } else if (edge.only_even) {
      builder.edge(edge.sources.front(), edge.target, is_even, EdgeOptions{});
    } else {
      builder.edge(edge.sources.front(), edge.target);
    }
  }
  return builder.build();
}

Node random_node(Rng& rng, const std::vector<Node>& before) {
  Node node{.id = std::string(1, static_cast<char>('a' + before.size()))};
  for (const Node& one : before) {
    if (once_in(rng, 3)) node.reads.push_back(one.id);
  }
  const std::size_t values[] = {1, 2, 97};
  node.values = values[below(rng, 3)];
  node.own_run = once_in(rng, 2);
  node.private_state = once_in(rng, 4);
  node.members = once_in(rng, 5);
  return node;
}

Program random_program(Rng& rng) {
  Program program{.eager = once_in(rng, 2)};
  const std::size_t count = 4 + below(rng, 5);
  while (program.nodes.size() < count) {
    program.nodes.push_back(random_node(rng, program.nodes));
  }
  for (std::size_t i = 1; i < count; ++i) {
    const std::string& target = program.nodes[i].id;
    std::vector<std::string> sources;
    for (std::size_t before = 0; before < i; ++before) {
      if (once_in(rng, 2)) sources.push_back(program.nodes[before].id);
    }
    if (sources.size() > 1 && once_in(rng, 2)) {
      const Edge::Kind kind = once_in(rng, 2) ? Edge::Kind::any : Edge::Kind::all;
      program.edges.push_back({.kind = kind, .sources = std::move(sources), .target = target});
      if (program.eager || once_in(rng, 2)) continue;  // Eager ones take no other edges beside it.
    }
    program.edges.push_back({.sources = {program.nodes[below(rng, i)].id},
                             .target = target,
                             .only_even = once_in(rng, 3)});
  }
  return program;
}

Names some_of(const Program& program, Rng& rng) {
  Names some;
  for (const Node& node : program.nodes) {
    if (once_in(rng, 4)) some.insert(node.id);
  }
  return some;
}

Program disturbed(Program program, Rng& rng) {
  program.fails = some_of(program, rng);
  program.asks = some_of(program, rng);
  return program;
}

// What the run leaves behind, if it ends; else its error.
std::string left_by(WorkflowRun& run, const Result<WorkflowResult>& done) {
  if (!done) return std::string(to_string(done.error().code)) + " " + done.error().detail;
  std::string left;
  for (const Output& one : done.value().outputs) left += one.executor + "=" + show(one.value) + " ";
  const auto state = run.state();
  return left + (state ? show(state.value()) : state.error().detail);
}

std::string goes_on(const Program& program, const std::shared_ptr<CheckpointStore>& store) {
  WorkflowRun run(program.workflow().value(), {.run_id = "w", .store = store, .threads = 1});
  return left_by(run, run.start_or_resume(1));
}

Sequence records_of(CheckpointStore& store) { return store.read("w", {}).value().records.size(); }

// From one of its checkpoints: on its own, or in a branch.
std::string from_checkpoint(const Program& program, const std::shared_ptr<CheckpointStore>& store,
                            Rng& rng) {
  const Program at_first = once_in(rng, 2) ? disturbed(program, rng) : program;
  const Workflow first = at_first.workflow().value();
  WorkflowRun run(first, {.run_id = "w", .store = store, .threads = 1});
  const auto checkpoints = run.checkpoints();
  if (!checkpoints) return checkpoints.error().detail;
  if (checkpoints.value().empty()) return goes_on(program, store);
  const std::string from =
      to_string(checkpoints.value()[below(rng, checkpoints.value().size())].id);
  if (once_in(rng, 2)) {
    static_cast<void>(run.restore(from));
    return goes_on(program, store);
  }
  WorkflowRun branch(first, {.run_id = "branch", .store = store, .threads = 1});
  static_cast<void>(branch.fork(from, {}));
  WorkflowRun mended(program.workflow().value(),
                     {.run_id = "branch", .store = store, .threads = 1});
  return left_by(mended, mended.resume());
}

}  // namespace

MendedRun random_failures(std::mt19937& rng) {
  const Program program = random_program(rng);
  if (!program.workflow()) return {};
  const std::string expected = goes_on(program, MemoryStore::create());
  const auto store = MemoryStore::create();
  for (int go = 0; go < 3; ++go) goes_on(disturbed(program, rng), store);
  MendedRun mended;
  const auto judge = [&](const std::string& left, const std::string& where) {
    ++mended.ends;
    if (left != expected) mended.wrong = where + ": " + left + " instead of " + expected;
    return left == expected;
  };
  if (!judge(goes_on(program, store), "mended")) return mended;
  const Sequence last = records_of(*store);
  for (Sequence at = 2; at < last; ++at) {
    const auto crashed = crashed_among_others(*store, "w", at);
    if (once_in(rng, 2)) goes_on(disturbed(program, rng), crashed);
    if (!judge(goes_on(program, crashed), "after record " + std::to_string(at))) return mended;
  }
  for (int i = 0; i < 6; ++i) {
    const Sequence at = 2 + below(rng, last - 1);
    const auto left = from_checkpoint(program, crashed_among_others(*store, "w", at), rng);
    if (!judge(left, "from a checkpoint, after record " + std::to_string(at))) return mended;
  }
  return mended;
}

}  // namespace triage::test
