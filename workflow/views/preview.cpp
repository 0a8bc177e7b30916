// SPDX-License-Identifier: MIT
// What a branch would run again, according to the store alone.
#include "base/run_catching.hpp"
#include "driver/stored_run.hpp"
#include "records/branch.hpp"
#include "records/compatible.hpp"
#include "records/stored_keys.hpp"
#include "triage/detail/try.hpp"
#include "triage/workflow/inspect.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <set>
#include <stdexcept>
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

int occurrence_in(const std::string& digits) {
  int occurrence = 0;
  const auto [end, wrong] =
      std::from_chars(digits.data(), digits.data() + digits.size(), occurrence);
  if (wrong != std::errc() || end != digits.data() + digits.size()) {
    throw std::runtime_error("\"" + printable(digits) + "\" is no occurrence of an executor");
  }
  return occurrence;
}

detail::JsonPtr shared_json(Json value) { return std::make_shared<const Json>(std::move(value)); }

// A finished delivery as it is stored, and as the branch would begin with it.
struct PreviewedDelivery {
  Delivered id{};
  int step = 0;
  Json before{};
  Json after{};
  std::map<ScopeAndKey, std::string> reads{};  // Hashes of what it read.
  std::vector<Delivered> from{};
  RerunView view{};

  [[nodiscard]] bool affected() const {
    return view.how == Rerun::runs || view.how == Rerun::may_run;
  }
  [[nodiscard]] bool came_from(const PreviewedDelivery& other) const {
    return std::find(from.begin(), from.end(), other.id) != from.end();
  }
  // Earlier versions did not store "began".
  [[nodiscard]] bool has_state() const {
    return before.contains("began") || before.contains("saved") || before.contains("kept");
  }
  // An executor sees at once what it has left behind in the same superstep.
  [[nodiscard]] bool follows(const PreviewedDelivery& other) const {
    return other.step < step || (other.id.first == id.first && other.id.second < id.second);
  }
};

std::string delivery_name(const Delivered& id) {
  return "\"" + id.first + "\"" + (id.second > 1 ? " (" + std::to_string(id.second) + ")" : "");
}

void take_sources(const detail::Parts& parts, PreviewedDelivery& one) {
  for (detail::Read& read : detail::reads_from(parts, one.before.value("read", Json::object()))) {
    one.reads[{std::move(read.scope), std::move(read.key)}] = std::move(read.digest);
  }
  const Json from = one.before.value("from", Json::array());
  for (std::size_t i = 0; i + 1 < from.size(); i += 2) {
    one.from.emplace_back(from[i].get<std::string>(), from[i + 1].get<int>());
  }
}

std::map<ScopeAndKey, detail::JsonPtr> written_values(const detail::Parts& parts,
                                                      const Json& stored) {
  std::map<ScopeAndKey, detail::JsonPtr> writes;
  for (const Json& one : stored.value("wrote", Json::array())) {
    writes[{one.at(0).get<std::string>(), one.at(1).get<std::string>()}] =
        shared_json(detail::written_value(parts, one));
  }
  return writes;
}

