// SPDX-License-Identifier: MIT
#include "run/rollback_target.hpp"

#include "triage/detail/counted.hpp"

#include <algorithm>
#include <set>

namespace triage::inline v0_1::detail {
namespace {

// True if a default rollback led here, or to an older checkpoint with as many steps: replaying from
// there would only repeat the failure.
bool has_been_tried(const Journal& journal, const Journal::Position& candidate) {
  const std::set<Sequence>& used = journal.rolled_back_to();
  return std::any_of(used.begin(), used.upper_bound(candidate.seq), [&](Sequence target) {
    const auto position = journal.find(target);
    return position && journal.positions()[*position].steps == candidate.steps;
  });
}

}  // namespace

static std::optional<std::size_t> find_any(const Journal& journal, const RunId& run,
                                           const RollbackTarget& target, std::string* problem) {
  const auto& branch = journal.branch();
  const auto& positions = journal.positions();
  switch (target.kind) {
    case RollbackTarget::Kind::label: {
      auto found = journal.find_label(target.name);
      if (!found) *problem = "no checkpoint is labelled \"" + printable(target.name) + "\"";
      return found;
    }
    case RollbackTarget::Kind::checkpoint: {
      const auto id = parse_checkpoint_id(target.name);
      std::optional<std::size_t> found;
      if (id && id.value().run == run) {
        found = journal.find(id.value().sequence);
      }
      if (!found) *problem = "this run has no checkpoint \"" + printable(target.name) + "\"";
      return found;
    }
    case RollbackTarget::Kind::latest:
    case RollbackTarget::Kind::back: {
      const auto back = target.kind == RollbackTarget::Kind::latest
                            ? std::size_t{0}
                            : static_cast<std::size_t>(std::max(target.back, 0));
      if (back < branch.size()) return branch[branch.size() - 1 - back];
      *problem = branch.empty() ? "there is no checkpoint"
                                : "this run has only " + counted(branch.size(), "checkpoint");
      return std::nullopt;
    }
    case RollbackTarget::Kind::last_good: break;
  }
  for (std::size_t i = branch.size(); i-- > 0;) {
    if (!positions[branch[i]].failed && !has_been_tried(journal, positions[branch[i]]) &&
        !journal.claims_undone(branch[i])) {
      return branch[i];
    }
  }
  *problem = branch.empty() ? "there is no checkpoint"
                            : "no good checkpoint is left that has not been tried";
  return std::nullopt;
}

std::optional<std::size_t> find_position(const Journal& journal, const RunId& run,
                                         const RollbackTarget& target, std::string* problem) {
  const auto found = find_any(journal, run, target, problem);
  // A state that relies on an undone effect cannot be restored, whoever chose it.
  if (!found || !journal.claims_undone(*found)) return found;
  *problem = "checkpoint " + to_string(journal.info(*found).id) +
             " is behind an effect that has been undone since";
  return std::nullopt;
}

}  // namespace triage::inline v0_1::detail
