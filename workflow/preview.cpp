// SPDX-License-Identifier: MIT
// What a branch would run again, according to the store alone.
#include "base/run_catching.hpp"
#include "branch.hpp"
#include "compatible.hpp"
#include "stored_run.hpp"
#include "triage/detail/try.hpp"
#include "triage/workflow/inspect.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace triage::inline v0_1::workflow {

std::string_view to_string(Rerun how) noexcept {
  switch (how) {
    case Rerun::kept: return "kept";
    case Rerun::edited: return "edited";
    case Rerun::runs: return "runs";
    case Rerun::may_run: return "may_run";
  }
  return "kept";
}

namespace {

using Delivered = std::pair<std::string, int>;            // Executor and occurrence.
using ScopeAndKey = std::pair<std::string, std::string>;  // Scope and key.

detail::JsonPtr shared_json(Json value) { return std::make_shared<const Json>(std::move(value)); }

// A finished delivery as it is stored, and as the branch would begin with it.
struct PreviewedDelivery {
  Delivered id{};
  int step = 0;
  Json before{};
  Json after{};
  RerunView view{};

  [[nodiscard]] bool affected() const {
    return view.how == Rerun::runs || view.how == Rerun::may_run;
  }
  [[nodiscard]] bool came_from(const PreviewedDelivery& other) const {
    const Json from = before.value("from", Json::array());
    for (std::size_t i = 0; i + 1 < from.size(); i += 2) {
      if (from[i] == other.id.first && from[i + 1] == other.id.second) return true;
    }
    return false;
  }
};

std::string delivery_name(const Delivered& id) {
  return "\"" + id.first + "\"" + (id.second > 1 ? " (" + std::to_string(id.second) + ")" : "");
}

// Hashes of what was read, by scope and key.
std::map<ScopeAndKey, std::string> read_hashes(const PreviewedDelivery& one) {
  std::map<ScopeAndKey, std::string> reads;
  const Json stored = one.before.value("read", Json::object());
  for (const auto& [name, digest] : stored.items()) {
    if (name.rfind("i|", 0) != 0) reads[detail::split_read(name)] = digest.get<std::string>();
  }
  return reads;
}

std::map<ScopeAndKey, detail::JsonPtr> written_values(const detail::Parts& parts,
                                                      const Json& stored) {
  std::map<ScopeAndKey, detail::JsonPtr> writes;
  for (const Json& one : stored.value("wrote", Json::array())) {
    writes[{one.at(0).get<std::string>(), one.at(1).get<std::string>()}] =
        shared_json(one.size() > 3 ? parts.expand(one.at(3)) : one.at(2));
  }
  return writes;
}

std::vector<Json> sent_values(const detail::Parts& parts, const Json& stored) {
  std::vector<Json> sent;
  for (const Json& one : stored.value("sent", Json::array())) {
    sent.push_back(detail::stored_value(parts, one));
  }
  return sent;
}

class Preview {
 public:
  Preview(const State& state, const Json& changed, Json inputs, const Json& edited)
      : inputs_(std::move(inputs)), new_inputs_(detail::edited_inputs(inputs_, state)) {
    parts_.begin_with(state);
    inputs_ = new_inputs_;
    if (edited.is_object()) {
      if (!new_inputs_.is_object()) new_inputs_ = Json::object();
      new_inputs_.update(edited);
    }
    const Json edits = changed.value(std::string(detail::edits_key), Json::object());
    begun_with_ = edits.value("state", Json::object());
    for (const auto& [key, value] : *state.values()) {
      if (key.rfind(detail::finished_prefix, 0) != 0 || !value->is_object()) continue;
      const std::string rest = key.substr(detail::finished_prefix.size());
      const std::size_t slash = rest.rfind('/');
      PreviewedDelivery one{.id = {rest.substr(0, slash), std::stoi(rest.substr(slash + 1))},
                            .step = value->value("step", 0),
                            .before = *value,
                            .after = changed.contains(key) ? changed.at(key) : *value};
      one.view = {.executor = one.id.first, .occurrence = one.id.second};
      if (changed.contains(key)) one.view.how = Rerun::edited;
      all_.push_back(std::move(one));
    }
    std::sort(all_.begin(), all_.end(), [](const PreviewedDelivery& a, const PreviewedDelivery& b) {
      return std::tie(a.step, a.id) < std::tie(b.step, b.id);
    });
  }

  std::vector<RerunView> views() {
    for (std::size_t i = 0; i < all_.size(); ++i) {
      PreviewedDelivery& one = all_[i];
      if (one.view.how == Rerun::edited) continue;
      one.view.why = why_it_runs(one);
      if (!one.view.why.empty()) {
        one.view.how = Rerun::runs;
        continue;
      }
      one.view.why = why_it_may_run(one);
      if (!one.view.why.empty()) one.view.how = Rerun::may_run;
    }
    std::vector<RerunView> views;
    for (PreviewedDelivery& one : all_) views.push_back(std::move(one.view));
    return views;
  }