// Whether an edit has set it, so that no reducer combines it with what others wrote.
bool is_set(const Json& stored, const ScopeAndKey& value) {
  const Json writes = stored.value("wrote", Json::array());
  return std::any_of(writes.begin(), writes.end(), [&](const Json& one) {
    return one.size() > 4 && one.at(0) == value.first && one.at(1) == value.second;
  });
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
    if (new_inputs_ != inputs_) {
      inputs_digest_ = detail::digest_of(detail::message_of_inputs(inputs_));
    }
    const Json edits = changed.value(std::string(detail::edits_key), Json::object());
    begun_with_ = edits.value("state", Json::object());
    for (const auto& [key, value] : *state.values()) {
      if (key.rfind(detail::finished_prefix, 0) != 0 || !value->is_object()) continue;
      const std::string rest = key.substr(detail::finished_prefix.size());
      const std::size_t slash = rest.rfind('/');
      PreviewedDelivery one{.id = {rest.substr(0, slash), occurrence_in(rest.substr(slash + 1))},
                            .step = value->value("step", 0),
                            .before = *value,
                            .after = changed.contains(key) ? changed.at(key) : *value};
      one.view = {.executor = one.id.first, .occurrence = one.id.second};
      if (changed.contains(key)) one.view.how = Rerun::edited;
      take_sources(parts_, one);
      all_.push_back(std::move(one));
    }
    std::sort(all_.begin(), all_.end(), [](const PreviewedDelivery& a, const PreviewedDelivery& b) {
      return std::tie(a.step, a.id) < std::tie(b.step, b.id);
    });
  }

  std::vector<RerunView> views() {
    for (std::size_t i = 0; i < all_.size(); ++i) {
      PreviewedDelivery& one = all_[i];
      // An earlier edit stands, whatever the executor would produce now.
      const bool stands = one.before.value("edited", false);
      if (one.view.how != Rerun::edited && !stands) {
        one.view.why = why_it_runs(one);
        if (!one.view.why.empty()) {
          one.view.how = Rerun::runs;
        } else {
          one.view.why = why_it_may_run(one);
          if (!one.view.why.empty()) one.view.how = Rerun::may_run;
        }
      }
      note_changes(i);
    }
    std::vector<RerunView> views;
    for (PreviewedDelivery& one : all_) views.push_back(std::move(one.view));
    return views;
  }

 private:
  [[nodiscard]] std::string why_it_runs(const PreviewedDelivery& one) const {
    if (one.before.contains("failed")) return "it failed, and is tried again";
    for (const auto& [value, digest] : one.reads) {
      const auto& [scope, key] = value;
      if (scope != detail::inputs_scope) continue;
      const bool there = new_inputs_.is_object() && new_inputs_.contains(key);
      if (detail::digest_of(there ? shared_json(new_inputs_.at(key)) : nullptr) != digest) {
        return "input \"" + key + "\" is edited";
      }
    }
    const std::string in = one.before.value("in", std::string());
    if (!inputs_digest_.empty() && in == inputs_digest_) {
      return "the inputs are edited";
    }
    for (const auto& [value, digest] : one.reads) {
      const bool begun =
          value.first == detail::shared_scope("", "") && begun_with_.contains(value.second);
      if (begun && detail::digest_of(shared_json(begun_with_.at(value.second))) != digest) {
        return "\"" + value.second + "\" is edited";
      }
    }
    for (const std::size_t index : edited_) {
      const PreviewedDelivery& other = all_[index];
      if (!one.follows(other)) continue;
      if (one.came_from(other) &&
          sent_values(parts_, other.before) != sent_values(parts_, other.after)) {
        return "it got what " + delivery_name(other.id) + " sent, which is edited";
      }
      const auto before = written_values(parts_, other.before);
      for (const auto& [value, now] : written_values(parts_, other.after)) {
        const auto read = one.reads.find(value);
        const auto then = before.find(value);
        if (read == one.reads.end() || then == before.end() || *then->second == *now) continue;
        if (read->second == detail::digest_of(then->second)) {
          return "it read \"" + value.second + "\" of " + delivery_name(other.id) +
                 ", which is edited";
        }
      }
    }
    return "";
  }

  // What has changed because of this one, for those that come after it.
  void note_changes(std::size_t index) {
    const PreviewedDelivery& one = all_[index];
    const bool edited = one.view.how == Rerun::edited;
    if (edited) edited_.push_back(index);
    if (!one.affected() && !edited) return;
    const auto before = written_values(parts_, one.before);
    for (const auto& [value, now] : written_values(parts_, one.after)) {
      const auto then = before.find(value);
      const bool same =
          edited && then != before.end() && *then->second == *now && !is_set(one.after, value);
      if (!same) writers_[value].push_back(index);
    }
    if (edited) return;
    affected_.emplace(one.id, index);
    if (one.has_state()) first_state_.emplace(one.id.first, index);
    first_affected_ = std::min(first_affected_, index);
  }

  // By the first of the changes that it may depend on.
  [[nodiscard]] std::string why_it_may_run(const PreviewedDelivery& one) const {
    std::size_t first = all_.size();
    const auto consider = [&](std::size_t index) {
      if (index < first && one.follows(all_[index])) first = index;
    };
    const auto look_up = [&](const auto& known, const auto& key) {
      if (const auto found = known.find(key); found != known.end()) consider(found->second);
    };
    for (const Delivered& sender : one.from) look_up(affected_, sender);
    for (const auto& [value, digest] : one.reads) {
      const auto found = writers_.find(value);
      if (found == writers_.end()) continue;
      const auto& writers = found->second;
      const auto writer = std::find_if(writers.begin(), writers.end(),
                                       [&](std::size_t index) { return one.follows(all_[index]); });
      if (writer != writers.end()) consider(*writer);
    }
    look_up(first_state_, one.id.first);
    const bool unknown = one.step > 1 && !one.before.contains("from");  // An older format.
    if (unknown && first_affected_ < all_.size()) consider(first_affected_);
    if (first >= all_.size()) return "";
    const PreviewedDelivery& other = all_[first];
    if (other.affected() && (one.came_from(other) || unknown)) {
      return "it got what " + delivery_name(other.id) + " sent";
    }
    if (other.affected() && other.id.first == one.id.first && other.has_state()) {
      return "its state comes from " + delivery_name(other.id);
    }
    for (const auto& [value, digest] : one.reads) {
      const auto found = writers_.find(value);
      if (found == writers_.end()) continue;
      const auto& writers = found->second;
      if (std::find(writers.begin(), writers.end(), first) == writers.end()) continue;
      return "it read \"" + value.second + "\", which " + delivery_name(other.id) + " wrote";
    }
    return "";
  }

  detail::Parts parts_{};
  Json inputs_;
  Json new_inputs_;
  Json begun_with_{};
  std::string inputs_digest_{};  // Of the message of the inputs, if they are edited.
  std::vector<PreviewedDelivery> all_{};
  // Indices of those that are edited or affected, smallest first.
  std::vector<std::size_t> edited_{};
  std::map<Delivered, std::size_t> affected_{};
  std::map<ScopeAndKey, std::vector<std::size_t>> writers_{};
  std::map<std::string, std::size_t> first_state_{};  // By executor.
  std::size_t first_affected_ = std::numeric_limits<std::size_t>::max();
};

// Those that the run knows, or has finished before it came to know others.
std::vector<std::string> executors_of(const Json& started_with, const State& state) {
  std::set<std::string> paths;
  constexpr std::string_view kind = "executor ";
  const Json parts = detail::parts_object(detail::known_parts(started_with, state));
  for (const auto& [part, mark] : parts.items()) {
    if (part.rfind(kind, 0) == 0) paths.insert(part.substr(kind.size()));
  }
  if (!state.empty()) {
    for (const auto& [key, value] : *state.values()) {
      if (key.rfind(detail::finished_prefix, 0) != 0) continue;
      const std::string rest = key.substr(detail::finished_prefix.size());
      paths.insert(rest.substr(0, rest.rfind('/')));
    }
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
  TRIAGE_TRYV(detail::check_library_keys(state));
  found.state = std::move(state);
  TRIAGE_TRY(changed,
             detail::branch_edits(executors_of(found.task.at("parts"), found.state), found.id.run,
                                  found.task.at("inputs"), found.state, edits));
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
    return detail::damaged_run(checkpoint, e.what());
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
