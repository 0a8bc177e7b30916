// SPDX-License-Identifier: MIT
#pragma once
// The journal of one run, folded: state, trajectory, checkpoints, effects, history.

#include "triage/checkpoint.hpp"
#include "triage/effect.hpp"
#include "triage/policy.hpp"
#include "triage/record.hpp"
#include "triage/usage.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace triage::inline v0_1 {

struct JournalReading;  // checkpoint_store.hpp
struct SupersededChanges;

// One effect, as the whole journal knows it: a rollback does not rewind effects.
struct EffectState {
  enum class Status : std::uint8_t {
    absent,        // Never intended.
    intended,      // In doubt, unless it runs now.
    completed,     // Done, and in place.
    withdrawn,     // Not carried out.
    compensating,  // Undone or not: in doubt, unless its compensation runs now.
    compensated,   // Undone: the key is free for the next generation.
  };
  Status status = Status::absent;
  std::uint64_t generation = 1;
  std::shared_ptr<const Json> result{};  // From `completed` on.
  EffectSemantics semantics = EffectSemantics::at_most_once;
  std::string arguments{};                    // Their hash; empty if there are none.
  std::optional<std::string> compensation{};  // Its name; empty text: a function without one.
  std::string reconciliation{};               // Its name, if it has one.
  // When this generation was first intended since its key was last free; in a branch, since the
  // branch itself carried it out.
  Sequence intended_at = 0;
  Sequence known_at = 0;  // Of the newest record about it.
  bool lost = false;      // In doubt because a record that may have been about it cannot be read.
  // Under which the outside world knows this generation. Empty: it is made of the run's own id, as
  // journals from before it was recorded take it to be.
  std::string idempotency_key{};
  std::string compensation_key{};  // The same of its compensation, once that was begun.
};

// A nested run for which this one was suspended.
struct AwaitedRun {
  std::string agent{};   // The agent it is a run of …
  std::string task{};    // … the hash of its task; empty: not known …
  std::string ticket{};  // … and the hash of its token.
  Json decision{};       // The action that was decided on for it; null: none.
  std::string by{};      // Who decided.
};

// Both ways to build it give the same journal: recording live, or applying stored records in order.
// Thread-safety: none; its owner locks.
class Journal {
 public:
  // A place that can be restored.
  struct Position {
    Sequence seq = 0;  // Of the last record that belongs to it.
    std::uint32_t state_version = 0;
    std::uint32_t attempt = 0;
    std::size_t steps = 0;
    std::shared_ptr<detail::StepChunk> tail{};
    bool failed = false;  // It contains the step that carries a failure.
    WallTime time{};
    std::int32_t previous = -1;    // Index of the one before it on its branch; -1: none.
    std::int32_t cut = -1;         // Which way back led to what it continues; -1: none.
    std::uint32_t delta_cost = 0;  // Rough bytes of the state changes since the last snapshot.
  };

  explicit Journal(RunId run = {}, bool auto_checkpoint = true)
      : run_(std::move(run)), auto_checkpoint_(auto_checkpoint) {}

  // Folds what a store read. Stops using records at the first damaged one, until a later record
  // rewinds to before it. Errors: Errc::corrupt if not even the start of the run is intact.
  [[nodiscard]] static Result<Journal> fold(const JournalReading& reading);

