// SPDX-License-Identifier: MIT
#include "triage/lab/confirm.hpp"

#include "effects/effects.hpp"
#include "journal/failure_json.hpp"
#include "triage/detail/nearest.hpp"
#include "triage/detail/stored_field.hpp"
#include "triage/detail/try.hpp"
#include "triage/forwarding_store.hpp"
#include "triage/journal.hpp"
#include "triage/stores/memory.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace triage::inline v0_1::lab {
namespace {

using triage::detail::text_field;

constexpr int fewest_times = 6;
constexpr int most_times = 10'000;

// Claims to be durable, so that a re-run suspends instead of sitting out a long wait.
class HeldCopy final : public ForwardingStore {
 public:
  explicit HeldCopy(std::shared_ptr<CheckpointStore> inner) : ForwardingStore(std::move(inner)) {}
  [[nodiscard]] StoreCapabilities capabilities() const noexcept override {
    StoreCapabilities all = ForwardingStore::capabilities();
    all.durability = Durability::process;
    return all;
  }
};

// --- The blamed step.

std::string bytes_of(const Step& step) {
  std::string bytes;
  triage::detail::encode_step(step, bytes);
  return bytes;
}

bool begins_with(const Trajectory& whole, const Trajectory& part) {
  if (part.size() > whole.size()) return false;
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (bytes_of(part[i]) != bytes_of(whole[i])) return false;
  }
  return true;
}

// The newest checkpoint on the path to the current state that does not contain the step; 0 is the
// start. Abandoned attempts may have left checkpoints that are not on that path.
Sequence checkpoint_before(const Journal& journal, std::size_t step) {
  const auto& positions = journal.positions();
  const Trajectory now = journal.trajectory();
  const auto attempt = static_cast<std::uint32_t>(journal.attempts());
  for (auto i = journal.branch().rbegin(); i != journal.branch().rend(); ++i) {
    const Journal::Position& position = positions[*i];
    if (position.steps > step) continue;
    if (position.attempt == attempt) return position.seq;
    if (position.steps == 0 && step > 0) break;  // The attempt did not start from it.
    if (begins_with(now, journal.restore(*i).trajectory)) return position.seq;
    break;
  }
  return 0;
}

Blame blame_of(const Journal& journal, const Json& body) {
  FailureContext context;
  triage::detail::read_failure(body, context);
  Blame blame{.attempt = std::max(journal.attempts(), 1),
              .type = context.type(),
              .reason = context.classification.reason};
  const std::optional<std::size_t> step = context.classification.critical_step;
  if (!step || *step >= journal.trajectory().size()) return blame;
  blame.step = step;
  blame.action = journal.trajectory()[*step].action;
  blame.checkpoint = to_string(CheckpointId{journal.run(), checkpoint_before(journal, *step)});
  return blame;
}

// All failures of the run, oldest first.
Result<std::vector<Blame>> blames_of(const JournalReading& reading) {
  Journal journal(reading.info.id);
  std::vector<Blame> all;
  for (const Record& record : reading.records) {
    if (record.kind() == RecordKind::failure_classified) {
      const auto body = record.body();
      if (body && body.value().is_object()) all.push_back(blame_of(journal, body.value()));
    }
    journal.apply(record);
  }
  if (journal.started()) return outcome::success(std::move(all));
  return Error{Errc::corrupt, "the first record of run \"" + printable(reading.info.id) +
                                  "\" is damaged or missing, so nothing can be run again"};
}

Error no_blame(const RunId& run, const std::vector<Blame>& all, int wanted) {
  const std::string of_run = "run \"" + printable(run) + "\"";
  if (all.empty()) return {Errc::invalid_argument, "nothing failed in " + of_run};
  std::string failed;
  std::string blamed;
  for (const Blame& one : all) {
    const std::string number = (failed.empty() ? "" : ", ") + std::to_string(one.attempt);
    failed += number;
    if (one.step) blamed += (blamed.empty() ? "" : ", ") + std::to_string(one.attempt);
  }
  if (wanted != 0 && std::none_of(all.begin(), all.end(),
                                  [&](const Blame& one) { return one.attempt == wanted; })) {
    return {Errc::invalid_argument, "attempt " + std::to_string(wanted) + " of " + of_run +
                                        " did not fail; these did: " + failed};
  }
  return {Errc::invalid_argument,
          "no step is blamed for " +
              (wanted != 0 ? "the failure of attempt " + std::to_string(wanted)
                           : std::string("any failure")) +
              " of " + of_run + "; name the checkpoint to begin at" +
              (wanted != 0 && !blamed.empty() ? ", or one of the attempts " + blamed : "")};
}

// --- The change.

