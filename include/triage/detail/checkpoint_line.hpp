// SPDX-License-Identifier: MIT
#pragma once
// The checkpoint part of a journal: a run's positions, which of them are on its current branch, and
// every return to an earlier one.

#include "triage/clock.hpp"
#include "triage/record.hpp"
#include "triage/trajectory.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace triage::inline v0_1::detail {

// Thread-safety: none; its owner locks.
class CheckpointLine {
 public:
  // A restorable position.
  struct Position {
    Sequence seq = 0;  // Of the last record that belongs to it.
    std::uint32_t state_version = 0;
    std::uint32_t attempt = 0;
    std::size_t steps = 0;
    std::shared_ptr<StepChunk> tail{};
    bool failed = false;  // It contains the step to blame for a failure.
    WallTime time{};
    std::int32_t previous = -1;    // Index of the previous one on its branch; -1: none.
    std::int32_t cut = -1;         // The return that led to what it continues; -1: none.
    std::uint32_t delta_cost = 0;  // Rough bytes of the state changes since the last snapshot.
  };

  // --- Reading.
  // All ended checkpoints, oldest first, including abandoned branches.
  [[nodiscard]] const std::vector<Position>& positions() const noexcept { return positions_; }
  // Indexes of those on the current branch, oldest first.
  [[nodiscard]] const std::vector<std::uint32_t>& branch() const noexcept { return branch_; }
  [[nodiscard]] std::optional<std::size_t> find(Sequence seq) const;
  [[nodiscard]] std::optional<std::size_t> find_label(std::string_view label) const;
  [[nodiscard]] std::string label_of(Sequence seq) const;
  // Whether something was recorded since the last checkpoint ended, and when.
  [[nodiscard]] bool is_open() const noexcept { return open_; }
  [[nodiscard]] WallTime open_time() const noexcept { return open_time_; }
  // The newest position, even an open one; 0: the empty start.
  [[nodiscard]] Sequence newest() const noexcept { return open_ ? open_last_ : base_; }
  // The checkpoint that the current state continues; 0: the empty start.
  [[nodiscard]] Sequence base() const noexcept { return base_; }
  // The position that a branch of another run begins with.
  [[nodiscard]] std::optional<std::size_t> begin() const noexcept { return begin_; }
  // Targets that default rollbacks of this run have used.
  [[nodiscard]] const std::set<Sequence>& used_targets() const noexcept { return used_targets_; }
  // A state between an effect's `intent` and its undoing claims the effect, however the run got
  // there: every attempt is given the recorded result. True if, since it was undone, one of the
  // returns from `newest` back led to before the intent.
  [[nodiscard]] bool left_behind(Sequence intent, Sequence undone, std::int32_t newest) const;
  // The newest return that led to the current state; -1: none.
  [[nodiscard]] std::int32_t newest_cut() const noexcept { return cut_; }

  // --- Recording.
  // The record `seq` belongs to the open checkpoint.
  void touch(Sequence seq, WallTime time) noexcept;
  // Ends it as a position with the state, attempt and steps of `place`; not as a position if the
  // state is unknown.
  void push(Position place);
  // The state before this record is unknown, because changes were merged.
  void forget_until(Sequence seq) noexcept { known_from_ = seq; }
  // As the first position of a branch.
  void push_begin(Position place);
  void label(std::string label);  // Labels the newest position.
  // The store could not keep the label: the previous one with that name counts again.
  void withdraw_label(const std::string& label);
  void begin_attempt() noexcept { attempt_first_ = positions_.size(); }
  // Positions of this attempt with more steps contain the step to blame.
  void mark_failed(std::size_t critical_step);
  void mark_used(Sequence target) { used_targets_.insert(target); }
  // Record `at` returns the run to a position, or to its beginning.
  void return_to(std::size_t position, Sequence at);
  void return_to_begin(Sequence at);
  // It returns to an unknown position.
  void cut_back(Sequence to, Sequence at) { cut_back(to, at, cut_); }

 private:
  // A return: the records after `to`, up to `at`, do not belong to what follows.
  struct Cut {
    Sequence to = 0;
    Sequence at = 0;
    std::int32_t before = -1;  // Index of the return that led to `to`; -1: none.
  };
  void cut_back(Sequence to, Sequence at, std::int32_t before);

  std::vector<Position> positions_{};
  std::vector<std::uint32_t> branch_{};
  std::map<std::string, std::vector<Sequence>, std::less<>> labels_{};  // The newest one counts.
  std::map<Sequence, std::string> label_at_{};                          // Of those that count.
  bool open_ = false;
  WallTime open_time_{};
  Sequence open_last_ = 0;  // Last record of the open checkpoint.
  Sequence base_ = 0;
  Sequence known_from_ = 0;
  std::size_t attempt_first_ = 0;
  std::vector<Cut> cuts_{};
  std::int32_t cut_ = -1;
  std::optional<std::size_t> begin_{};
  std::set<Sequence> used_targets_{};
};

}  // namespace triage::inline v0_1::detail
