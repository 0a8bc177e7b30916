// SPDX-License-Identifier: MIT
#include "plan.hpp"
#include "base/digest.hpp"
#include "triage/detail/joined.hpp"

#include <algorithm>
#include <utility>

namespace triage::inline v0_1::workflow::detail {
namespace {

std::string within(const std::string& path, const std::string& id) {
  return path.empty() ? id : path + "/" + id;
}

std::string joined(const std::vector<std::string>& parts) {
  std::string all;
  for (const std::string& part : parts) all += part + "\n";
  return all;
}

std::string short_digest(const std::string& text) {
  return triage::detail::digest(text).substr(0, 16);
}

// Appends a JSON string.
void add_quoted(const std::string& text, std::string& out) {
  const bool plain = std::all_of(text.begin(), text.end(), [](char letter) {
    return letter >= ' ' && letter <= '~' && letter != '"' && letter != '\\';
  });
  if (!plain) {
    out += show(Json(text));
    return;
  }
  out += '"';
  out += text;
  out += '"';
}

}  // namespace

std::string version_mark(const std::string& version) {
  return version.size() > 64 ? short_digest(version) : version;
}

std::string workflow_mark(const WorkflowSpec& spec, const std::vector<std::string>& starts) {
  return short_digest(spec.id + "\n" + spec.options.version + "\n" +
                      std::to_string(static_cast<int>(spec.options.schedule)) + "\n" +
                      joined(starts));
}

WorkflowBody::WorkflowBody(WorkflowSpec checked) : spec_(std::move(checked)) {
  plan_.scopes.push_back({.spec = &spec_});
  lay_out(spec_, 0);
  for (std::size_t scope = 0; scope < plan_.scopes.size(); ++scope) {
    connect(*plan_.scopes[scope].spec, scope);
  }
  share_capacities();
  print(spec_, "");
  fingerprint_text_ = "{";
  for (const auto& [part, mark] : fingerprint_) {
    if (fingerprint_text_.size() > 1) fingerprint_text_ += ',';
    add_quoted(part, fingerprint_text_);
    fingerprint_text_ += ':';
    add_quoted(mark, fingerprint_text_);
  }
  fingerprint_text_ += '}';
}

// Nodes first: edges may lead to workflows laid out later.
void WorkflowBody::lay_out(const WorkflowSpec& spec, std::size_t scope) {
  const std::string path = plan_.scopes[scope].path;
  for (const NodeSpec& node : spec.nodes) {
    const std::string inner = within(path, node.id);
    if (!node.nested) {
      plan_.node_of.emplace(inner, plan_.nodes.size());
      plan_.nodes.push_back({.path = inner, .scope = scope, .spec = &node, .edges = {}});
      continue;
    }
    const WorkflowSpec& below = node.nested->spec();
    plan_.scope_of.emplace(inner, plan_.scopes.size());
    plan_.scopes.push_back({.path = inner,
                            .parent = static_cast<std::ptrdiff_t>(scope),
                            .starts = {},
                            .edges = {},
                            .spec = &below,
                            .node = &node});
    lay_out(below, plan_.scopes.size() - 1);
  }
}

void WorkflowBody::connect(const WorkflowSpec& spec, std::size_t scope) {
  const std::string path = plan_.scopes[scope].path;
  // The nodes reached by a message to `id`.
  const auto entries = [&](const std::string& id) {
    std::vector<std::size_t> nodes;
    const auto enter = [&](const auto& self, const std::string& inner) -> void {
      if (const auto node = plan_.node_of.find(inner); node != plan_.node_of.end()) {
        nodes.push_back(node->second);
        return;
      }
      for (const std::string& start : plan_.scopes[plan_.scope_of.at(inner)].spec->starts) {
        self(self, within(inner, start));
      }
    };
    enter(enter, within(path, id));
    return nodes;
  };
  for (const std::string& start : spec.starts) {
    for (const std::size_t node : entries(start)) plan_.scopes[scope].starts.push_back(node);
  }
  for (const EdgeSpec& edge : spec.edges) {
    PlanEdge planned{.name = within(path, edge.options.name), .spec = &edge, .targets = {}};
    for (const std::string& target : edge.targets) planned.targets.push_back(entries(target));
    const std::size_t index = plan_.edges.size();
    for (std::size_t source = 0; source < edge.sources.size(); ++source) {
      const std::string inner = within(path, edge.sources[source]);
      const auto node = plan_.node_of.find(inner);
      auto& leaving = node != plan_.node_of.end() ? plan_.nodes[node->second].edges
                                                  : plan_.scopes[plan_.scope_of.at(inner)].edges;
      leaving.push_back({index, source});
    }
    plan_.edge_of.emplace(planned.name, index);
    plan_.edges.push_back(std::move(planned));
  }
}

// A nested workflow is an executor of its parent, so its deliveries count there too.
void WorkflowBody::share_capacities() {
  std::map<std::pair<std::size_t, std::string>, std::size_t> pools;
  const auto pool_of = [&](std::size_t scope, const std::string& name, std::size_t capacity) {
    const auto [one, fresh] = pools.try_emplace({scope, name}, plan_.pools.size());
    if (fresh) plan_.pools.push_back(capacity);
    return one->second;
  };
  for (PlanNode& node : plan_.nodes) {
    std::size_t scope = node.scope;
    for (const NodeSpec* spec = node.spec;;) {
      const WorkflowOptions& options = plan_.scopes[scope].spec->options;
      if (!spec->options.shares.empty()) {
        node.pools.push_back(pool_of(scope, "/" + spec->options.shares,
                                     options.capacities.at(spec->options.shares)));
      }
      if (options.capacity > 0) node.pools.push_back(pool_of(scope, "", options.capacity));
      if (plan_.scopes[scope].parent < 0) break;
      spec = plan_.scopes[scope].node;
      scope = static_cast<std::size_t>(plan_.scopes[scope].parent);
    }
  }
}

void WorkflowBody::print(const WorkflowSpec& spec, const std::string& prefix) {
  fingerprint_["workflow" + (prefix.empty() ? "" : " " + prefix)] =
      workflow_mark(spec, spec.starts);
  if (prefix.empty() && spec.options.schedule == Schedule::eager) {
    fingerprint_[starts_part] = triage::detail::joined(spec.starts, {}, ",");
  }
  for (const NodeSpec& node : spec.nodes) {
    const std::string path = within(prefix, node.id);
    if (node.nested) {
      print(node.nested->spec(), path);
    } else {
      fingerprint_["executor " + path] =
          version_mark(node.options.version) + "@" + short_digest(joined(node.type.handles));
    }
  }
  for (const auto& [name, port] : spec.ports) {
    fingerprint_["port " + within(prefix, name)] = short_digest(port.type);
  }
  for (const EdgeSpec& edge : spec.edges) {
    fingerprint_["edge " + within(prefix, edge.options.name)] = short_digest(
        std::to_string(static_cast<int>(edge.kind)) + "\n" + edge.options.version + "\n" +
        joined(edge.sources) + "\n" + joined(edge.targets) + "\n" +
        std::to_string(static_cast<int>(edge.join.kind)) + " " + std::to_string(edge.join.count));
  }
}

}  // namespace triage::inline v0_1::workflow::detail
