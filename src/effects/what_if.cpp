// SPDX-License-Identifier: MIT
// Branches without new effects: effects that are not recorded are refused.
#include "effects/effects.hpp"

#include "run/run.hpp"

#include <mutex>

namespace triage::inline v0_1::detail {

// A nested run belongs to the branch that started it.
bool Run::refuses_effects() const {
  {
    const Lock lock(mutex_);
    if (data_ && data_->journal.start().contains("refuses_effects")) return true;
  }
  return options_.parent != nullptr && options_.parent->run_->refuses_effects();
}

std::optional<Error> Effects::refused(std::string_view key, const EffectState& next) {
  if (!run_.refuses_effects()) return std::nullopt;
  // An effect in doubt stays in doubt: it may have happened. So does one whose result was lost.
  const EffectState::Status known = status_of(key);
  if (known != EffectState::Status::intended && known != EffectState::Status::completed) {
    record(RecordKind::effect_withdrawn, key, next, Json{{"cause", refused_cause}});
  }
  return Error{Errc::conflict, effect_name(key) +
                                   " would be new, and this branch carries out no new effects "
                                   "(ForkOptions::refuse_new_effects); give it an answer"};
}

}  // namespace triage::inline v0_1::detail