  // --- Recording. Each returns the record to store; the caller has checked the arguments.
  Record add(RecordKind kind, WallTime time, Json body);  // Any kind without a function below.
  Record add_step(Step&& step, WallTime time);
  void take_step(Step&& step, WallTime time);  // The same where nobody wants the record.
  Record change_state(Json patch, WallTime time);
  Record remove_state(std::string key, WallTime time);
  // The whole state as one record: `replaced` by the agent, or repeated so that folds stay short.
  Record snapshot_state(Json state, bool replaced, WallTime time);
  // True when replaying the deltas would cost more than reading a snapshot.
  [[nodiscard]] bool wants_snapshot() const noexcept;
  Record label_checkpoint(std::string label, WallTime time);
  // Ends the checkpoint that is open, if there is one and checkpoints are automatic (or `always`).
  void end_checkpoint(bool always = false);
  // Continues from a position: later records build on it. Index into positions().
  void rewind(std::size_t position);
  // False for a position whose state the reading left out (JournalReading::state_from). Before such
  // a one is restored or continued from, whoever has the store looks its state up for the journal.
  [[nodiscard]] bool knows_state(std::size_t position) const;
  void learn_state(std::size_t position, State state);
  // Continues from the start: an empty state and trajectory, or those that a branch begins with.
  void start_over();
  // The callable is about to run; the same as a record `attempt_started`.
  void begin_attempt(int number);
  // A failure has been dealt with; the same as a record `action_taken`.
  void take_action(HistoryEntry entry);
  // The attempt failed; the same as a record `failure_classified`. Positions of the attempt that
  // contain the critical step are no rollback targets.
  void note_failure(std::optional<std::size_t> critical_step);
  // An effect, or its compensation, whose end could not be stored: nobody knows after a crash
  // whether it happened.
  void doubt_effect(std::string_view key);
  // A default rollback has used this target; the next one goes further back.
  void mark_used(Sequence target) { used_targets_.insert(target); }
  // A decision from outside has approved a proposed step; the same as a record `resumed`.
  void approve(std::string fingerprint) { approved_.insert(std::move(fingerprint)); }
  // The run waits for a nested one; the same as a record `suspended` with a `child`.
  void await(const RunId& run, AwaitedRun awaited) { awaited_[run] = std::move(awaited); }
  // What was decided for it; the same as a record `resumed` with a `child_decision`.
  void decide_awaited(const RunId& run, Json action, std::string by);
  // Applies a stored record. One that does not follow the last one, or cannot be decoded, is left
  // out, and so is everything behind it until a record rewinds to before the hole.
  void apply(const Record& record);

  // --- Reading.
  [[nodiscard]] const RunId& run() const noexcept { return run_; }
  void set_run(RunId run) { run_ = std::move(run); }
  [[nodiscard]] Sequence last() const noexcept { return last_; }
  [[nodiscard]] State state() const;
  [[nodiscard]] const Trajectory& trajectory() const noexcept { return trajectory_; }
  [[nodiscard]] bool auto_checkpoint() const noexcept { return auto_checkpoint_; }
  // All ended checkpoints, oldest first, abandoned branches included.
  [[nodiscard]] const std::vector<Position>& positions() const noexcept { return positions_; }
  // Indexes of those that lie on the current branch, oldest first.
  [[nodiscard]] const std::vector<std::uint32_t>& branch() const noexcept { return branch_; }
  [[nodiscard]] std::optional<std::size_t> find(Sequence seq) const;
  [[nodiscard]] std::optional<std::size_t> find_label(std::string_view label) const;
  [[nodiscard]] std::string label_of(Sequence seq) const;
  [[nodiscard]] Checkpoint restore(std::size_t position) const;
  // The newest position, even inside an open step. Its sequence is 0 where nothing was recorded
  // yet.
  [[nodiscard]] Checkpoint latest() const;
  [[nodiscard]] CheckpointInfo info(std::size_t position) const;

