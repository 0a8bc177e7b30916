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
#include <utility>
#include <vector>

namespace triage::inline v0_1::detail {

struct HttpPost {
  std::string url{};
  std::vector<std::string> headers{};  // "Name: value".
  std::string body{};
  Duration timeout{0};  // Above 0; for the whole request.
  std::size_t max_response_bytes = 0;
  std::array<std::stop_token, 2> stops{};
};

struct HttpAnswer {
  int status = 0;  // 0: no response.
  std::string body{};
  // Those that say when to come back: Retry-After, and when a rate limit is reset.
  std::vector<std::pair<std::string, std::string>> headers{};
  std::string problem{};      // Our own wording; empty if the complete response arrived.
  bool maybe_served = false;  // The server may have received the request.
};

// Errors: Errc::io. Safe to call from several threads.
[[nodiscard]] Result<void> init_http();
// True for localhost, 127.x.x.x and ::1.
[[nodiscard]] bool is_this_machine(std::string_view url);
// Follows no redirects, speaks http and https only, and uses no proxy for this machine.
[[nodiscard]] HttpAnswer post(const HttpPost& request);

}  // namespace triage::inline v0_1::detail
