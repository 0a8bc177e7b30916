// SPDX-License-Identifier: MIT
#include "stored_deliveries.hpp"
#include "base/run_catching.hpp"
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
      const std::string key = finished_key(plan.nodes[node].path, occurrence);
      const Json* stored = state.find(key);
      if (stored == nullptr || stored->is_null()) break;
      TRIAGE_TRY(finished, from_stored(plan, parts, key, *stored));
      all.push_back({node, occurrence, std::move(finished)});
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

Result<Json> folded_state(const Workflow& workflow, const State& state,
                          const std::vector<StoredFinished>& stored) {
  Values values(workflow.body()->plan(), Schedule::supersteps);
  begin_with_edits(values, state);
  int superstep = 0;
  for (const StoredFinished& one : stored) {
    if (std::exchange(superstep, one.finished.superstep) != one.finished.superstep) {
      TRIAGE_TRYV(values.commit());
    }
    TRIAGE_TRYV(values.add(
        {.node = one.node, .occurrence = one.occurrence, .superstep = one.finished.superstep},
        one.finished.writes));
  }
  TRIAGE_TRYV(values.commit());
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
