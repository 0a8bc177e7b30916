// SPDX-License-Identifier: MIT
// Validates a workflow before anything runs.
#include "plan.hpp"
#include "triage/detail/nearest.hpp"
#include "triage/detail/reserved.hpp"
#include "triage/detail/try.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace triage::inline v0_1::workflow::detail {
namespace {

constexpr std::size_t longest_id = 128;
constexpr int most_supersteps = 1'000'000;
constexpr int most_rollbacks = 1'000;

Error wrong(std::string text) { return {Errc::invalid_argument, std::move(text)}; }

std::string in_quotes(std::string_view text) { return "\"" + printable(text) + "\""; }

}  // namespace

Result<void> check_id(const std::string& id, const std::string& what) {
  constexpr const char* rule =
      "an id has 1 to 128 of A-Z a-z 0-9 . _ : - and does not begin with a dot";
  const auto may_have = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == ':' || c == '-';
  };
  if (id == "triage" || triage::detail::is_reserved(id)) {
    return wrong(what + " " + in_quotes(id) + " is reserved for the library; " + rule);
  }
  if (id.empty() || id.size() > longest_id || id.front() == '.' ||
      !std::all_of(id.begin(), id.end(), may_have)) {
    return wrong(what + " " + in_quotes(id) + " is not allowed; " + rule);
  }
  return outcome::success();
}

