// SPDX-License-Identifier: MIT
#include "triage/detail/checkpoint_line.hpp"

#include <algorithm>
#include <utility>

namespace triage::inline v0_1::detail {

std::optional<std::size_t> CheckpointLine::find(Sequence seq) const {
  const auto at = std::lower_bound(
      positions_.begin(), positions_.end(), seq,
      [](const Position& position, Sequence wanted) { return position.seq < wanted; });
  if (at == positions_.end() || at->seq != seq) return std::nullopt;
  return static_cast<std::size_t>(at - positions_.begin());
}

std::optional<std::size_t> CheckpointLine::find_label(std::string_view label) const {
  const auto found = labels_.find(label);
  return found == labels_.end() ? std::nullopt : find(found->second.back());
}

std::string CheckpointLine::label_of(Sequence seq) const {
  const auto found = label_at_.find(seq);
  return found == label_at_.end() ? std::string() : found->second;
}

bool CheckpointLine::left_behind(Sequence intent, Sequence undone, std::int32_t newest) const {
  for (std::int32_t i = newest; i >= 0; i = cuts_[static_cast<std::size_t>(i)].before) {
    const Cut& cut = cuts_[static_cast<std::size_t>(i)];
    if (cut.to < intent && undone <= cut.at) return true;
  }
  return false;
}

void CheckpointLine::touch(Sequence seq, WallTime time) noexcept {
  open_ = true;
  open_time_ = time;
  open_last_ = seq;
}

void CheckpointLine::push(Position place) {
  base_ = open_last_;
  open_ = false;
  if (open_last_ < known_from_) return;
  place.seq = open_last_;
  place.time = open_time_;
  place.previous = branch_.empty() ? -1 : static_cast<std::int32_t>(branch_.back());
  place.cut = cut_;
  positions_.push_back(std::move(place));
  branch_.push_back(static_cast<std::uint32_t>(positions_.size() - 1));
}

void CheckpointLine::push_begin(Position place) {
  push(std::move(place));
  begin_ = positions_.size() - 1;
}

void CheckpointLine::label(std::string label) {
  std::vector<Sequence>& all = labels_[label];
  if (!all.empty()) label_at_.erase(all.back());
  all.push_back(base_);
  label_at_[base_] = std::move(label);
}

void CheckpointLine::withdraw_label(const std::string& label) {
  const auto found = labels_.find(label);
  if (found == labels_.end()) return;
  label_at_.erase(found->second.back());
  found->second.pop_back();
  if (found->second.empty()) {
    labels_.erase(found);
  } else {
    label_at_[found->second.back()] = label;
  }
}

void CheckpointLine::mark_failed(std::size_t critical_step) {
  for (std::size_t i = attempt_first_; i < positions_.size(); ++i) {
    if (positions_[i].steps > critical_step) positions_[i].failed = true;
  }
}

void CheckpointLine::return_to(std::size_t position, Sequence at) {
  // Mostly it is on the branch, which ascends: a run that sleeps often returns to its end each
  // time.
  const auto index = static_cast<std::uint32_t>(position);
  const auto on_branch = std::lower_bound(branch_.begin(), branch_.end(), index);
  if (on_branch != branch_.end() && *on_branch == index) {
    branch_.erase(on_branch + 1, branch_.end());
  } else {
    branch_.clear();
    for (auto i = static_cast<std::int32_t>(position); i >= 0;
         i = positions_[static_cast<std::size_t>(i)].previous) {
      branch_.push_back(static_cast<std::uint32_t>(i));
    }
    std::reverse(branch_.begin(), branch_.end());
  }
  base_ = positions_[position].seq;
  open_ = false;
  cut_back(base_, at, positions_[position].cut);
}

void CheckpointLine::return_to_begin(Sequence at) {
  open_ = false;
  base_ = begin_ ? positions_[*begin_].seq : 0;
  cut_back(base_, at, begin_ ? positions_[*begin_].cut : -1);
}

void CheckpointLine::cut_back(Sequence to, Sequence at, std::int32_t before) {
  cuts_.push_back({to, at, before});
  cut_ = static_cast<std::int32_t>(cuts_.size()) - 1;
}

}  // namespace triage::inline v0_1::detail
