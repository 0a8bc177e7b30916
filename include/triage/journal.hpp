// SPDX-License-Identifier: MIT
#pragma once
// The folded journal of one run: state, trajectory, checkpoints, effects, history.

#include "triage/checkpoint.hpp"
#include "triage/detail/checkpoint_line.hpp"
#include "triage/detail/crash_count.hpp"
#include "triage/detail/effect_ledger.hpp"
#include "triage/detail/run_facts.hpp"
#include "triage/detail/state_versions.hpp"
#include "triage/policy.hpp"
#include "triage/record.hpp"
#include "triage/usage.hpp"

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace triage::inline v0_1 {

struct JournalReading;  // checkpoint_store.hpp
struct SupersededChanges;

// Has a part for each thing that is folded, and the rules that connect them: a rollback rewinds
// state, steps and checkpoints, but never effects or facts. Recording live and applying the stored
// records in order give the same journal. Thread-safety: none; its owner locks.
class Journal {
 public:
  // A restorable position.
  using Position = detail::CheckpointLine::Position;

  explicit Journal(RunId run = {}, bool auto_checkpoint = true)
      : run_(std::move(run)), auto_checkpoint_(auto_checkpoint) {}

  // Folds what a store read. Stops using records at the first damaged one, until a later record
  // rewinds to before it. Errors: Errc::corrupt if not even the start of the run is intact.
  [[nodiscard]] static Result<Journal> fold(const JournalReading& reading);

  // --- Making records. Each changes the journal and returns the record to store; the caller has
  // checked the arguments.
  Record add(RecordKind kind, WallTime time, Json body);  // Any kind without a function below.
  Record add_step(const Step& step, WallTime time);
  Record add_step(const Step& step, Record::Bytes encoded, WallTime time);
  Record add_encoded_step(Record::Bytes encoded, WallTime time);
  Record change_state(Json patch, WallTime time);
  Record remove_state(std::string key, WallTime time);
  // The whole state as one record: `replaced` by the agent, or repeated to keep folds short.
  Record snapshot_state(Json state, bool replaced, WallTime time);
  Record label_checkpoint(std::string label, WallTime time);

  // --- Changing what has been folded, without a record to store: there is none, or it is made
  // elsewhere, and then the comment names it.
  // As add_step(), for a caller that needs no record.
  void take_step(Step&& step, WallTime time);
  // Ends the open checkpoint, if there is one and checkpoints are automatic (or `always`).
  void end_checkpoint(bool always = false);
  // Continues from a position: later records build on it. Index into positions().
  void rewind(std::size_t position);
  // The position's state as loaded from the store; see knows_state().
  void learn_state(std::size_t position, State state);
  // Continues from the start: an empty state and trajectory, or those that a branch begins with.
  void start_over();
  // The callable is about to run; equivalent to a record `attempt_started`.
  void begin_attempt(int number);
  // A failure has been handled; equivalent to a record `action_taken`.
  void take_action(HistoryEntry entry);
  // The attempt failed; equivalent to a record `failure_classified`. Positions of the attempt that
  // contain the critical step are not rollback targets.
  void note_failure(std::optional<std::size_t> critical_step);
  // The end of an effect or compensation could not be stored, so after a crash it is in doubt.
  void doubt_effect(std::string_view key) { effects_.doubt(key, last_); }
  // A default rollback has used this target; the next one goes further back.
  void mark_used(Sequence target) { line_.mark_used(target); }
  // A decision approved a proposed step; equivalent to a record `resumed`.
  void approve(std::string fingerprint) { facts_.approved.insert(std::move(fingerprint)); }
  // The run waits for a nested one; equivalent to a record `suspended` with a `child`.
  void await(const RunId& run, AwaitedRun awaited) { facts_.awaited[run] = std::move(awaited); }
  // The nested run is in no store any more: the run does not wait for it again.
  void forget_awaited(const RunId& run) { facts_.awaited.erase(run); }
  // The attempt ends with a wait; equivalent to a record `suspended` that is `waiting`.
  void count_wait() noexcept { ++facts_.suspended_attempts; }
  // The decision for it; equivalent to a record `resumed` with a `child_decision`.
  void decide_awaited(const RunId& run, Json action, std::string by);
  // Applies a stored record. A record that cannot be decoded or leaves a hole is skipped, and so is
  // everything after it until a record rewinds to before the hole.
  void apply(const Record& record);

  // --- Reading.
  // True when replaying the deltas would cost more than reading a snapshot.
  [[nodiscard]] bool wants_snapshot() const noexcept { return state_.wants_snapshot(); }
  // False if the reading left the position's state out (JournalReading::state_from). Before such a
  // position is restored or continued from, its state must be loaded from the store.
  [[nodiscard]] bool knows_state(std::size_t position) const;
  [[nodiscard]] const RunId& run() const noexcept { return run_; }
  void set_run(RunId run) { run_ = std::move(run); }
  [[nodiscard]] Sequence last() const noexcept { return last_; }
  [[nodiscard]] State state() const { return state_.state(); }
  [[nodiscard]] bool has_key(std::string_view key) const { return state_.contains(key); }
  [[nodiscard]] const Trajectory& trajectory() const noexcept { return trajectory_; }
  [[nodiscard]] bool auto_checkpoint() const noexcept { return auto_checkpoint_; }
  // All ended checkpoints, oldest first, including abandoned branches.
  [[nodiscard]] const std::vector<Position>& positions() const noexcept {
    return line_.positions();
  }
  // Indexes of those that lie on the current branch, oldest first.
  [[nodiscard]] const std::vector<std::uint32_t>& branch() const noexcept { return line_.branch(); }
  [[nodiscard]] std::optional<std::size_t> find(Sequence seq) const { return line_.find(seq); }
  [[nodiscard]] std::optional<std::size_t> find_label(std::string_view label) const {
    return line_.find_label(label);
  }
  [[nodiscard]] std::string label_of(Sequence seq) const { return line_.label_of(seq); }
  [[nodiscard]] Checkpoint restore(std::size_t position) const;
  // The newest position, even inside an open step. Its sequence is 0 before anything was recorded.
  [[nodiscard]] Checkpoint latest() const;
  [[nodiscard]] CheckpointInfo info(std::size_t position) const;

  [[nodiscard]] const std::map<std::string, EffectState, std::less<>>& effects() const noexcept {
    return effects_.all();
  }
  // What is known of an effect. An unknown one is `intended` if its record may have been lost.
  [[nodiscard]] EffectState effect(std::string_view key) const { return effects_.find(key); }
  // The newest damaged or missing record that may have been an effect's intent; 0: none.
  [[nodiscard]] Sequence lost_intent() const noexcept { return effects_.lost_intent(); }
  // Whether the state at a position claims an effect that has been undone since, so that it cannot
  // be continued from. Index into positions().
  [[nodiscard]] bool claims_undone(std::size_t position) const;
  // If the current state claims such an effect: the newest position of the current branch that
  // does not, to which the run has to go back. 0 is the start.
  [[nodiscard]] std::optional<Sequence> before_undone() const;
  // The position that a branch begins with; 0 for other runs.
  [[nodiscard]] Sequence start_sequence() const noexcept {
    return line_.begin() ? positions()[*line_.begin()].seq : 0;
  }
  // The target of a recovery whose compensations have begun but not ended, as far as is recorded.
  [[nodiscard]] const std::optional<Sequence>& compensating_after() const noexcept {
    return facts_.compensating_after;
  }
  [[nodiscard]] const std::vector<HistoryEntry>& history() const noexcept { return facts_.history; }
  [[nodiscard]] const Usage& usage() const noexcept { return facts_.usage; }
  // The first sequence that is missing or unreadable, if the fold stopped there.
  [[nodiscard]] std::optional<Sequence> broken_at() const noexcept { return broken_at_; }
  [[nodiscard]] int attempts() const noexcept { return facts_.attempts; }
  [[nodiscard]] bool started() const noexcept { return !facts_.start.is_null(); }
  // Body of run_started: task, agent, version, fingerprint, label, parent.
  [[nodiscard]] const Json& start() const noexcept { return facts_.start; }
  // Body of the newest `finished` and `stopped`; null if there is none or the run continued after
  // it.
  [[nodiscard]] const Json& finished() const noexcept { return facts_.finished; }
  [[nodiscard]] const Json& stopped() const noexcept { return facts_.stopped; }
  // Body of the newest `suspended` until the run continues; else null.
  [[nodiscard]] const Json& suspended() const noexcept { return facts_.suspended; }
  // Body of the `resumed` whose decision has not been carried out yet; else null.
  [[nodiscard]] const Json& decision() const noexcept { return facts_.decision; }
  // An abort was decided but, according to the records, the run has not ended yet.
  [[nodiscard]] bool aborting() const noexcept { return facts_.aborting; }
  // Fingerprints of the proposed steps that were approved.
  [[nodiscard]] const std::set<std::string>& approved() const noexcept { return facts_.approved; }
  // What was received for each signal waited for; null: its deadline passed.
  [[nodiscard]] const std::map<std::string, std::optional<Json>, std::less<>>& signals()
      const noexcept {
    return facts_.signals;
  }
  // When each named sleep ends. Never rewound: a name means the same sleep in all attempts.
  [[nodiscard]] const std::map<std::string, WallTime, std::less<>>& sleeps() const noexcept {
    return facts_.sleeps;
  }
  // The lengths of waits that suspended the run and have come due, by their place in the callable
  // (see Run::sleep_until).
  [[nodiscard]] const std::map<std::string, WallTime::duration, std::less<>>& served_waits()
      const noexcept {
    return facts_.served_waits;
  }
  // Attempts ended by a long wait; they do not count against limits.
  [[nodiscard]] int suspended_attempts() const noexcept { return facts_.suspended_attempts; }
  // Nested runs that it has waited for.
  [[nodiscard]] const std::map<RunId, AwaitedRun, std::less<>>& awaited() const noexcept {
    return facts_.awaited;
  }
  // How often in a row the resumed run's process died without progress: since an attempt last
  // ended, an effect completed, or a process recorded something other than its predecessor.
  [[nodiscard]] int crashes() const noexcept { return crashes_.value(); }
  // Body of `forked` if the run is a branch; else null.
  [[nodiscard]] const Json& forked() const noexcept { return facts_.forked; }
  // Targets that default rollbacks of this run have used.
  [[nodiscard]] const std::set<Sequence>& rolled_back_to() const noexcept {
    return line_.used_targets();
  }
  [[nodiscard]] const std::vector<std::pair<Sequence, Sequence>>& gaps() const noexcept {
    return facts_.gaps;
  }

 private:
  Sequence next() noexcept { return ++last_; }
  void note_attempt();
  // A record of this kind is about to be applied, which may end the open checkpoint.
  void meet(RecordKind kind);
  template <class Append>  // `append(tail, size)` makes the step the trajectory's newest.
  void extend(const Step& step, WallTime time, Append append);
  void touch(WallTime time) noexcept { line_.touch(last_, time); }
  // The contents of a checkpoint that ends now.
  [[nodiscard]] Position place() const;
  void push_position() { line_.push(place()); }
  [[nodiscard]] State state_of(const Position& position) const;
  void apply_superseded(const SupersededChanges& changes);
  void apply_fact(RecordKind kind, const std::shared_ptr<const Json>& body, WallTime time);
  void apply_effect(RecordKind kind, const Json& body);
  void apply_label(const Json& body, WallTime time);
  void apply_removal(const Json& body, WallTime time);
  void apply_snapshot(const std::shared_ptr<const Json>& body, WallTime time);
  void apply_rollback(const Json& body, WallTime time);
  void apply_step(const Record& record);
  void replace_state(const State& state);
  void replace_steps(const Json& steps);
  bool rewind_to(Sequence seq);
  [[nodiscard]] bool claims_undone(Sequence seq, std::int32_t newest_cut) const;

  RunId run_;
  bool auto_checkpoint_;
  Sequence last_ = 0;
  Trajectory trajectory_{};
  detail::StateVersions state_{};
  detail::CheckpointLine line_{};
  detail::EffectLedger effects_{};
  detail::RunFacts facts_{};
  detail::CrashCount crashes_{};
  Sequence state_from_ = 0;  // States of earlier positions are in learned_, or unknown.
  std::map<Sequence, State> learned_{};
  std::optional<Sequence> broken_at_{};  // Records from here on are unused until a rewind.
};

}  // namespace triage::inline v0_1
