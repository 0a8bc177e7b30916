// SPDX-License-Identifier: MIT
// The operators' actions, and the store's contents afterwards.
#include "play.hpp"

#include <algorithm>
#include <string_view>

namespace triage::campaign {
namespace {

RecoveryAction action_of(int choice) {
  switch (choice) {
    case 0: return RecoveryAction::retry("approved");
    case 1: return RecoveryAction::resume();
    case 2: return RecoveryAction::rollback({.or_start = true});
    case 3: return RecoveryAction::abort("enough");
    default: return RecoveryAction::fallback(fallback_value);
  }
}

}  // namespace

std::string Play::run() {
  for (const Action& action : program_.actions) {
    operate(action);
    if (findings_.undecided) return {};
    if (is_over()) return findings_.text + "\n  (during " + to_text(action) + ")";
  }
  return findings_.text;
}

void Play::operate(const Action& action) {
  using Kind = Action::Kind;
  Process& process = processes_[static_cast<std::size_t>(action.process)];
  if (action.run >= static_cast<int>(runs_.size()) || process.zombie) return;
  const RunId id = runs_[static_cast<std::size_t>(action.run)].name();
  switch (action.kind) {
    case Kind::run:
    case Kind::run_or_resume: {
      begin_call(process, action.run);
      RunModel& known = model(process, action.run);
      RunOptions options = run_options(process);
      options.run_id = id;
      if (action.kind == Kind::run) {
        known.run(now());
        end_call(process, action.run, process.agent->run(1, options));
      } else {
        known.run_or_resume(now());
        end_call(process, action.run, process.agent->run_or_resume(id, 1, {.run = options}));
      }
      return;
    }
    case Kind::resume_run: {
      begin_call(process, action.run);
      const int label = action.n % 4 > 1 ? action.n % 4 - 2 : -1;
      model(process, action.run).resume_run(label, action.revive, now());
      ResumeOptions options{.revive = action.revive};
      if (label >= 0) options.from = "L" + std::to_string(label);
      options.run.stop_token = process.stop.get_token();
      end_call(process, action.run, process.agent->resume_run(id, options));
      return;
    }
    case Kind::decide: decide(action, process); return;
    case Kind::resume_due:
      clock_->advance(std::chrono::seconds(action.seconds));
      resume_due(process);
      return;
    case Kind::signal: send(action, process); return;
    case Kind::fork: fork(action, process); return;
    case Kind::erase: erase(action, process); return;
    case Kind::kill:
      process.dead = true;
      process.mortal->die();
      bury(process);
      return;
    case Kind::mend_store: process.store->heal(); return;
  }
}

void Play::begin_call(Process& process, int run) {
  ++depth_;
  process.stop = std::stop_source();
  process.faults_before = process.store->failures();
  process.run = run;
  before_call_.reset();
  if (run >= 0 && run < static_cast<int>(runs_.size())) {
    before_call_ = runs_[static_cast<std::size_t>(run)];
  }
}

void Play::bury(Process& process) {
  if (process.dead) make(process);
}

void Play::end_call(Process& process, int run, const Result<int>& result) {
  --depth_;
  process.run = -1;
  const auto place = static_cast<std::size_t>(run);
  if (process.zombie) {
    process.zombie = false;
    process.store->heal();
    if (result) say("a process that lost its run returns success");
    bury(process);
    return;
  }
  if (process.dead) {
    bury(process);
    return;
  }
  if (is_over()) return;
  // Another process whose store failed may still hold the run.
  const Process& other = processes_[&process == processes_.data() ? 1 : 0];
  if (!result && before_call_ && result.error().code == Errc::busy && other.store->failures() > 0) {
    runs_[place] = *before_call_;
    return;
  }
  RunModel& known = model(process, run);
  if (result) {
    known.returned(success, result.value(), "");
    const Result<RunInfo> stored = process.inner->run(known.name());
    if (!stored || stored.value().status != RunStatus::finished) {
      say(known.name() + ": the call returns success, but the stored run is " +
          (stored ? std::string(to_string(stored.value().status)) : "not there"));
    }
  } else {
    const Error& error = result.error();
    const bool alone = known.is_detached();
    known.returned(bit(error.code), 0, error.detail);
    if (alone) {  // It does not wait for what the stored run waits for.
    } else if (error.code == Errc::suspended && error.suspension() &&
               !error.suspension()->token.empty()) {
      tokens_[place].push_back(error.suspension()->token);
      token_is_current_[place] = true;
    }
  }
  if (!process.shaken()) look(process, run);
}

// The store's listing must match the model.
void Play::look(Process& process, int run) {
  RunModel& known = model(process, run);
  const Result<RunInfo> info = process.inner->run(known.name());
  if (!info) {
    known.listed({}, "absent");
    return;
  }
  const auto checkpoints = process.inner->checkpoints(known.name());
  if (!checkpoints) {
    say(known.name() + ": its checkpoints cannot be listed: " + checkpoints.error().detail);
    return;
  }
  std::vector<std::pair<int, int>> seen;
  for (const CheckpointInfo& checkpoint : checkpoints.value()) {
    seen.emplace_back(static_cast<int>(checkpoint.steps),
                      checkpoint.label.empty() ? -1 : checkpoint.label.back() - '0');
  }
  known.listed(seen, std::string(to_string(info.value().status)));
}

void Play::resume_due(Process& process) {
  std::vector<std::optional<RunModel>> before(runs_.size());
  std::vector<bool> must(runs_.size(), false);
  begin_call(process, -1);
  const auto due = std::count_if(runs_.begin(), runs_.end(),
                                 [this](const RunModel& run) { return run.is_due(now(), false); });
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    runs_[i].shake(false);
    if (!runs_[i].is_due(now(), false)) continue;
    must[i] = runs_[i].is_due(now(), true);
    before[i] = runs_[i];
    runs_[i].take_up(now(), due > 1);
  }
  RunOptions options;
  options.stop_token = process.stop.get_token();
  const auto resumed = process.agent->resume_due(options);
  --depth_;
  if (is_over()) return;
  if (process.dead || !resumed) {
    const bool excused = process.dead || process.shaken();
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      if (!before[i]) continue;
      runs_[i].shake(process.shaken());  // Perhaps only by its last call.
      if (runs_[i].begun() == before[i]->begun()) {
        runs_[i].owner_gone();
        runs_[i].or_else(*before[i]);  // The call may not have reached this one yet.
      } else if (runs_[i].is_waiting_for_call()) {
        runs_[i].owner_gone();
      }
    }
    if (!excused) say("resume_due: " + resumed.error().detail);
    bury(process);
    return;
  }
  for (const ResumedRun<int>& one : resumed.value()) {
    const auto number = run_numbers_.find(one.run);
    if (number == run_numbers_.end()) continue;
    ++depth_;
    end_call(process, number->second, one.result);
    must[static_cast<std::size_t>(number->second)] = false;
    before[static_cast<std::size_t>(number->second)].reset();
  }
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    if (!before[i]) continue;
    if (process.shaken()) {
      const bool untouched = runs_[i].begun() == before[i]->begun();
      runs_[i].shake(true);
      runs_[i].owner_gone();
      if (untouched) runs_[i].or_else(*before[i]);
      continue;
    }
    if (must[i]) say(runs_[i].name() + ": resume_due leaves out a run that is due");
    runs_[i] = *before[i];
  }
}

