// SPDX-License-Identifier: MIT
#pragma once
// What the codes that were reported with a failure let its words say. Private.

#include "evidence/codes.hpp"

#include <array>
#include <cstddef>
#include <string_view>

namespace triage::inline v0_1::detail {

// Evidence first, words last: a text that says "busy" beside a 401 does not make it a fault that
// heals. Without codes the words are free.
class Authority {
 public:
  void add(const std::optional<CodeRule>& rule) noexcept {
    if (rule && size_ < rules_.size()) rules_[size_++] = *rule;
  }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

  // Whether words may say this type: every code lets them, or one of the codes says it itself.
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