std::string one_line(const std::string& text) {
  constexpr std::size_t longest = 120;
  return "\"" + printable(text.substr(0, longest)) + (text.size() > longest ? "…\"" : "\"");
}

std::string in_words(const Change& change) {
  if (!change.hint.empty()) return "the hint " + one_line(change.hint);
  if (!change.state.is_null()) return "the state " + one_line(show(change.state));
  if (change.task) return "the task " + one_line(show(*change.task));
  std::string text;
  for (const auto& [key, result] : change.answers) {
    text += (text.empty() ? "the answer " : ", ") + one_line(show(result)) + " to effect " +
            one_line(key);
  }
  return text;
}

Result<void> check(const ConfirmOptions& options, bool changed_otherwise) {
  if (options.times < fewest_times || options.times > most_times) {
    return Error{Errc::invalid_argument, "times is " + std::to_string(options.times) +
                                             "; allowed are " + std::to_string(fewest_times) +
                                             " to " + std::to_string(most_times)};
  }
  const Change& change = options.change;
  const int changes = (change.hint.empty() ? 0 : 1) + (change.state.is_null() ? 0 : 1) +
                      (change.answers.empty() ? 0 : 1) + (change.task ? 1 : 0) +
                      (changed_otherwise ? 1 : 0);
  if (changes == 1) return outcome::success();
  return Error{Errc::invalid_argument,
               std::string(changes == 0 ? "nothing is changed" : "more than one thing is changed") +
                   "; give one of these: a hint, keys of the state, an answer to an effect, "
                   "another task or command"};
}

// An answer to an effect that the run never asks for would change nothing, without a word.
Result<void> check_answers(const JournalReading& reading, const ConfirmOptions& options) {
  Journal journal(reading.info.id);
  for (const Record& record : reading.records) journal.apply(record);
  std::vector<std::string> known;
  for (const auto& [key, effect] : journal.effects()) known.push_back(key);
  for (const auto& [key, result] : options.assumed) known.push_back(key);
  for (const auto& [key, result] : options.change.answers) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    return Error{Errc::invalid_argument,
                 "run \"" + printable(reading.info.id) + "\" has asked for no effect \"" +
                     printable(key) + "\"" +
                     (known.empty() ? "; it has asked for none"
                                    : printable(triage::detail::allowed_names(key, known)))};
  }
  return outcome::success();
}

// --- The re-runs.

enum class End : std::uint8_t { finished, failed_alike, failed_otherwise, undecided };

class Confirming {
 public:
  Confirming(CheckpointStore& copy, const RunId& run, const ConfirmOptions& options)
      : copy_(copy), run_(run), options_(options) {}

  Result<Confirmation> with(const Blame& blame, const Rerun& unchanged, const Rerun& changed,
                            std::string change_text);

 private:
  Result<End> once(const Rerun& rerun, bool change, int number);
  [[nodiscard]] bool refused_any(const RunId& branch);
  static void count(Reruns& reruns, End end);
  void conclude(int gained, int lost);

  CheckpointStore& copy_;
  const RunId& run_;
  const ConfirmOptions& options_;
  std::set<std::string> refused_{};
  Confirmation found_{};
};

bool Confirming::refused_any(const RunId& branch) {
  const auto reading = copy_.read(branch, {});
  if (!reading) return false;
  bool any = false;
  for (const Record& record : reading.value().records) {
    if (record.kind() != RecordKind::effect_withdrawn) continue;
    const auto body = record.body();
    if (!body || text_field(body.value(), "cause") != triage::detail::refused_cause) continue;
    refused_.insert(text_field(body.value(), "key"));
    any = true;
  }
  return any;
}

Result<End> Confirming::once(const Rerun& rerun, bool change, int number) {
  ForkOptions fork{.answers = options_.assumed, .refuse_new_effects = true};
  if (change) {
    const Change& what = options_.change;
    fork.hint = what.hint;
    fork.state = what.state;
    fork.task = what.task;
    for (const auto& [key, result] : what.answers) fork.answers.insert_or_assign(key, result);
  }
  fork.run.run_id =
      run_.substr(0, 100) + (change ? ".changed-" : ".unchanged-") + std::to_string(number);
  fork.run.limits = Limits{.max_attempts = 1, .max_attempts_per_type = 1};
  fork.run.stop_token = options_.stop;
  const RunId branch = fork.run.run_id;
  const Result<void> result = rerun(found_.blame.checkpoint, fork);
  if (!copy_.run(branch)) return result ? Error{Errc::io, "a re-run left nothing"} : result.error();
  const bool refused = refused_any(branch);
  static_cast<void>(copy_.erase(branch));
  if (refused) return End::undecided;
  if (result) return End::finished;
  const Errc code = result.error().code;
  if (code == Errc::cancelled) return result.error();
  if (code != Errc::escalated && code != Errc::aborted) return End::undecided;
  const auto& failure = result.error().failure();
  return failure && failure->type() == found_.blame.type ? End::failed_alike
                                                         : End::failed_otherwise;
}

