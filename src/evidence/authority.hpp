// SPDX-License-Identifier: MIT
#pragma once
// Which failure types the words may claim, given the reported codes. Private.

#include "evidence/codes.hpp"

#include <array>
#include <cstddef>
#include <string_view>

namespace triage::inline v0_1::detail {

// Codes outrank words: a text that says "busy" next to a 401 does not make it a transient fault.
// Without codes, words may claim any type.
class Authority {
 public:
  void add(const std::optional<CodeRule>& rule) noexcept {
    if (rule && size_ < rules_.size()) rules_[size_++] = *rule;
  }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

  // Whether words may claim this type: every code permits it, or one of the codes means it.
  // `reason_given(reason)` tells whether a known phrase of the failure gives that reason.
  template <class ReasonGiven>
  [[nodiscard]] bool allows(FailureType type, ReasonGiven reason_given) const {
    bool all = true;
    for (std::size_t i = 0; i < size_; ++i) {
      const CodeRule& rule = rules_[i];
      if (rule.meaning.type == type) return true;
      const bool conditional = type == FailureType::external_fault && !rule.fault_only_as.empty();
      all = all && rule.words.has(type) && (!conditional || reason_given(rule.fault_only_as));
    }
    return all || type == FailureType::unknown;
  }

 private:
  std::array<CodeRule, 4> rules_{};
  std::size_t size_ = 0;
};

}  // namespace triage::inline v0_1::detail
