// SPDX-License-Identifier: MIT
#pragma once
// Plays a program: agents, their processes and stores, the outside world that effects change, and
// the operators. Reports all observations to the model.

#include "model.hpp"
#include "process.hpp"

#include "triage/agent.hpp"
#include "triage/testing/simulated_clock.hpp"

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace triage::campaign {

class Play;
struct Process;

// The callable of every agent. Executes the plan from the position in the state.
struct Puppet {
  Play* play = nullptr;
  Process* process = nullptr;
  Result<int> operator()(int task, Attempt& attempt) const;
};
using Agent = TriageAgent<Puppet>;

struct Process {
  std::shared_ptr<CheckpointStore> inner{};
  std::shared_ptr<MortalStore> mortal{};
  std::shared_ptr<testing::FlakyStore> store{};
  std::optional<Agent> agent{};
  std::stop_source stop{};
  std::uint64_t faults_before = 0;  // Of the store, when the current call began.
  bool store_fails = false;         // It has failed, or will fail.
  bool dead = false;
  bool zombie = false;      // It has lost its run and does not know.
  bool contending = false;  // Its call must not run anything.
  int run = -1;             // The run of its current call; -1: several.

  [[nodiscard]] bool shaken() const { return store->failures() > faults_before; }
};

// The outside world: what has really happened.
class Ledger {
 public:
  struct Entry {
    int run = 0;
    int effect = 0;
    int generation = 0;
    int result = 0;
    bool happened = false;
    bool undone = false;
    std::set<int> in_place_of{};  // Runs where it is in place; branches inherit it.
  };
  // Returns the effect's result. A known key does not repeat an idempotent effect.
  int take(const std::string& key, int run, bool idempotent, Findings& findings);
  void undo(int result, Findings& findings);
  // The function was called with this key.
  void announce(const std::string& key, int run, int effect, int generation, Findings& findings);
  void branch(int origin, int branch);
  // The run is gone; another one with its id begins.
  void forget(int run);
  [[nodiscard]] const Entry* find(const std::string& key) const;
  [[nodiscard]] const Entry* of_result(int result) const;

  std::array<bool, effect_count> may_repeat{};

 private:
  std::map<std::string, Entry> entries_{};
  std::set<int> repeated_{};  // Results of effects repeated under their key and not yet undone.
  int next_result_ = 100;
};

class Play {
 public:
  explicit Play(const Program& program);
  ~Play();
  Play(const Play&) = delete;
  Play& operator=(const Play&) = delete;

  // Returns the first difference; empty: none.
  std::string run();
  // From now on prints what happens and what the model expects.
  void tell(std::ostream& out) { findings_.told = &out; }
  // Prints the records of all runs.
  void tell_journals(std::ostream& out) const;
  // The number of attempts.
  [[nodiscard]] int attempts() const { return attempts_; }

 private:
  friend struct Puppet;
  struct Visit {
    Attempt& attempt;
    Process& process;
    int run = 0;
  };

  // --- play.cpp: the attempts.
  Result<int> attempt(Attempt& attempt, Process& process);
  void begin(Visit& visit);
  void suffer(Visit& visit, const Trouble& trouble);
  void do_item(Visit& visit, const Item& item, const std::vector<Trouble>& troubles);
  void do_label(Visit& visit, int label);
  void do_wait(Visit& visit, const Item& item);
  void note(Visit& visit, const Item& item, int place);
  void contend(Visit& visit);
  int haunt(Attempt& attempt);
  std::vector<Trouble> troubles_at(int item);
  [[noreturn]] void fail(Visit& visit, int type, int critical);

  // --- outside.cpp: effects and what undoes them.
  void do_effect(Visit& visit, int effect, const std::vector<Trouble>& troubles);
  int carry_out(Visit& visit, int effect, const EffectCall& call,
                const std::vector<Trouble>& troubles);
  Reconciled answer(Process& process, int effect, const EffectCall& call);
  void undo(Process& process, int effect, const EffectCall& call);
  Reconciled settle(Process& process, int effect, const EffectCall& call);
  int run_of(const Process& process) const;

  // --- operate.cpp: the operators.
  void make(Process& process);
  AgentOptions options(Process& process);
  void operate(const Action& action);
  void resume_due(Process& process);
  void fork(const Action& action, Process& process);
  void decide(const Action& action, Process& process);
  void erase(const Action& action, Process& process);
  void send(const Action& action, Process& process);
  void begin_call(Process& process, int run);
  void end_call(Process& process, int run, const Result<int>& result);
  void bury(Process& process);
  void look(Process& process, int run);
  RunOptions run_options(Process& process) const;

  [[nodiscard]] RunModel& model(Process& process, int run);
  [[nodiscard]] int now() const;
  [[nodiscard]] bool is_over() const { return !findings_.text.empty() || findings_.undecided; }
  void say(const std::string& text) { findings_.say(text); }

  const Program program_;
  Findings findings_{};
  Ledger ledger_{};
  std::shared_ptr<testing::SimulatedClock> clock_ = std::make_shared<testing::SimulatedClock>();
  std::shared_ptr<CheckpointStore> shared_{};
  std::string folder_{};
  std::array<Process, 2> processes_{};
  std::vector<RunModel> runs_{};
  std::optional<RunModel> before_call_{};  // The run of the current call.
  std::map<std::string, int> run_numbers_{};
  std::vector<std::vector<std::string>> tokens_{};  // Of each run, oldest first.
  std::vector<bool> token_is_current_{};
  std::vector<int> visits_{};
  int undo_calls_ = 0;
  int counter_ = 0;  // Makes every step and value unique.
  int attempts_ = 0;
  int depth_ = 0;
};

}  // namespace triage::campaign
