// SPDX-License-Identifier: MIT
#include "stored_deliveries.hpp"
#include "base/run_catching.hpp"
#include "compatible.hpp"
#include "stored_keys.hpp"
#include "triage/detail/try.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace triage::inline v0_1::workflow::detail {

namespace {

Result<State> newest_state(CheckpointStore& store, const RunId& run) {
  TRIAGE_TRY(latest, triage::detail::run_catching([&] { return store.latest(run); }));
  TRIAGE_TRYV(check_library_keys(latest.state));
  return outcome::success(std::move(latest.state));
}

Result<std::vector<StoredFinished>> deliveries_in(const State& state, const Workflow& workflow) {
  const Plan& plan = workflow.body()->plan();
  Parts parts;
  parts.begin_with(state);
  std::vector<StoredFinished> all;
  for (std::size_t node = 0; node < plan.nodes.size(); ++node) {
    for (int occurrence = 1;; ++occurrence) {
      const std::string& path = plan.nodes[node].path;
      const std::string key = finished_key(path, occurrence);
      const Json* stored = state.find(key);
      if (stored == nullptr || stored->is_null()) break;
      auto finished = from_stored(plan, parts, key, *stored);
      if (finished) {
        all.push_back({node, occurrence, std::move(finished).value()});
      } else if (finished.error().code != Errc::conflict || counts_as_done(path, *stored)) {
        return std::move(finished).error();
      }
    }
  }
  std::sort(all.begin(), all.end(), [](const StoredFinished& a, const StoredFinished& b) {
    return std::tie(a.finished.superstep, a.node, a.occurrence) <
           std::tie(b.finished.superstep, b.node, b.occurrence);
  });
  return outcome::success(std::move(all));
}

}  // namespace

Result<std::vector<StoredFinished>> stored_deliveries(CheckpointStore& store, const RunId& run,
                                                      const Workflow& workflow) {
  TRIAGE_TRY(state, newest_state(store, run));
  return deliveries_in(state, workflow);
}

DeliveryView view_of(const Workflow& workflow, const StoredFinished& stored) {
  DeliveryView view{.executor = workflow.body()->plan().nodes[stored.node].path,
                    .occurrence = stored.occurrence,
                    .superstep = stored.finished.superstep,
                    .how = Ran::reused};
  for (const Sent& sent : stored.finished.sent) view.sent.push_back(sent.message.json());
  for (const Message& output : stored.finished.outputs) view.sent.push_back(output.json());
  return view;
}

namespace {

// With what a migration has left behind after it.
Result<void> add_stored(Values& values, const Plan& plan, const State& state,
                        const StoredFinished& stored) {
  const Delivery delivery{
      .node = stored.node, .occurrence = stored.occurrence, .superstep = stored.finished.superstep};
  TRIAGE_TRYV(values.add(delivery, stored.finished.writes));
  const std::string& path = plan.nodes[stored.node].path;
  const Json* migrated = state.find(std::string(migrated_prefix) + path);
  if (migrated == nullptr || migrated->at("after") != stored.occurrence) return outcome::success();
  return values.add(delivery,
                    migrated_writes(values, delivery, private_scope(path), migrated->at("state")));
}

// A superstep that ended in a conflict was the run's last one, and does not count.
Result<Json> folded_state(const Workflow& workflow, const State& state,
                          const std::vector<StoredFinished>& stored) {
  const Plan& plan = workflow.body()->plan();
  Values values(plan, Schedule::supersteps);
  begin_with_edits(values, state);
  int superstep = 0;
  for (const StoredFinished& one : stored) {
    if (std::exchange(superstep, one.finished.superstep) != one.finished.superstep) {
      TRIAGE_TRYV(values.commit());
    }
    Result<void> added = add_stored(values, plan, state, one);
    if (!added && added.error().code == Errc::conflict) break;
    if (!added) return std::move(added).error();
  }
  return outcome::success(values.json());
}

}  // namespace

Result<Json> stored_state(CheckpointStore& store, const RunId& run, const Workflow& workflow) {
  TRIAGE_TRY(state, newest_state(store, run));
  TRIAGE_TRY(stored, deliveries_in(state, workflow));
  try {
    return folded_state(workflow, state, stored);
  } catch (const std::exception& e) {  // Of a reducer.
    return Error{Errc::invalid_argument, e.what()};
  }
}

}  // namespace triage::inline v0_1::workflow::detail
