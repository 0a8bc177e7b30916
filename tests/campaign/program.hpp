// SPDX-License-Identifier: MIT
#pragma once
// A random program: what an agent does, which problems occur, and what operators do between its
// runs. A value, so that a program that shows a difference can be shortened and tried again.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace triage::campaign {

inline constexpr int effect_count = 4;
inline constexpr int label_count = 2;
inline constexpr int signal_count = 2;
inline constexpr int type_count = 4;

// One item of the agent's plan. The state holds the position in the plan, so that an attempt
// continues where its state says.
struct Item {
  enum class Kind : std::uint8_t { step, change, forget, label, effect, nap, wait };
  Kind kind = Kind::step;
  int n = 0;         // Number of the label, effect, signal or key.
  int seconds = 0;   // nap, wait: until then, in seconds since the clock's start.
  bool kept = true;  // The state afterwards says that this is done.
};

// How an effect is requested; the same every time.
struct EffectPlan {
  enum class Semantics : std::uint8_t { at_most_once, at_least_once, idempotent };
  enum class Reconcile : std::uint8_t { none, truthful, unknown };
  Semantics semantics = Semantics::at_most_once;
  Reconcile reconcile = Reconcile::none;
  bool compensated = false;
  bool settled = false;  // A cut-off compensation can be queried.
};

// A problem at the n-th visit to an item, over all attempts and runs.
struct Trouble {
  enum class Kind : std::uint8_t {
    fail,          // The attempt reports a failure.
    throws,        // The same as an exception.
    fail_late,     // The same after a step that carries the failure.
    die,           // The process dies.
    cancel,        // The stop token is triggered.
    contend,       // Another process tries to take the run.
    take_over,     // The lease goes to another process, which meanwhile finishes the run.
    slow,          // Time passes.
    not_done,      // Effects: nothing happened, and the function says so.
    throw_before,  // Nothing happened, but that is unknown.
    throw_after,   // It happened, but that is unknown.
    die_before,
    die_after,
    store_before,  // The n-th store operation from here fails before it takes effect.
    store_after,   // The same, after it takes effect.
    store_breaks,  // Every operation fails until an operator repairs it.
  };
  Kind kind = Kind::fail;
  int item = 0;  // Index into the plan; its size: before the attempt returns.
  int visit = 1;
  int n = 0;  // Type of the failure, seconds that pass, or store operations.
};

// A problem in the n-th call of any compensation.
struct UndoTrouble {
  enum class Kind : std::uint8_t { not_done, throw_before, throw_after, die_before, die_after };
  Kind kind = Kind::not_done;
  int call = 1;
};

struct Rule {
  enum class Kind : std::uint8_t {
    retry,
    replan,
    rollback,
    resume,
    escalate,
    suspend,
    abort,
    fallback,
    sequence,
  };
  enum class Target : std::uint8_t { last_good, latest, label, back };
  Kind kind = Kind::escalate;
  int most = 2;   // retry: attempts; replan: replans.
  int delay = 0;  // retry: seconds.
  Target target = Target::last_good;
  int n = 0;  // Which label; how far back.
  bool or_start = false;
  int until = 0;  // suspend: seconds since the clock's start; 0: never.
  std::vector<Rule> members{};
};

struct Action {
  enum class Kind : std::uint8_t {
    run,
    run_or_resume,
    resume_run,
    decide,
    resume_due,
    signal,
    fork,
    erase,
    kill,
    mend_store,
  };
  Kind kind = Kind::run;
  int run = 0;      // fork: the origin.
  int process = 0;  // The process that does it, of two.
  int n = 0;        // decide: which action; fork: which checkpoint; resume_run: 1 + label; signal.
  int seconds = 0;  // resume_due: time that passes before. signal: the value. fork: an edit.
  bool revive = false;
  bool old_token = false;  // decide: with a token that is used or superseded.
};

struct Program {
  std::uint64_t seed = 0;
  bool sqlite = false;
  bool immediate = false;
  bool fails_with_store = false;  // OnStoreError::fail
  bool auto_checkpoint = true;
  int max_attempts = 20;
  int max_per_type = 10;
  bool per_run_limits = false;  // The two above are given to the run, not to the agent.
  int max_wait = 10;
  int deadline = 0;  // Seconds since the clock's start; 0: none.
  std::array<Rule, type_count> rules{};
  std::array<EffectPlan, effect_count> effects{};
  std::vector<Item> plan{};
  std::vector<Trouble> troubles{};
  std::vector<UndoTrouble> undo_troubles{};
  std::vector<Action> actions{};
};

[[nodiscard]] Program make_program(std::uint64_t seed, bool sqlite);
// For people: the whole program, one item per line.
[[nodiscard]] std::string to_text(const Program& program);
[[nodiscard]] std::string to_text(const Action& action);
[[nodiscard]] bool is_store_trouble(Trouble::Kind kind) noexcept;

}  // namespace triage::campaign
