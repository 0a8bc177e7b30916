// SPDX-License-Identifier: MIT
#include "name_learner.hpp"

namespace triage::training {

void NameLearner::read(std::string_view text, std::size_t origin) {
  for (const detail::WordsPair pair : detail::word_pairs_of(text)) {
    Met& met = met_.try_emplace(pair, Met{.origin = origin}).first->second;
    met.several = met.several || met.origin != origin;
  }
  for (const detail::WordsPair pair : detail::name_pairs_of(text)) met_.at(pair).in_name = true;
}

void NameLearner::read(const Failure& failure, std::size_t origin) {
  read(failure.text, origin);
  for (const Cause& cause : failure.causes) read(cause.text, origin);
}

void NameLearner::teach(std::string& filter) const {
  if (filter.empty()) return;
  for (const auto& [pair, met] : met_) {
    if (met.several && met.in_name) detail::KnownNames::add(pair, filter);
  }
}

}  // namespace triage::training