 private:
  [[nodiscard]] std::string why_it_runs(const PreviewedDelivery& one) const {
    const Json stored = one.before.value("read", Json::object());
    for (const auto& [name, digest] : stored.items()) {
      if (name.rfind("i|", 0) != 0) continue;
      const std::string key = name.substr(2);
      const bool there = new_inputs_.is_object() && new_inputs_.contains(key);
      const Json now = detail::digest_of(there ? shared_json(new_inputs_.at(key)) : nullptr);
      if (now != digest) {
        return "input \"" + key + "\" is edited";
      }
    }
    const std::string in = one.before.value("in", std::string());
    if (new_inputs_ != inputs_ && in == detail::digest_of(detail::message_of_inputs(inputs_))) {
      return "the inputs are edited";
    }
    for (const auto& [value, digest] : read_hashes(one)) {
      const bool begun =
          value.first == detail::shared_scope("", "") && begun_with_.contains(value.second);
      if (begun && detail::digest_of(shared_json(begun_with_.at(value.second))) != digest) {
        return "\"" + value.second + "\" is edited";
      }
    }
    for (const PreviewedDelivery& other : all_) {
      if (other.view.how != Rerun::edited || other.step >= one.step) continue;
      if (one.came_from(other) &&
          sent_values(parts_, other.before) != sent_values(parts_, other.after)) {
        return "it got what " + delivery_name(other.id) + " sent, which is edited";
      }
      const auto before = written_values(parts_, other.before);
      for (const auto& [value, now] : written_values(parts_, other.after)) {
        const auto reads = read_hashes(one);
        const auto read = reads.find(value);
        const auto then = before.find(value);
        if (read == reads.end() || then == before.end() || *then->second == *now) continue;
        if (read->second == detail::digest_of(then->second)) {
          return "it read \"" + value.second + "\" of " + delivery_name(other.id) +
                 ", which is edited";
        }
      }
    }
    return "";
  }

  [[nodiscard]] std::string why_it_may_run(const PreviewedDelivery& one) const {
    const auto reads = read_hashes(one);
    const bool unknown = one.step > 1 && !one.before.contains("from");  // An older format.
    for (const PreviewedDelivery& other : all_) {
      if (other.step >= one.step) break;
      const bool edited = other.view.how == Rerun::edited;
      if (!other.affected() && !edited) continue;
      if (other.affected() && (one.came_from(other) || unknown)) {
        return "it got what " + delivery_name(other.id) + " sent";
      }
      if (other.affected() && other.id.first == one.id.first &&
          (other.before.contains("saved") || other.before.contains("kept"))) {
        return "its state comes from " + delivery_name(other.id);
      }
      const auto before = written_values(parts_, other.before);
      const auto after = written_values(parts_, other.after);
      for (const auto& [value, now] : after) {
        const auto then = before.find(value);
        const bool same = edited && then != before.end() && *then->second == *now;
        if (same || !reads.contains(value)) continue;
        return "it read \"" + value.second + "\", which " + delivery_name(other.id) + " wrote";
      }
    }
    return "";
  }

  detail::Parts parts_{};
  Json inputs_;
  Json new_inputs_;
  Json begun_with_{};
  std::vector<PreviewedDelivery> all_{};
};

std::vector<std::string> finished_paths(const State& state) {
  std::set<std::string> paths;
  if (state.empty()) return {};
  for (const auto& [key, value] : *state.values()) {
    if (key.rfind(detail::finished_prefix, 0) != 0) continue;
    const std::string rest = key.substr(detail::finished_prefix.size());
    paths.insert(rest.substr(0, rest.rfind('/')));
  }
  return {paths.begin(), paths.end()};
}

struct Beginning {
  CheckpointId id{};
  Json task{};
  State state{};
  Json changed{};
};

Result<Beginning> branch_beginning(CheckpointStore& store, std::string_view checkpoint,
                                   const Fork& edits) {
  using triage::detail::run_catching;
  Beginning found;
  TRIAGE_TRY(id, parse_checkpoint_id(checkpoint));
  found.id = std::move(id);
  TRIAGE_TRY(task, detail::stored_task(store, found.id.run));
  found.task = std::move(task);
  TRIAGE_TRY(state, run_catching([&] { return store.load_state(found.id); }));
  found.state = std::move(state);
  TRIAGE_TRY(changed,
             detail::branch_edits(finished_paths(found.state), found.id.run, found.state, edits));
  found.changed = std::move(changed);
  return outcome::success(std::move(found));
}

}  // namespace

Result<std::vector<RerunView>> preview_fork(CheckpointStore& store, std::string_view checkpoint,
                                            const Fork& edits) {
  TRIAGE_TRY(from, branch_beginning(store, checkpoint, edits));
  if (from.state.empty()) return outcome::success(std::vector<RerunView>());
  try {
    return Preview(from.state, from.changed, from.task.at("inputs"), edits.inputs).views();
  } catch (const std::exception& e) {
    return Error{Errc::corrupt,
                 "checkpoint \"" + printable(checkpoint) + "\" is damaged: " + e.what()};
  }
}

Result<void> branch_off(std::shared_ptr<CheckpointStore> store, std::string_view checkpoint,
                        const RunId& branch, const Fork& edits) {
  TRIAGE_TRY(from, branch_beginning(*store, checkpoint, edits));
  TRIAGE_TRY(info, triage::detail::run_catching([&] { return store->run(from.id.run); }));
  return detail::make_branch(std::move(store), info.agent, checkpoint, branch,
                             std::move(from.changed), edits);
}

}  // namespace triage::inline v0_1::workflow
