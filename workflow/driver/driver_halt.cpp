// SPDX-License-Identifier: MIT
// How a run ends that was paused, aborted or stopped, has spent its budget or reached its deadline.
#include "driver.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace triage::inline v0_1::workflow {
namespace {

constexpr std::array<std::string_view, 5> stop_kinds{"paused", "aborted", "cancelled",
                                                     "budget_spent", "deadline_passed"};

}  // namespace

std::string_view to_string(StopKind kind) noexcept {
  return stop_kinds[static_cast<std::size_t>(kind)];
}

namespace detail {

std::optional<Stopped> stopped_from(const Json* stored) {
  if (stored == nullptr || !stored->is_object()) return std::nullopt;
  const auto how = std::find(stop_kinds.begin(), stop_kinds.end(), stored->value("how", ""));
  if (how == stop_kinds.end()) return std::nullopt;
  return Stopped{.how = static_cast<StopKind>(how - stop_kinds.begin()),
                 .why = stored->value("why", std::string())};
}

bool Driver::halted() const noexcept {
  return stop_.stop_requested() || (options_.halt != nullptr && options_.halt->asked());
}

// What has not begun is written down, for those who look at the run.
void Driver::note_stopped(Driven& driven, Stopped how) {
  std::vector<Origin> rest = scheduler_.queued();
  for (const Delivery& one : not_begun_) rest.push_back({one.node, one.occurrence});
  std::sort(rest.begin(), rest.end());
  Json names = Json::array();
  for (const Origin& one : rest) {
    names.push_back(Json::array({plan_.nodes[one.node].path, one.occurrence}));
    driven.deliveries.push_back({.node = one.node,
                                 .occurrence = one.occurrence,
                                 .superstep = scheduler_.superstep(),
                                 .how = how.how == StopKind::paused ? Ran::pending : Ran::skipped});
  }
  if (const auto kind = event_of(how)) checkpoints_.tell({.kind = *kind, .value = names});
  Json stopped{{"how", to_string(how.how)}, {"not_begun", std::move(names)}};
  if (!how.why.empty()) stopped["why"] = how.why;
  attempt_.update_state(Json{{std::string(stopped_key), std::move(stopped)}});
  driven.stopped = std::move(how);
}

std::optional<WorkflowEventKind> event_of(const Stopped& how) {
  if (how.how == StopKind::budget_spent) return WorkflowEventKind::budget_spent;
  if (how.how == StopKind::deadline_passed) return WorkflowEventKind::deadline_passed;
  return std::nullopt;
}

Stopped Driver::how_halted() const {
  Stopped how{.how = StopKind::cancelled};
  if (options_.halt != nullptr) how = options_.halt->how().value_or(std::move(how));
  return how;
}

// Somebody wants it to end, and it is not at its end.
Error Driver::stopped(Driven& driven) {
  note_stopped(driven, how_halted());
  return {Errc::cancelled, what_stopped(*driven.stopped)};
}

std::string what_stopped(const Stopped& how) {
  switch (how.how) {
    case StopKind::paused: return "the workflow was paused";
    case StopKind::aborted:
      return "the workflow was aborted" + (how.why.empty() ? "" : ": " + how.why);
    case StopKind::cancelled: return "the workflow was stopped";
    case StopKind::budget_spent: return "the workflow's budget was spent";
    case StopKind::deadline_passed: return "the workflow's deadline passed";
  }
  return {};
}

}  // namespace detail

}  // namespace triage::inline v0_1::workflow