namespace {

using Ids = std::set<std::string, std::less<>>;

std::string allowed_ids(const std::string& wrong_id, const Ids& ids) {
  return triage::detail::allowed_names(wrong_id, {ids.begin(), ids.end()});
}

Result<void> check_end(const Ids& ids, const std::string& edge, const std::string& end) {
  if (ids.contains(end)) return outcome::success();
  return wrong("edge " + in_quotes(edge) + " names executor " + in_quotes(end) +
               ", which does not exist" + allowed_ids(end, ids));
}

Result<void> check_fan_in(const EdgeSpec& edge) {
  const std::string name = "fan-in " + in_quotes(edge.options.name);
  const Ids sources(edge.sources.begin(), edge.sources.end());
  if (sources.size() != edge.sources.size()) return wrong(name + " names one source twice");
  if (sources.size() < 2) {
    return wrong(name + " has " + std::to_string(sources.size()) +
                 " source; it needs 2 or more: use an edge");
  }
  if (edge.join.kind == Join::Kind::count &&
      (edge.join.count < 1 || edge.join.count > sources.size())) {
    return wrong(name + " waits for " + std::to_string(edge.join.count) +
                 " sources; allowed are 1 to " + std::to_string(sources.size()));
  }
  return outcome::success();
}

Result<void> check_edge(const Ids& ids, const EdgeSpec& edge) {
  const std::string& name = edge.options.name;
  if (edge.kind == EdgeSpec::Kind::choice) {
    if (edge.conditions.empty()) return wrong("choice " + in_quotes(name) + " has no cases");
    if (edge.targets.back().empty()) return wrong("choice " + in_quotes(name) + " has no default");
    for (const Condition& condition : edge.conditions) {
      if (!condition) return wrong("choice " + in_quotes(name) + " has a case without a condition");
    }
  }
  for (const auto* ends : {&edge.sources, &edge.targets}) {
    for (const std::string& end : *ends) {
      TRIAGE_TRYV(check_end(ids, name, end));
    }
  }
  if (edge.kind == EdgeSpec::Kind::fan_in) return check_fan_in(edge);
  if (edge.kind == EdgeSpec::Kind::direct && edge.sources == edge.targets &&
      edge.conditions.empty()) {
    return wrong("edge " + in_quotes(name) +
                 " leads from an executor to itself and has no condition "
                 "that ends the loop");
  }
  if (edge.kind == EdgeSpec::Kind::fan_out) {
    const Ids targets(edge.targets.begin(), edge.targets.end());
    if (targets.size() != edge.targets.size()) {
      return wrong("fan-out " + in_quotes(name) + " names one target twice");
    }
    if (targets.empty()) return wrong("fan-out " + in_quotes(name) + " has no targets");
  }
  return outcome::success();
}

Result<void> check_reached(const WorkflowSpec& spec) {
  std::map<std::string, std::vector<const EdgeSpec*>, std::less<>> leaving;
  for (const EdgeSpec& edge : spec.edges) {
    for (const std::string& source : edge.sources) leaving[source].push_back(&edge);
  }
  Ids reached(spec.starts.begin(), spec.starts.end());
  std::vector<std::string> next = spec.starts;
  while (!next.empty()) {
    const std::string from = std::move(next.back());
    next.pop_back();
    for (const EdgeSpec* edge : leaving[from]) {
      for (const std::string& target : edge->targets) {
        if (reached.insert(target).second) next.push_back(target);
      }
    }
  }
  for (const NodeSpec& node : spec.nodes) {
    if (!reached.contains(node.id)) {
      return wrong("executor " + in_quotes(node.id) + " cannot be reached from a start");
    }
  }
  return outcome::success();
}

Result<void> check_defaults(const std::string& whose, const ExecutorDefaults& own) {
  for (const auto& [name, value] : {std::pair<const char*, Duration>{"timeout", own.timeout},
                                    {"idle timeout", own.idle_timeout}}) {
    if (value >= Duration::zero()) continue;
    return wrong(whose + ": the " + name + " is " + std::to_string(value.count()) +
                 " ns; allowed is 0 or more");
  }
  if (own.policy) {
    if (auto checked = check_policy(*own.policy); !checked) {
      return wrong(whose + ": " + checked.error().detail);
    }
  }
  if (own.limits) {
    if (auto checked = check_limits(*own.limits); !checked) {
      return wrong(whose + ": " + checked.error().detail);
    }
  }
  return outcome::success();
}

// A workflow as an executor has only what its place in the graph needs.
Result<void> check_nested(const NodeSpec& node) {
  const ExecutorOptions& own = node.options;
  const ExecutorOptions usual;
  for (const auto& [name, differs] : {
           std::pair<const char*, bool>{"version", own.version != usual.version},
           {"policy", own.policy.has_value()},
           {"timeout", own.timeout != usual.timeout},
           {"idle_timeout", own.idle_timeout != usual.idle_timeout},
           {"limits", own.limits.has_value()},
           {"instead", static_cast<bool>(own.instead)},
           {"instead_is_failure", own.instead_is_failure != usual.instead_is_failure},
           {"fallback", own.fallback != nullptr},
           {"patches_plan", own.patches_plan != usual.patches_plan},
           {"rollback", own.rollback != usual.rollback},
       }) {
    if (!differs) continue;
    return wrong("executor " + in_quotes(node.id) +
                 " is a workflow, which cannot have the option " + in_quotes(name) +
                 "; allowed are \"checkpoints\" and \"shares\": give the others " +
                 "to the nested workflow's own executors, or to its WorkflowOptions");
  }
  return outcome::success();
}

// Otherwise the order of deliveries would depend on timing.
Result<void> check_ways_in(const WorkflowSpec& spec) {
  Ids entered(spec.starts.begin(), spec.starts.end());
  for (const EdgeSpec& edge : spec.edges) {
    for (const std::string& target : Ids(edge.targets.begin(), edge.targets.end())) {
      if (entered.insert(target).second) continue;
      return wrong("executor " + in_quotes(target) +
                   " has two ways in, which in an eager workflow would come in any order; join "
                   "them by a fan-in, or use Schedule::supersteps");
    }
  }
  for (const NodeSpec& node : spec.nodes) {
    if (node.nested && node.nested->spec().options.schedule != Schedule::eager) {
      return wrong("executor " + in_quotes(node.id) +
                   " is a workflow of supersteps, which an eager one cannot contain");
    }
  }
  return outcome::success();
}

Result<void> check_capacities(const WorkflowSpec& spec) {
  Ids names;
  for (const auto& [name, capacity] : spec.options.capacities) {
    if (name.empty()) return wrong("a capacity has no name; allowed is any other text");
    if (capacity == 0) return wrong("capacity " + in_quotes(name) + " is 0; allowed is 1 or more");
    names.insert(name);
  }
  for (const NodeSpec& node : spec.nodes) {
    const std::string& shares = node.options.shares;
    if (shares.empty() || names.contains(shares)) continue;
    return wrong("executor " + in_quotes(node.id) + " shares capacity " + in_quotes(shares) +
                 ", which WorkflowOptions::capacities does not have" + allowed_ids(shares, names));
  }
  return outcome::success();
}

}  // namespace

