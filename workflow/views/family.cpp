// SPDX-License-Identifier: MIT
// A run and its branches, with the status of each executor in them.
#include "base/run_catching.hpp"
#include "driver/stored_run.hpp"
#include "records/finished.hpp"
#include "triage/detail/try.hpp"
#include "triage/workflow/inspect.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <utility>

namespace triage::inline v0_1::workflow {

std::string_view to_string(NodeStatus status) noexcept {
  constexpr std::array<std::string_view, 5> names{"done", "skipped", "edited", "invalidated",
                                                  "failed"};
  return names[static_cast<std::size_t>(status)];
}

namespace {

using triage::detail::run_catching;

// The `forked` record of a branch; null for other runs.
Result<Json> forked_in(CheckpointStore& store, const RunId& run) {
  TRIAGE_TRY(reading, run_catching([&] { return store.read(run, {1, 2}); }));
  for (const Record& record : reading.records) {
    if (record.kind() == RecordKind::forked) return record.body();
  }
  return outcome::success(Json());
}

RunId run_of(const std::string& checkpoint) { return checkpoint.substr(0, checkpoint.rfind('@')); }

bool is_delivery(const std::string& key) { return key.rfind(detail::finished_prefix, 0) == 0; }

std::string executor_of(const std::string& key) {
  const std::string rest = key.substr(detail::finished_prefix.size());
  return rest.substr(0, rest.rfind('/'));
}

// One pass over the journal: what it began with, and what finished or failed since. What its newest
// state does not have was abandoned. Throws std::exception if something in it is damaged.
Result<std::map<std::string, NodeStatus>> nodes_in(const JournalReading& reading,
                                                   const State& newest) {
  std::map<std::string, NodeStatus> of_key;
  std::map<std::string, NodeStatus> failed;
  bool begun = false;
  const auto take = [&](const std::string& key, const Json& value) {
    if (!is_delivery(key) || !value.is_object()) return;
    if (!begun) {
      of_key[key] = value.value("edited", false) ? NodeStatus::edited : NodeStatus::skipped;
      return;
    }
    const auto before = of_key.find(key);
    const bool again = before != of_key.end() && before->second != NodeStatus::done;
    of_key[key] = value.contains("failed") ? NodeStatus::failed
                  : again                  ? NodeStatus::invalidated
                                           : NodeStatus::done;
    failed.erase(executor_of(key));
  };
  for (const Record& record : reading.records) {
    const RecordKind kind = record.kind();
    if (kind == RecordKind::attempt_started) begun = true;
    if (kind == RecordKind::step) {
      TRIAGE_TRY(step, record.step());
      if (step.action == "fail" && step.agent_id) failed[*step.agent_id] = NodeStatus::failed;
    } else if (kind == RecordKind::state_changed) {
      TRIAGE_TRY(body, record.body());
      for (const auto& [key, value] : body.items()) take(key, value);
    } else if (kind == RecordKind::state_snapshot && !begun) {
      TRIAGE_TRY(body, record.body());
      for (const auto& [key, value] : body.at("state").items()) take(key, value);
    }
  }
  std::map<std::string, NodeStatus> nodes = failed;
  for (const auto& [key, status] : of_key) {
    const Json* stored = newest.find(key);
    if (stored == nullptr || stored->is_null()) continue;
    auto [node, first] = nodes.emplace(executor_of(key), status);
    node->second = std::max(node->second, status);
  }
  return outcome::success(std::move(nodes));
}

}  // namespace

Result<std::vector<BranchView>> branches(CheckpointStore& store, const RunId& run) {
  TRIAGE_TRYV(detail::stored_task(store, run));
  TRIAGE_TRY(info, run_catching([&] { return store.run(run); }));
  TRIAGE_TRY(all, run_catching([&] { return store.runs({.agent = info.agent, .limit = 0}); }));
  std::map<RunId, BranchView> known;
  for (RunInfo& one : all) {
    auto forked = forked_in(store, one.id);
    if (!forked) continue;  // Damaged or erased meanwhile.
    BranchView view{.run = one};
    const auto text = [&](const char* key) {
      const Json& body = forked.value();
      const bool there = body.is_object() && body.contains(key) && body[key].is_string();
      return there ? body[key].get<std::string>() : std::string();
    };
    view.parent = text("parent");
    view.author = text("who");
    known.emplace(one.id, std::move(view));
  }
  RunId root = run;
  for (std::set<RunId> seen{root};;) {
    const RunId above = run_of(known[root].parent);
    if (!known.contains(above) || !seen.insert(above).second) break;
    root = above;
  }
  std::vector<BranchView> found;
  const std::function<Result<void>(const RunId&)> add = [&](const RunId& id) -> Result<void> {
    BranchView view = std::move(known.at(id));
    known.erase(id);
    TRIAGE_TRY(reading, run_catching([&] { return store.read(id, {}); }));
    TRIAGE_TRY(latest, run_catching([&] { return store.latest(id); }));
    TRIAGE_TRY(checkpoints, detail::stored_checkpoints(store, id, 0));
    try {
      TRIAGE_TRY(nodes, nodes_in(reading, latest.state));
      view.nodes = std::move(nodes);
    } catch (const std::exception& e) {
      return detail::damaged_run(id, e.what());
    }
    view.checkpoints = std::move(checkpoints);
    found.push_back(std::move(view));
    std::vector<std::pair<WallTime, RunId>> children;
    for (const auto& [child, one] : known) {
      if (run_of(one.parent) == id) children.emplace_back(one.run.started, child);
    }
    std::sort(children.begin(), children.end());
    for (const auto& [time, child] : children) {
      TRIAGE_TRYV(add(child));
    }
    return outcome::success();
  };
  TRIAGE_TRYV(add(root));
  return outcome::success(std::move(found));
}

}  // namespace triage::inline v0_1::workflow
