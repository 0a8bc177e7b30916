// SPDX-License-Identifier: MIT
// Private state left behind by an earlier version of an executor.
#include "base/json_words.hpp"
#include "driver.hpp"
#include "records/compatible.hpp"
#include "triage/detail/try.hpp"

#include <utility>

namespace triage::inline v0_1::workflow::detail {

namespace {

Json as_json(const std::map<std::string, JsonPtr>& values) {
  Json all = Json::object();
  for (const auto& [key, value] : values) all[key] = *value;
  return all;
}

Result<ExecutorState> changed_by(const MigrationSpec& step, ExecutorState state) {
  try {
    return step.change(std::move(state));
  } catch (const std::exception& e) {
    return Error{Errc::conflict, triage::detail::json_words(e.what())};
  } catch (...) {
    return Error{Errc::conflict, "an exception that is not a std::exception"};
  }
}

}  // namespace

// The migrated values replace the executor's own.
Result<void> Driver::take_migrated(const Delivery& after, const Json& migrated) {
  const std::string scope = private_scope(plan_.nodes[after.node].path);
  kept_[after.node].saved = migrated.at("saved");
  return values_.add(after, migrated_writes(values_, after, scope, migrated.at("state")));
}

// From now on the run has this workflow's parts, except for executors that are still to be
// migrated.
void Driver::note_parts() {
  Json parts = body_.fingerprint();
  for (const PlanNode& node : plan_.nodes) {
    const bool finished = before_.contains(finished_key(node.path, 1));
    if (!finished || migrations(node, version_in(options_.known_parts, node.path)).empty())
      continue;
    const std::string part = "executor " + node.path;
    parts[part] = options_.known_parts.at(part);
  }
  options_.known_parts = std::move(parts);
  attempt_.update_state(Json{{std::string(parts_key), options_.known_parts}});
}

// Before the first call of a new version. The result is stored, so that it happens once.
Result<void> Driver::migrate(const Delivery& next) {
  const PlanNode& node = plan_.nodes[next.node];
  if (options_.known_parts.is_null() || next.occurrence == 1) return outcome::success();
  const std::string from = version_in(options_.known_parts, node.path);
  const auto way = migrations(node, from);
  if (way.empty()) return outcome::success();
  ExecutorState state{kept_[next.node].saved, as_json(values_.all(next, private_scope(node.path)))};
  for (const MigrationSpec* step : way) {
    Result<ExecutorState> changed = changed_by(*step, std::move(state));
    if (!changed || !changed.value().state.is_object()) {
      const std::string why = changed ? "state is not an object" : changed.error().detail;
      return Error{Errc::conflict,
                   "executor \"" + node.path + "\" could not be migrated from version " +
                       printable(step->from) + " to " + printable(step->to) + ": " + why};
    }
    state = std::move(changed).value();
  }
  TRIAGE_TRYV(check_json(state.saved, "a migrated state"));
  TRIAGE_TRYV(check_json(state.state, "a migrated state"));
  Delivery after = next;
  --after.occurrence;
  const Json migrated{{"after", after.occurrence}, {"saved", state.saved}, {"state", state.state}};
  const std::string part = "executor " + node.path;
  options_.known_parts[part] = body_.fingerprint().at(part);
  attempt_.update_state(Json{{std::string(migrated_prefix) + node.path, migrated},
                             {std::string(parts_key), options_.known_parts}});
  TRIAGE_TRYV(store());
  migrated_.insert_or_assign(next.node, migrated);
  return take_migrated(after, migrated);
}

}  // namespace triage::inline v0_1::workflow::detail
