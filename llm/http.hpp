// SPDX-License-Identifier: MIT
#pragma once
// One HTTP request over libcurl. Private.

#include "triage/clock.hpp"
#include "triage/result.hpp"

#include <array>
#include <cstddef>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace triage::inline v0_1::detail {

struct HttpPost {
  std::string url{};
  std::vector<std::string> headers{};  // "Name: value".
  std::string body{};
  Duration timeout{0};  // Above 0; of all of it.
  std::size_t max_response_bytes = 0;
  std::array<std::stop_token, 2> stops{};
};

struct HttpAnswer {
  int status = 0;  // 0: none came.
  std::string body{};
  std::string problem{};      // In our own words; empty if the whole answer came.
  bool maybe_served = false;  // The request may have reached the other side.
};

// Errors: Errc::io. Safe to call from several threads.
[[nodiscard]] Result<void> init_http();
// True for localhost, 127.x.x.x and ::1.
[[nodiscard]] bool is_this_machine(std::string_view url);
// Follows no redirects, speaks http and https only, and uses no proxy for this machine.
[[nodiscard]] HttpAnswer post(const HttpPost& request);

}  // namespace triage::inline v0_1::detail
