// SPDX-License-Identifier: MIT
#pragma once
// What the documents allow a run to do next. Where they leave freedom, or where it is unknown how
// much was durable when a process died, several hypotheses are kept, and observations rule them
// out. If none remains, the library and the documents differ.

#include "journal.hpp"

#include "triage/result.hpp"

#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

namespace triage::campaign {

// The first difference found, in words; empty: none.
struct Findings {
  std::string text{};
  bool undecided = false;        // Too much is possible; the rest of the program proves nothing.
  std::ostream* told = nullptr;  // Gets a line for everything seen; null: none.
  void say(const std::string& difference) {
    if (text.empty()) text = difference;
  }
};

// The possible results of a call, as bits: success is bit 0, an error its code.
using Codes = std::uint32_t;
[[nodiscard]] constexpr Codes bit(Errc code) { return 1U << static_cast<unsigned>(code); }
inline constexpr Codes success = 1;

// What a call may return while its store fails.
inline constexpr Codes store_errors = bit(Errc::io) | bit(Errc::in_doubt);
[[nodiscard]] std::string text_of(Codes codes);
inline constexpr std::array status_names{"absent",  "running",   "finished", "escalated",
                                         "aborted", "cancelled", "suspended"};

inline constexpr int fallback_value = 4242;

// How an effect's function ended.
enum class CallEnd : std::uint8_t { returned, not_done, threw };

struct Hypothesis {
  enum class Phase : std::uint8_t { idle, to_attempt, in_attempt, undoing, to_return };
  Facts facts{};
  int drained = 0;  // Facts that survive it if the store did not fail at the attempt's end.
  int durable = 0;  // Facts that survive the process at least.
  Phase phase = Phase::idle;
  Codes codes = 0;              // to_return
  int value = 0;                // to_return, with success
  std::vector<int> ask{};       // undoing: effects in doubt to be settled first
  std::vector<int> ask_undo{};  // The same for compensations.
  std::vector<int> undo{};      // Effects, the next one first.
  bool refuses = false;         // undoing: nothing will be undone, whatever is found out.
  int undo_calls = 0;
  int not_listed = 0;         // Positions that the store does not list, at the beginning.
  bool carried_out = false;   // in_attempt: an effect ran and has not given its result yet.
  bool was_in_doubt = false;  // in_attempt: whether that effect was in doubt before.
  std::shared_ptr<Hypothesis> stored{};  // The store's version, if the run continues without it.
  bool if_shaken = false;      // Possible only if the store fails before anything else is seen.
  bool asked_in_vain = false;  // in_attempt: the requested effect's outcome is unknown.
  int heard = -1;  // in_attempt: the effect settled by an answer, which may not be durable.
  // Answers that could not be stored when they were needed. The process continues without them, but
  // the store may have them later.
  std::vector<Fact> late{};
  int chosen = no_choice;  // undoing: the position to continue from; -1: the start.
  static constexpr int no_choice = -2;
  int resumed_at = -1;  // undoing: when its last process started; -1: the first one.
};

// Everything so far is durable.
inline void acknowledge(Hypothesis& h) { h.durable = h.facts.size(); }

class RunModel {
 public:
  RunModel(const Program& program, Findings& findings, std::string name)
      : program_(&program), findings_(&findings), name_(std::move(name)) {
    hypotheses_.push_back({.facts = Facts(program.auto_checkpoint)});
  }

  // --- Requests of operators. now: seconds since the clock's start.
  void run(int now);
  void run_or_resume(int now);
  void resume_run(int label, bool revive, int now);  // label -1: from the newest position
  void decide(bool current, int choice, int now);
  // Whether it may be due, or certainly is, if `surely`.
  [[nodiscard]] bool is_due(int now, bool surely) const;
  void take_up(int now, bool several);
  void erase();
  // A branch of this run at its checkpoint number `position`, as the store lists them.
  [[nodiscard]] RunModel fork(int position, int now, int edit, std::string name) const;
  void signalled(int signal, int value) { sent_[static_cast<std::size_t>(signal)] = value; }
  [[nodiscard]] int sent(int signal) const { return sent_[static_cast<std::size_t>(signal)]; }

  // --- Observations.
  void attempt_began(int number, const Values& state, const Steps& steps, bool past_deadline);
  void record(const Fact& fact, bool durable);
  void effect_called(int effect, int generation);
  void effect_ended(int effect, CallEnd end, int result);
  void effect_gave(int effect, int result);
  void effect_stopped(int effect);
  void reconciled(int effect, int answer, int result);  // -1: unknown, 0: not done, 1: done
  void undo_called(int effect, int generation, int result);
  void undo_ended(int effect, CallEnd end);
  void undo_settled(int effect, bool undone);
  void attempt_returned(int value);
  void attempt_failed(int type, int critical, int now);
  void attempt_parked(const Waiting& waiting);
  void attempt_cancelled();
  // It requested something after the deadline and was stopped. effect: what it requested, or -1.
  void attempt_too_late(int now, int effect = -1);
  void label_refused(int label);
  // The store failed during the wait. The answer may be stored nevertheless.
  void wait_broken(int signal, bool in_time);
  void waited(int signal, int value, bool in_time);
  void returned(Codes code, int value, const std::string& detail);
  // Also allows the other model's hypotheses.
  void or_else(const RunModel& other);
  // Its process died or lost the run to another one.
  void owner_gone();
  // What the store lists. Each pair: number of steps, label.
  void listed(const std::vector<std::pair<int, int>>& checkpoints, const std::string& status);