Result<void> check_max_supersteps(int most) {
  if (most >= 1 && most <= most_supersteps) return outcome::success();
  return wrong("max_supersteps is " + std::to_string(most) + "; allowed are 1 to 1000000");
}

Result<void> check_workflow(const WorkflowSpec& spec) {
  TRIAGE_TRYV(check_id(spec.id, "workflow id"));
  TRIAGE_TRYV(check_max_supersteps(spec.options.max_supersteps));
  if (spec.options.max_rollbacks < 0 || spec.options.max_rollbacks > most_rollbacks) {
    return wrong("max_rollbacks is " + std::to_string(spec.options.max_rollbacks) +
                 "; allowed are 0 to 1000");
  }
  TRIAGE_TRYV(check_capacities(spec));
  Ids ids;
  for (const NodeSpec& node : spec.nodes) {
    TRIAGE_TRYV(check_id(node.id, "executor id"));
    if (!ids.insert(node.id).second)
      return wrong("executor " + in_quotes(node.id) + " is twice there");
    const ExecutorOptions& own = node.options;
    TRIAGE_TRYV(check_defaults("executor " + in_quotes(node.id),
                               {own.policy, own.timeout, own.idle_timeout, own.limits}));
    if (node.nested) {
      TRIAGE_TRYV(check_nested(node));
    }
  }
  TRIAGE_TRYV(check_defaults("WorkflowOptions::defaults", spec.options.defaults));
  if (spec.starts.empty()) return wrong("workflow " + in_quotes(spec.id) + " has nothing to start");
  for (const std::string& start : spec.starts) {
    if (!ids.contains(start)) {
      return wrong("start names executor " + in_quotes(start) + ", which does not exist" +
                   allowed_ids(start, ids));
    }
  }
  Ids names;
  for (const EdgeSpec& edge : spec.edges) {
    // Else it could be that of a nested workflow's edge.
    if (edge.options.name.find('/') != std::string::npos) {
      return wrong("edge name " + in_quotes(edge.options.name) +
                   " is not allowed; allowed is any text without \"/\"");
    }
    if (!names.insert(edge.options.name).second) {
      return wrong("edge " + in_quotes(edge.options.name) + " is twice there; give one a name");
    }
    TRIAGE_TRYV(check_edge(ids, edge));
  }
  for (const auto& [name, port] : spec.ports) {
    TRIAGE_TRYV(check_id(name, "port"));
    if (name == decision_port) {
      return wrong("port " + in_quotes(name) + " is the library's own; allowed is any other id");
    }
  }
  for (const auto& [key, reduce] : spec.reducers) {
    if (!reduce) return wrong("the reducer of state key " + in_quotes(key) + " is a null function");
  }
  TRIAGE_TRYV(check_reached(spec));
  if (spec.options.schedule == Schedule::eager) {
    TRIAGE_TRYV(check_ways_in(spec));
  }
  return outcome::success();
}

Result<void> attach_migrations(WorkflowSpec& spec) {
  for (auto& [executor, found] : spec.migrations) {
    const std::string& id = executor;  // Lambdas cannot capture structured bindings (clang 14).
    MigrationSpec& migration = found;
    const auto node = std::find_if(spec.nodes.begin(), spec.nodes.end(),
                                   [&](const NodeSpec& one) { return one.id == id; });
    if (node == spec.nodes.end() || node->nested) {
      return wrong("a migration names executor " + in_quotes(executor) +
                   (node == spec.nodes.end() ? ", which does not exist"
                                             : ", a workflow; it belongs to that one's builder"));
    }
    const auto same = [&](const MigrationSpec& one) { return one.from == migration.from; };
    if (migration.from == migration.to || !migration.change ||
        std::any_of(node->migrations.begin(), node->migrations.end(), same)) {
      return wrong("executor " + in_quotes(executor) + " has two migrations from version " +
                   in_quotes(migration.from) + ", or one that leads nowhere");
    }
    node->migrations.push_back(std::move(migration));
  }
  spec.migrations.clear();
  return outcome::success();
}

}  // namespace triage::inline v0_1::workflow::detail
