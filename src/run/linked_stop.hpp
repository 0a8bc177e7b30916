// SPDX-License-Identifier: MIT
#pragma once
// Combines two stop tokens.

#include <stop_token>

namespace triage::inline v0_1::detail {

// Stops when either of two tokens does: the run's own or its parent's.
class LinkedStop {
 public:
  LinkedStop(const std::stop_token& a, const std::stop_token& b)
      : a_(a, Forward{&both_}), b_(b, Forward{&both_}) {}
  [[nodiscard]] const std::stop_token& token() const noexcept { return token_; }

 private:
  struct Forward {
    std::stop_source* to;
    void operator()() const noexcept { to->request_stop(); }
  };
  std::stop_source both_{};
  std::stop_token token_ = both_.get_token();
  std::stop_callback<Forward> a_;
  std::stop_callback<Forward> b_;
};

}  // namespace triage::inline v0_1::detail