  [[nodiscard]] const std::map<std::string, EffectState, std::less<>>& effects() const noexcept {
    return effects_;
  }
  // What is known of one effect. One that is not known is `intended` if its record may be among
  // those that are lost.
  [[nodiscard]] EffectState effect(std::string_view key) const;
  // The newest record that is damaged or missing and may have been an effect's intent; 0 if there
  // is none.
  [[nodiscard]] Sequence lost_intent() const noexcept { return lost_intent_; }
  // Whether the state at a position claims an effect that has been undone since: nothing goes on
  // from there. Index into positions().
  [[nodiscard]] bool claims_undone(std::size_t position) const;
  // If the current state claims such an effect: the newest position of the current branch that
  // does not, to which the run has to go back. 0 is the start.
  [[nodiscard]] std::optional<Sequence> before_undone() const;
  // The position that a branch of another run begins with; 0 for all other runs.
  [[nodiscard]] Sequence start_sequence() const noexcept {
    return begin_ ? positions_[*begin_].seq : 0;
  }
  // The target of a recovery whose compensations were begun and, as far as is recorded, not ended.
  [[nodiscard]] const std::optional<Sequence>& compensating_after() const noexcept {
    return compensating_after_;
  }
  [[nodiscard]] const std::vector<HistoryEntry>& history() const noexcept { return history_; }
  [[nodiscard]] const Usage& usage() const noexcept { return usage_; }
  // The first sequence that is missing or unreadable, if the fold stopped there.
  [[nodiscard]] std::optional<Sequence> broken_at() const noexcept { return broken_at_; }
  [[nodiscard]] int attempts() const noexcept { return attempts_; }
  [[nodiscard]] bool started() const noexcept { return !start_.is_null(); }
  // Body of run_started: task, agent, version, fingerprint, label, parent.
  [[nodiscard]] const Json& start() const noexcept { return start_; }
  // Body of the newest `finished`, `stopped` and `suspended`; null if there is none, or if the run
  // went on after it.
  [[nodiscard]] const Json& finished() const noexcept { return finished_; }
  [[nodiscard]] const Json& stopped() const noexcept { return stopped_; }
  // Body of the newest `suspended`, until the run goes on; else null.
  [[nodiscard]] const Json& suspended() const noexcept { return suspended_; }
  // Body of the `resumed` whose decision has not been carried out yet; else null.
  [[nodiscard]] const Json& decision() const noexcept { return decision_; }
  // It was decided to abort, and as far as is recorded the run has not ended yet.
  [[nodiscard]] bool aborting() const noexcept { return aborting_; }
  // Fingerprints of the proposed steps that somebody has approved.
  [[nodiscard]] const std::set<std::string>& approved() const noexcept { return approved_; }
  // What was received for each signal that has been waited for; null bodies: its deadline passed.
  [[nodiscard]] const std::map<std::string, std::optional<Json>, std::less<>>& signals()
      const noexcept {
    return signals_;
  }
  // When each named sleep ends. Never rewound: a name is one sleep in all attempts of the run.
  [[nodiscard]] const std::map<std::string, WallTime, std::less<>>& sleeps() const noexcept {
    return sleeps_;
  }
  // Waits that suspended the run and have come due, by the place in the callable where they were
  // asked for (see Run::sleep_until), with how long each was.
  [[nodiscard]] const std::map<std::string, WallTime::duration, std::less<>>& served_waits()
      const noexcept {
    return served_waits_;
  }
  // Attempts that ended because they had to wait for long: no limit counts them.
  [[nodiscard]] int suspended_attempts() const noexcept { return suspended_attempts_; }
  // Nested runs that it has waited for.
  [[nodiscard]] const std::map<RunId, AwaitedRun, std::less<>>& awaited() const noexcept {
    return awaited_;
  }
  // How often in a row the run's process died while it was being resumed without getting on: since
  // an attempt last ended, an effect was completed, or something else was recorded than by the
  // process that died before.
  [[nodiscard]] int crashes() const noexcept { return crashes_; }
  // Body of `forked`, if the run is a branch of another one; else null.
  [[nodiscard]] const Json& forked() const noexcept { return forked_; }
  // Targets that default rollbacks of this run have used.
  [[nodiscard]] const std::set<Sequence>& rolled_back_to() const noexcept { return used_targets_; }
  [[nodiscard]] const std::vector<std::pair<Sequence, Sequence>>& gaps() const noexcept {
    return gaps_;
  }

 private:
  struct Version {
    std::uint32_t at = 0;
    std::shared_ptr<const Json> value{};  // Null: removed.
  };
  using Versions = std::map<std::string, std::vector<Version>, std::less<>>;
  // A way back: the records behind `to`, up to `at`, are no part of what came after it.
  struct Cut {
    Sequence to = 0;
    Sequence at = 0;
    std::int32_t before = -1;  // Index of the one that `to` itself came behind; -1: none.
  };