  [[nodiscard]] bool exists() const;
  // Whether a call that was to continue it has not reached it.
  [[nodiscard]] bool is_waiting_for_call() const;
  // Suspended by the policy, not by a wait of its own.
  [[nodiscard]] bool wants_decision() const;
  [[nodiscard]] bool may_fork(int position) const;
  [[nodiscard]] int suspension() const;  // Of its only hypothesis, or of the newest one's; 0: none.
  [[nodiscard]] const std::string& name() const { return name_; }
  void shake(bool shaken) {
    shaken_ = shaken;
    ever_shaken_ |= shaken;
  }
  // The number of attempts seen, and of calls leading to them.
  [[nodiscard]] int begun() const { return begun_; }
  // Whether it continues in memory, without its stored records.
  [[nodiscard]] bool is_detached() const;

 private:
  using List = std::vector<Hypothesis>;
  // Replaces each hypothesis by what `turn` makes of it; if none remains, that is a difference.
  template <class Turn>
  void each(const std::string& seen, Turn turn);
  // Keeps one of each set of equal hypotheses.
  void merge();
  [[nodiscard]] std::string expected(const Hypothesis& hypothesis) const;
  // Prints it, and what was expected.
  void tell(const std::string& seen) const;
  [[nodiscard]] const EffectPlan& plan(int effect) const {
    return program_->effects[static_cast<std::size_t>(effect)];
  }

  // Possible continuations; each function adds to `out`.
  void return_with(Hypothesis h, Codes codes, List& out) const;
  void end_with(Hypothesis h, Status status, Codes codes, int value, bool doubt, List& out) const;
  void attempt_next(Hypothesis h, List& out) const;
  // Adds hypotheses with the late answers, unless something else has settled them.
  void learn_late(List& out) const;
  // The next attempt, if deadline and limits allow it.
  void start(Hypothesis h, int now, List& out) const;
  void begin(Hypothesis h, int now, List& out) const;  // A run that did not exist.
  void return_recorded(Hypothesis h, List& out) const;
  void go_on(const Hypothesis& h, int label, int now, List& out) const;
  void go_on_undoing(Hypothesis h, int now, List& out) const;
  void take_up_one(const Hypothesis& h, int now, List& out) const;
  void begin_undo(Hypothesis h, int target, int status, bool by_default, List& out) const;
  void refuse_undo(Hypothesis h, int behind, List& out) const;
  void ask_in_doubt(Hypothesis h, int behind, List& out) const;
  [[nodiscard]] bool stops_by_doubt(const Hypothesis& h, int effect) const;
  void finish_undo(Hypothesis h, List& out) const;
  void act(Hypothesis h, const Rule& rule, int type, int now, List& out) const;
  void roll_back(const Hypothesis& h, const Rule& rule, List& out) const;
  [[nodiscard]] Rule decided(const Hypothesis& h, int type) const;
  void put_aside(Hypothesis h, const Waiting& waiting, List& out) const;
  void undo_failed(Hypothesis& h) const;
  // A compensation refused by a failing store is reported, and the run continues.
  void undo_refused(List& hypotheses) const;
  // A wait that the store cannot record is slept instead.
  void sleep_without_store(List& hypotheses) const;
  void note_drained(Hypothesis& h) const;
  // Whether an effect to be undone precedes the position, whose state would then be false.
  [[nodiscard]] bool will_be_tainted(const Facts& facts, const Position& position) const;
  // What may remain: the facts without any number of the newest non-durable ones.
  static void push_what_is_left(const Hypothesis& h, List& out);
  [[nodiscard]] Hypothesis detached(const Hypothesis& h) const;
  [[nodiscard]] bool is_due(const Hypothesis& h, int now) const;

  const Program* program_;
  Findings* findings_;
  std::string name_;
  List hypotheses_{};
  std::array<int, signal_count> sent_{-1, -1};
  int begun_ = 0;
  bool several_due_ = false;
  bool ever_shaken_ = false;
  bool shaken_ = false;  // The store has failed during the current call.
};

template <class Turn>
void RunModel::each(const std::string& seen, Turn turn) {
  if (!findings_->text.empty() || findings_->undecided) return;
  if (findings_->told != nullptr) tell(seen);
  List next;
  for (Hypothesis& h : hypotheses_) {
    if (h.if_shaken && !shaken_) continue;
    h.if_shaken = false;
    turn(h, next);
  }
  if (next.empty()) {
    std::string all;
    for (const Hypothesis& h : hypotheses_) {
      const std::string one = expected(h);
      if (all.find(one) == std::string::npos) all += (all.empty() ? "" : "\n  or ") + one;
    }
    findings_->say(name_ + ": " + seen + "\n  expected " + all);
    return;
  }
  hypotheses_ = std::move(next);
  if (hypotheses_.size() > 8) merge();
}

}  // namespace triage::campaign