void Confirming::count(Reruns& reruns, End end) {
  switch (end) {
    case End::finished: ++reruns.finished; break;
    case End::failed_alike: ++reruns.failed_alike; break;
    case End::failed_otherwise: ++reruns.failed_otherwise; break;
    case End::undecided: ++reruns.undecided; break;
  }
}

void Confirming::conclude(int gained, int lost) {
  const auto times = static_cast<std::uint64_t>(options_.times);
  for (Reruns* one : {&found_.unchanged, &found_.changed}) {
    one->interval = wilson_interval(static_cast<std::uint64_t>(one->finished), times);
  }
  found_.difference = static_cast<double>(gained - lost) / options_.times;
  found_.interval =
      paired_interval(static_cast<std::uint64_t>(gained), static_cast<std::uint64_t>(lost), times);
  found_.refused.assign(refused_.begin(), refused_.end());
  if (found_.unchanged.undecided + found_.changed.undecided > 0) {
    found_.finding = Finding::undecided;
  } else if (found_.interval.low > 0) {
    found_.finding = Finding::cause;
  } else {
    found_.finding = found_.interval.high < 0 ? Finding::worse : Finding::not_shown;
  }
}

Result<Confirmation> Confirming::with(const Blame& blame, const Rerun& unchanged,
                                      const Rerun& changed, std::string change_text) {
  found_ = {.run = run_, .blame = blame, .change = std::move(change_text), .times = options_.times};
  int gained = 0;
  int lost = 0;
  // Alternates, and changes which goes first, so that drifting conditions affect both alike.
  for (int i = 0; i < options_.times; ++i) {
    bool finished[2] = {};
    for (int turn = 0; turn < 2; ++turn) {
      const bool change = (i + turn) % 2 == 1;
      if (options_.stop.stop_requested()) return Error{Errc::cancelled, "it was stopped"};
      TRIAGE_TRY(end, once(change ? changed : unchanged, change, i + 1));
      count(change ? found_.changed : found_.unchanged, end);
      finished[change ? 1 : 0] = end == End::finished;
      if (options_.on_progress) options_.on_progress(2 * i + turn + 1, 2 * options_.times);
    }
    gained += finished[1] && !finished[0] ? 1 : 0;
    lost += finished[0] && !finished[1] ? 1 : 0;
  }
  conclude(gained, lost);
  return outcome::success(std::move(found_));
}

}  // namespace

Result<Blame> find_blame(CheckpointStore& store, const RunId& run, const ConfirmOptions& options) {
  TRIAGE_TRY(reading, store.read(run, {}));
  TRIAGE_TRY(all, blames_of(reading));
  for (auto one = all.rbegin(); one != all.rend(); ++one) {
    if (options.attempt != 0 && one->attempt != options.attempt) continue;
    if (!options.from.empty()) {
      one->checkpoint = options.from;
      return outcome::success(std::move(*one));
    }
    if (one->step) return outcome::success(std::move(*one));
  }
  return no_blame(run, all, options.attempt);
}

Result<std::shared_ptr<CheckpointStore>> copy_of_run(CheckpointStore& store, const RunId& run) {
  TRIAGE_TRY(reading, store.read(run, {}));
  if (!reading.damaged.empty() || reading.records.empty()) {
    return Error{Errc::corrupt, "run \"" + printable(run) +
                                    "\" is damaged: nobody knows what re-runs would do again"};
  }
  const std::shared_ptr<CheckpointStore> memory = MemoryStore::create();
  TRIAGE_TRY(lease, memory->start(reading.info, reading.records));
  TRIAGE_TRYV(memory->append(lease, {}, reading.info.status));
  TRIAGE_TRYV(memory->release(lease));
  return outcome::success(std::shared_ptr<CheckpointStore>(std::make_shared<HeldCopy>(memory)));
}

Result<Confirmation> confirm_by(CheckpointStore& copy, const RunId& run, const Rerun& rerun,
                                const ConfirmOptions& options, const Rerun& changed,
                                const std::string& change_text) {
  TRIAGE_TRYV(check(options, changed != nullptr));
  TRIAGE_TRY(reading, copy.read(run, {}));
  TRIAGE_TRYV(check_answers(reading, options));
  TRIAGE_TRY(blame, find_blame(copy, run, options));
  return Confirming(copy, run, options)
      .with(blame, rerun, changed ? changed : rerun,
            changed ? change_text : in_words(options.change));
}

}  // namespace triage::inline v0_1::lab