void Play::decide(const Action& action, Process& process) {
  const auto place = static_cast<std::size_t>(action.run);
  const auto& tokens = tokens_[place];
  if (tokens.empty()) return;
  const bool old = action.old_token && tokens.size() > 1;
  const bool current = !old && token_is_current_[place];
  // What a decision about a wait, which is not a failure, counts as is not specified.
  if (current && !runs_[place].wants_decision()) return;
  begin_call(process, action.run);
  model(process, action.run).decide(current, action.n % 5, now());
  DecideOptions options{.who = "ana"};
  options.run.stop_token = process.stop.get_token();
  const Result<int> result =
      process.agent->decide(old ? tokens.front() : tokens.back(), action_of(action.n % 5), options);
  end_call(process, action.run, result);
}

void Play::send(const Action& action, Process& process) {
  const int signal = action.n % signal_count;
  RunModel& known = model(process, action.run);
  if (!known.exists()) return;
  process.faults_before = process.store->failures();
  const Result<void> sent =
      process.agent->signal(known.name(), "s" + std::to_string(signal), action.seconds);
  bool kept = sent.has_value();
  if (!sent && process.shaken()) {  // Its answer may have been lost: docs/checkpoint_format.md.
    const auto stored =
        process.inner->get("triage/signals", known.name() + "/s" + std::to_string(signal));
    kept = stored && stored.value() && known.sent(signal) < 0;
  }
  if (kept) known.signalled(signal, action.seconds);
}

void Play::erase(const Action& action, Process& process) {
  RunModel& known = model(process, action.run);
  if (!known.exists() || depth_ > 0) return;
  const Result<void> erased = process.inner->erase(known.name());
  if (!erased) return;
  known.erase();
  ledger_.forget(action.run);
  token_is_current_[static_cast<std::size_t>(action.run)] = false;
}

void Play::fork(const Action& action, Process& process) {
  const RunModel& origin = model(process, action.run);
  const auto checkpoints = process.inner->checkpoints(origin.name());
  if (!checkpoints || checkpoints.value().empty()) return;
  const int position = action.n % static_cast<int>(checkpoints.value().size());
  if (!origin.may_fork(position)) return;
  const int branch = static_cast<int>(runs_.size());
  const std::string name = "r" + std::to_string(branch);
  begin_call(process, branch);
  runs_.push_back(origin.fork(position, now(), action.seconds, name));
  run_numbers_[name] = branch;
  tokens_.emplace_back();
  token_is_current_.push_back(false);
  ledger_.branch(action.run, branch);
  ForkOptions options{.run = run_options(process)};
  options.run.run_id = name;
  if (action.seconds > 0) options.state = {{"edit", action.seconds}};
  const CheckpointInfo& chosen = checkpoints.value()[static_cast<std::size_t>(position)];
  const Result<int> result = process.agent->fork(to_string(chosen.id), options);
  end_call(process, branch, result);
  if (!process.inner->run(name)) ledger_.forget(branch);
}

}  // namespace triage::campaign
