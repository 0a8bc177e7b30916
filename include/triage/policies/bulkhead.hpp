// SPDX-License-Identifier: MIT
#pragma once
// Limits the concurrent calls of one kind, so that one slow endpoint does not take all threads.

#include "triage/gate.hpp"

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace triage::inline v0_1 {

struct BulkheadOptions {
  int max_concurrent = 10;  // Per (tool, endpoint). 1 or more.
  Duration max_wait{0};     // For a place; 0: refuse at once if none is free. 0 or more.
  Duration poll = std::chrono::milliseconds(10);  // While waiting. 1 ms or more.
};

// Covers this process. A permit holds its place until it is reported or destroyed.
// Thread-safety: all members may be called from several threads at once.
class Bulkhead final : public Gate {
 public:
  // Errors: Errc::invalid_argument, naming the option, its value and what is allowed.
  [[nodiscard]] static Result<std::shared_ptr<Bulkhead>> create(BulkheadOptions options = {});

  [[nodiscard]] std::string_view name() const noexcept override { return "bulkhead"; }
  [[nodiscard]] bool needs_wall_time() const noexcept override { return false; }
  [[nodiscard]] GateAnswer enter(const GateRequest& request) noexcept override;
  void leave(const GateRequest& request, std::uint64_t ticket,
             const GateOutcome* outcome) noexcept override;

 private:
  explicit Bulkhead(BulkheadOptions options) : options_(options) {}

  BulkheadOptions options_;
  std::mutex mutex_{};
  std::map<std::string, int> running_{};
};

}  // namespace triage::inline v0_1
