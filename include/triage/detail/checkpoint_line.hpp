// SPDX-License-Identifier: MIT
#pragma once
// A journal's part about checkpoints: the positions of a run, which of them lie on its current
// branch, and every way back that it took.

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
  // A place that can be restored.
  struct Position {
    Sequence seq = 0;  // Of the last record that belongs to it.
    std::uint32_t state_version = 0;
    std::uint32_t attempt = 0;
    std::size_t steps = 0;
    std::shared_ptr<StepChunk> tail{};
    bool failed = false;  // It contains the step that carries a failure.
    WallTime time{};
    std::int32_t previous = -1;    // Index of the one before it on its branch; -1: none.
    std::int32_t cut = -1;         // Which way back led to what it continues; -1: none.
    std::uint32_t delta_cost = 0;  // Rough bytes of the state changes since the last snapshot.
  };

  // --- Reading.
  // All that ended, oldest first, abandoned branches included.
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
  // What is between an effect's `intent` and its undoing claims it, by whatever way the run came
  // there: every attempt is given the recorded result. True if a way back, from the `newest` one
  // on, led to before the intent since.
  [[nodiscard]] bool left_behind(Sequence intent, Sequence undone, std::int32_t newest) const;
  // The newest way back on the way to the current state; -1: none.
  [[nodiscard]] std::int32_t newest_cut() const noexcept { return cut_; }

  // --- Recording.
  // The record `seq` belongs to the open checkpoint.
  void touch(Sequence seq, WallTime time) noexcept;
  // Ends it, as a position that holds what `place` says of state, attempt and steps; as none where
  // the state is not known.
  void push(Position place);
  // The state is not known before this record: changes were taken together.
  void forget_until(Sequence seq) noexcept { known_from_ = seq; }
  // As the first position of a branch.
  void push_begin(Position place);
  void label(std::string label);  // The position that was pushed last.
  // The store could not keep it: the one before counts again.
  void withdraw_label(const std::string& label);
  void begin_attempt() noexcept { attempt_first_ = positions_.size(); }
  // Those of this attempt with more steps contain the one that carries the failure.
  void mark_failed(std::size_t critical_step);
  void mark_used(Sequence target) { used_targets_.insert(target); }
  // The run goes back to a position, or to where it began, at the record `at`.
  void return_to(std::size_t position, Sequence at);
  void return_to_begin(Sequence at);
  // It goes back to a position that nobody knows.
  void cut_back(Sequence to, Sequence at) { cut_back(to, at, cut_); }

 private:
  // A way back: the records behind `to`, up to `at`, are no part of what came after it.
  struct Cut {
    Sequence to = 0;
    Sequence at = 0;
    std::int32_t before = -1;  // Index of the one that `to` itself came behind; -1: none.
  };
  void cut_back(Sequence to, Sequence at, std::int32_t before);

  std::vector<Position> positions_{};
  std::vector<std::uint32_t> branch_{};
  std::map<std::string, std::vector<Sequence>, std::less<>> labels_{};  // The newest one counts.
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