  Sequence next() noexcept { return ++last_; }
  void touch(WallTime time) noexcept;
  void set_key(const std::string& key, std::shared_ptr<const Json> value);
  void set_keys(const std::shared_ptr<const Json>& patch);
  void erase_key(const std::string& key);
  void replace_keys(const State::Values& values);
  void push_position();
  [[nodiscard]] State state_at(std::uint32_t version) const;
  [[nodiscard]] State state_of(const Position& position) const;
  void apply_superseded(const SupersededChanges& changes);
  void apply_fact(RecordKind kind, const std::shared_ptr<const Json>& body, WallTime time);
  void apply_effect(RecordKind kind, const Json& body);
  void apply_compensation(RecordKind kind, const Json& body);
  void note_lost_records(const JournalReading& reading);
  void note_lost_intent(Sequence seq);
  void cut_back(Sequence to, std::int32_t before);
  [[nodiscard]] bool claims_undone(Sequence seq, std::int32_t newest_cut) const;
  void apply_label(const Json& body, WallTime time);
  void apply_step(const Record& record);
  void apply_going_on(const Json& body, WallTime time);
  void count_crash(bool died);
  // A step or a change of the state, given as what tells it from others. (journal_progress.cpp)
  void note_life(std::string_view what);
  void note_life(const Record& step);
  void note_life(const Step& step);
  void apply_suspended(const std::shared_ptr<const Json>& body);
  void replace_steps(const Json& steps);
  bool rewind_to(Sequence seq);

  RunId run_;
  bool auto_checkpoint_;
  Sequence last_ = 0;
  Trajectory trajectory_{};
  Versions versions_{};
  std::uint32_t version_ = 0;
  std::size_t state_cost_ = 0;  // Rough bytes of all current values.
  std::size_t delta_cost_ = 0;  // Rough bytes of the changes since the last snapshot.
  mutable std::optional<State> current_{};
  std::vector<Position> positions_{};
  std::vector<std::uint32_t> branch_{};
  std::map<std::string, std::vector<Sequence>, std::less<>> labels_{};  // The newest one counts.
  bool open_ = false;  // Something was recorded since the last checkpoint ended.
  WallTime open_time_{};
  Sequence open_last_ = 0;  // Last record of the open checkpoint.
  Sequence base_ = 0;       // Checkpoint that the current state continues; 0: the empty start.
  int attempts_ = 0;
  std::size_t attempt_first_position_ = 0;
  std::map<std::string, EffectState, std::less<>> effects_{};
  Sequence lost_intent_ = 0;
  // When each effect was undone, or may have been, by its intent.
  std::map<Sequence, Sequence> undone_{};
  std::vector<Cut> cuts_{};
  std::int32_t cut_ = -1;               // The newest one on the way to the current state.
  std::optional<std::size_t> begin_{};  // Index of the position that a branch begins with.
  std::optional<Sequence> compensating_after_{};
  std::vector<HistoryEntry> history_{};
  bool undecided_ = false;  // The newest entry of the history is a suspension.
  std::set<Sequence> used_targets_{};
  std::vector<std::pair<Sequence, Sequence>> gaps_{};
  Usage usage_{.calls = 0};
  Json start_{};
  Json finished_{};
  Json stopped_{};
  Json suspended_{};
  Json decision_{};
  Json forked_{};
  std::set<std::string> approved_{};
  std::map<std::string, std::optional<Json>, std::less<>> signals_{};
  std::map<RunId, AwaitedRun, std::less<>> awaited_{};
  int crashes_ = 0;
  // What each of the last two processes that resumed the run after a death recorded first, hashed;
  // empty where nobody did.
  std::vector<std::size_t> life_{};
  std::vector<std::size_t> life_before_{};
  bool resumed_after_death_ = false;
  bool aborting_ = false;
  std::map<std::string, WallTime, std::less<>> sleeps_{};
  std::map<std::string, WallTime::duration, std::less<>> served_waits_{};
  int suspended_attempts_ = 0;
  Sequence state_from_ = 0;  // The states of positions before it are in learned_, or not known.
  std::map<Sequence, State> learned_{};
  std::optional<Sequence> broken_at_{};  // Records from here on are not used, until a rewind.
};

}  // namespace triage::inline v0_1
