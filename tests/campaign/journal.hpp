// SPDX-License-Identifier: MIT
#pragma once
// A run's journal according to the documents: facts in order, and what follows from them. Written
// from the documents alone, to compare the library with.

#include "program.hpp"

#include <array>
#include <cstdint>
#include <vector>

namespace triage::campaign {

// The keys of the agent's state, and -1 where a key is missing.
enum class Key : std::uint8_t { pos, n, k0, k1, did0, did1, did2, did3, edit };
inline constexpr std::array<const char*, 9> key_names{"pos",  "n",    "k0",   "k1",  "did0",
                                                      "did1", "did2", "did3", "edit"};
struct Values {
  std::array<int, key_names.size()> all{-1, -1, -1, -1, -1, -1, -1, -1, -1};
  [[nodiscard]] int operator[](Key key) const { return all[static_cast<std::size_t>(key)]; }
  int& operator[](Key key) { return all[static_cast<std::size_t>(key)]; }
  friend bool operator==(const Values&, const Values&) = default;
};

// A trajectory: the number of steps and a hash of them.
struct Steps {
  int count = 0;
  std::uint64_t hash = 1;
  void add(int step) {
    ++count;
    constexpr std::uint64_t prime = 0x100000001B3;  // Source: FNV-1a, G. Fowler et al.
    hash = (hash ^ static_cast<std::uint64_t>(step)) * prime;
  }
  friend bool operator==(const Steps&, const Steps&) = default;
};

enum class Status : std::uint8_t {
  absent,
  running,
  finished,
  escalated,
  aborted,
  cancelled,
  suspended,
};

// Why a run is suspended, and what happens when its time comes.
struct Waiting {
  enum class Cause : std::uint8_t { policy, backoff, nap, signal };
  Cause cause = Cause::policy;
  int until = 0;    // Seconds since the clock's start; 0: never.
  int signal = -1;  // Which one, of Cause::signal.
};

struct Fact {
  enum class Kind : std::uint8_t {
    started,
    forked,     // v, steps: the branch point.
    inherited,  // a: effect, b: done or in doubt, c: its result, steps: its generation.
    attempt,    // a: its number; 0: the next one.
    step,       // a: its id.
    change,     // v: the keys that are set.
    forget,     // a: key.
    label,      // a: which.
    intent,     // a: effect, b: 1 if it repeats what its origin may have done.
    done,       // a: effect, b: result.
    withdrawn,
    failure,     // a: type, b: index of the step that carries it, or -1. c: 1 if it is not counted.
    start_over,  // RETRY and REPLAN. a: 1 + type, if it is a replan.
    undoing,  // Later effects are undone. a: index of a position, or -1: the start. b: final status
              // of the run, or 0: it continues from there. c: chosen by default.
    undo_intent,
    undone,
    undo_given_up,
    rewound,  // a: index of a position, or -1: the start. b: chosen by default.
    waiting,  // waiting: why.
    going_on,
    signal,  // a: which, b: its value, or -1: its deadline passed.
    ended,   // a: status, b: result. c: 1 if because of a doubt, 2 if it still owes an undoing.
  };
  Kind kind = Kind::started;
  int a = 0;
  int b = 0;
  int c = 0;
  Values v{};
  Steps steps{};
  Waiting waiting{};
};

struct Position {
  int at = 0;  // The number of facts up to it.
  int label = -1;
  int previous = -1;
  bool failed = false;
  bool used = false;
  Values state{};
  Steps steps{};
};

struct Effect {
  enum class Status : std::uint8_t { free, doubt, done, undo_doubt };
  Status status = Status::free;
  int generation = 1;
  int first_intended = 0;
  int result = 0;
  bool inherited = false;
};

// Facts, and the state that follows from them.
class Facts {
 public:
  explicit Facts(bool auto_checkpoint = true) : automatic_(auto_checkpoint) {}

  void add(const Fact& fact);
  // Drops all but the first `count` facts.
  void cut(int count);
  [[nodiscard]] int size() const { return static_cast<int>(facts_.size()); }
  // Removes the newest failure from all limits and rules if it is followed only by answers about
  // effects. False if there is none.
  bool forget_unanswered();
  // Removes the newest fact if it is an answer about this effect.
  void forget_answer(int effect);
  // Adds the answer about a doubt that was settled for an undo. All doubts are settled before the
  // undo is journaled, so the answer precedes that fact if it is the newest one and not among the
  // first `durable` facts. Returns the new number of durable facts.
  int settle(const Fact& answer, int durable);
  // Equal for equal facts.
  [[nodiscard]] std::uint64_t fingerprint() const { return fingerprint_; }

  // An effect was undone although the position contains it.
  [[nodiscard]] bool is_tainted(const Position& position) const;
  // Whether a default rollback led there, or to an older position after as many steps.
  [[nodiscard]] bool has_been_tried(const Position& position) const;
  // Where a run continues whose effects were undone: index of a position; -1: the start; -2: its
  // current position.
  [[nodiscard]] int before_undone() const;
  // Index of the newest position with the label; -1: none.
  [[nodiscard]] int find_label(int label) const;
  // All positions, and the newest one if it has not ended yet.
  [[nodiscard]] std::vector<Position> with_open() const;
  [[nodiscard]] int at_of(int position) const {
    return position < 0 ? 0 : positions[static_cast<std::size_t>(position)].at;
  }

  Status status = Status::absent;
  bool by_doubt = false;  // It was escalated because of a doubt.
  int result = 0;
  Values state{};
  Steps steps{};
  std::vector<Position> positions{};
  std::vector<int> branch{};
  std::array<Effect, effect_count> effects{};
  std::array<int, type_count> failures{};
  std::array<int, type_count> replans{};
  int all_failures = 0;
  int attempts = 0;
  int not_begun = 0;  // Continuations since the last attempt began. Each may count as an attempt.
  Waiting waiting{};
  int suspension = 0;  // Number of facts at the current or newest one.
  bool is_undoing = false;
  int undo_target = -1;
  int undo_status = 0;
  bool undo_by_default = false;
  bool is_branch = false;
  std::array<int, signal_count> answers{-2, -2};  // -2: not requested; -1: none in time.

 private:
  struct Undone {
    int effect = 0;
    int intended = 0;
    int at = 0;  // When it was undone, or may have been.
    bool still_contained = true;
    bool in_doubt = true;
  };

  void close();
  void push(int at, int label);
  void begin_again();
  void rewind(const Fact& fact);
  void note_failure(const Fact& fact);
  void apply_effect(const Fact& fact);
  void apply_course(const Fact& fact);

  std::uint64_t fingerprint_ = 1;
  std::vector<Fact> facts_{};
  bool automatic_ = true;
  bool open_ = false;
  int open_last_ = 0;
  std::size_t first_of_attempt_ = 0;
  Values start_state_{};
  Steps start_steps_{};
  std::vector<Undone> undone_{};
};

}  // namespace triage::campaign
