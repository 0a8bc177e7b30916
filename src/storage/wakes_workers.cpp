// SPDX-License-Identifier: MIT
#include "triage/wakes_workers.hpp"

#include "triage/clock.hpp"
#include "triage/detail/store_extension.hpp"

namespace triage::inline v0_1 {

void wait_for_work(CheckpointStore& store, std::chrono::milliseconds longest,
                   const std::stop_token& stop) {
  auto* const wakes = detail::nearest_extension<WakesWorkers>(store);
  if (wakes != nullptr && wakes->wait_for_work(longest, stop)) return;
  static_cast<void>(real_clock()->sleep_until(real_clock()->now() + longest, stop));
}

}  // namespace triage::inline v0_1
