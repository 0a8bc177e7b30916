// SPDX-License-Identifier: MIT
#include "reference_runs.hpp"

#include "base/digest.hpp"
#include "reference_steps.hpp"
#include "triage/detail/try.hpp"
#include "triage/journal.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

namespace triage::inline v0_1::detail {
namespace {

constexpr const char* label_prefix = "triage-agent/";
constexpr const char* made_prefix = "triage-agent-";

WallTime to_time(double seconds) {
  constexpr double year_9999 = 253'402'300'799.0;
  const double within = std::clamp(seconds, 0.0, year_9999);
  return WallTime(std::chrono::milliseconds(static_cast<std::int64_t>(within * 1'000)));
}

bool begins_with(const Json& steps, const Json& beginning) {
  return steps.size() >= beginning.size() &&
         std::equal(beginning.begin(), beginning.end(), steps.begin());
}

// Positions of a journal in the order in which triage-agent shall find them.
std::vector<Checkpoint> in_order(const Journal& journal, std::size_t newest) {
  std::vector<Checkpoint> all;
  const Checkpoint latest = journal.latest();
  for (std::size_t i = 0; i < journal.positions().size(); ++i) {
    const bool is_latest = journal.positions()[i].seq == latest.info.id.sequence;
    if (!is_latest && journal.knows_state(i)) all.push_back(journal.restore(i));
  }
  if (latest.info.id.sequence != 0) all.push_back(latest);
  if (newest != 0 && all.size() > newest) {
    all.erase(all.begin(), all.end() - static_cast<std::ptrdiff_t>(newest));
  }
  return all;
}

// The steps of one checkpoint after the other, of which most are the same.
class ReferenceSteps {
 public:
  Json of(const Trajectory& trajectory, double timestamp) {
    std::size_t same = 0;
    for (const Step& step : trajectory) {
      if (same == before_.size() || before_[same] != step) break;
      ++same;
    }
    before_.resize(same);
    made_.erase(made_.begin() + static_cast<std::ptrdiff_t>(same), made_.end());
    for (std::size_t i = same; i < trajectory.size(); ++i) {
      before_.push_back(trajectory[i]);
      made_.push_back(reference_of_step(before_.back(), i, timestamp));
    }
    return Json(made_);
  }

 private:
  std::vector<Step> before_{};
  std::vector<Json> made_{};
};

}  // namespace

RunId run_of_reference(const ReferenceCheckpoint& checkpoint) {
  if (!checkpoint.run.empty()) {
    return check_run_id(checkpoint.run) ? checkpoint.run
                                        : made_prefix + short_digest(checkpoint.run);
  }
  RunId alone = made_prefix + checkpoint.id;
  return check_run_id(alone) ? alone : made_prefix + short_digest("checkpoint " + checkpoint.id);
}

ReferenceRun::ReferenceRun(RunId id, const std::string& reference_run, const std::string& agent,
                           const std::optional<Json>& task)
    : info_{.id = std::move(id), .agent = agent, .status = RunStatus::cancelled},
      reference_run_(reference_run),
      task_(task) {}

void ReferenceRun::record(RecordKind kind, Json body) {
  records_.emplace_back(++info_.last, kind, time_, std::make_shared<const Json>(std::move(body)));
}

void ReferenceRun::record_step(const Json& step, std::size_t index) {
  std::string encoded;
  encode_step(step_of_reference(step, index), encoded);
  records_.emplace_back(++info_.last, RecordKind::step, time_,
                        std::make_shared<const std::string>(std::move(encoded)));
}

void ReferenceRun::begin_attempt() {
  if (++attempts_ == 1) {
    info_.started = time_;
    Json start{
        {"agent", info_.agent}, {"version", ""}, {"fingerprint", ""}, {"auto_checkpoint", true}};
    if (task_) start["task"] = *task_;
    if (reference_run_ != info_.id) start["reference_run"] = reference_run_;
    record(RecordKind::run_started, std::move(start));
  }
  record(RecordKind::attempt_started, {{"number", attempts_}});
}

// Written as one record, so that no intermediate position has an unknown state.
void ReferenceRun::replace_all(const ReferenceCheckpoint& checkpoint) {
  Json steps = Json::array();
  std::string encoded;
  for (std::size_t i = 0; i < checkpoint.trajectory.size(); ++i) {
    encoded.clear();
    encode_step(step_of_reference(checkpoint.trajectory[i], i), encoded);
    steps.push_back(decode_cbor(encoded).value());
  }
  record(RecordKind::state_snapshot,
         {{"state", checkpoint.state}, {"replaced", true}, {"steps", std::move(steps)}});
}

void ReferenceRun::change_state(const Json& state) {
  Json changed = Json::object();
  Json removed = Json::array();
  for (const auto& [key, value] : state.items()) {
    const auto found = state_.find(key);
    if (found == state_.end() || *found != value) changed[key] = value;
  }
  for (const auto& [key, value] : state_.items()) {
    if (!state.contains(key)) removed.push_back(key);
  }
  if (!removed.empty()) record(RecordKind::state_removed, {{"keys", std::move(removed)}});
  if (!changed.empty()) record(RecordKind::state_changed, std::move(changed));
}

void ReferenceRun::add(ReferenceCheckpoint checkpoint) {
  time_ = to_time(checkpoint.timestamp);
  const Json& steps = checkpoint.trajectory;
  const bool goes_on = attempts_ > 0 && begins_with(steps, steps_);
  if (!goes_on) begin_attempt();
  const bool first = attempts_ == 1 && records_.size() == 2;
  if (steps.size() <= steps_.size() + 1 && (goes_on || first)) {
    if (steps.size() > steps_.size()) record_step(steps.back(), steps_.size());
    change_state(checkpoint.state);
  } else {
    replace_all(checkpoint);
  }
  record(RecordKind::checkpoint_labelled,
         {{"label", label_prefix + checkpoint.id}, {"timestamp", checkpoint.timestamp}});
  state_ = std::move(checkpoint.state);
  steps_ = std::move(checkpoint.trajectory);
}

void ReferenceRun::end() {
  info_.updated = time_;
  record(RecordKind::stopped,
         {{"status", to_string(info_.status)},
          {"type", "unknown"},
          {"detail", "imported from triage-agent, which does not keep how a run ended"}});
}

Result<std::size_t> reference_of_run(
    const JournalReading& reading, std::size_t newest,
    const std::function<Result<void>(const ReferenceCheckpoint&)>& take) {
  TRIAGE_TRY(journal, Journal::fold(reading));
  std::map<Sequence, double> imported;  // When triage-agent made it.
  for (const Record& record : reading.records) {
    if (record.kind() != RecordKind::checkpoint_labelled) continue;
    TRIAGE_TRY(body, record.body());
    const auto found = body.find("timestamp");
    if (found != body.end() && found->is_number()) imported[record.seq()] = found->get<double>();
  }
  const Json& start = journal.start();
  const auto run = start.find("reference_run");
  const std::string name =
      run != start.end() && run->is_string() ? run->get<std::string>() : journal.run();
  ReferenceSteps steps;
  double before = 0;
  const std::vector<Checkpoint> all = in_order(journal, newest);
  for (const Checkpoint& checkpoint : all) {
    const CheckpointId& id = checkpoint.info.id;
    const std::string& label = checkpoint.info.label;
    const auto known = imported.find(id.sequence);
    double timestamp =
        known != imported.end()
            ? known->second
            : static_cast<double>(checkpoint.info.time.time_since_epoch().count()) / 1'000;
    // Of two at one time nobody would know the newer one.
    if (timestamp <= before) {
      timestamp = std::nextafter(before, std::numeric_limits<double>::infinity());
    }
    before = timestamp;
    TRIAGE_TRYV(take({.id = label.starts_with(label_prefix)
                                ? label.substr(std::string_view(label_prefix).size())
                                : to_string(id),
                      .timestamp = timestamp,
                      .run = name,
                      .state = checkpoint.state.json(),
                      .trajectory = steps.of(checkpoint.trajectory, timestamp)}));
  }
  return outcome::success(all.size());
}

}  // namespace triage::inline v0_1::detail
