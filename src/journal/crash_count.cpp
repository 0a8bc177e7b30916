// SPDX-License-Identifier: MIT
#include "triage/detail/crash_count.hpp"

#include <functional>
#include <string>
#include <utility>

namespace triage::inline v0_1::detail {
namespace {

// A process that keeps dying before it has recorded more than this makes no progress.
constexpr std::size_t longest_life = 1'024;

// What a step does, without its result: outputs may differ although nothing else does.
std::string deed(const Step& step) {
  return step.action + '\0' + step.tool_called.value_or(std::string()) + '\0' +
         show(step.tool_input);
}

}  // namespace

void CrashCount::note_resumed(bool died) {
  if (died) {
    ++crashes_;
    if (!life_.empty()) life_before_ = std::exchange(life_, {});
  } else {
    crashes_ = 0;
    life_.clear();
    life_before_.clear();
  }
  resumed_after_death_ = died;
}

// A process that only repeats what its predecessor recorded will probably die in the same way.
void CrashCount::note(std::string_view change) {
  if (life_.size() >= longest_life) return;
  const std::size_t at = life_.size();
  life_.push_back(std::hash<std::string_view>()(change));
  if (life_before_.empty()) return;
  if (at >= life_before_.size() || life_before_[at] != life_[at]) crashes_ = 0;
}

void CrashCount::note(const Step& step) {
  if (life_.size() < longest_life) note(std::string_view(deed(step)));
}

void CrashCount::note(const Record& step) {
  if (life_.size() >= longest_life) return;
  if (const auto decoded = step.step()) note(decoded.value());
}

}  // namespace triage::inline v0_1::detail
