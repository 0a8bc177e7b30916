// SPDX-License-Identifier: MIT
#pragma once
// A web site on a loopback port that fails in seeded ways, and remembers what it sent.

#include "pages.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace site {

enum class Fault : std::uint8_t {
  none,
  overloaded,    // 503 to everything for a while.
  rate_limited,  // 429 with Retry-After to everything for a while.
  reset,         // The connection is closed in the middle of the body.
  truncated,     // A JSON answer that ends too early; for a page: like reset.
  renamed,       // One tool has another name from now on.
};
std::string_view to_string(Fault fault) noexcept;

struct PlannedFault {
  Fault fault = Fault::none;
  std::chrono::milliseconds lasts{0};
};

// What happens to the n-th request (from 1 on) under this seed. A pure function. rate: share of
// requests that a fault begins with, 0 to 1. Seed 0 has no faults.
PlannedFault planned_fault(std::uint64_t seed, long request, double rate);

// The server. Requests to /tools count; those to /_log and /_oracle do not.
//   GET  /tools        {"tools": [{"name": "fetch", "description": …}, …]}
//   POST /tools/NAME   calls a tool: fetch gives the page, the others a JSON object
//   GET  /_log         {"requests": N, "pages": {PATH: how many times its whole body was sent}}
//   GET  /_oracle      {"next": N, "tools": […], "faults": [{"request", "kind", "milliseconds"}]}
// Thread-safety: all members may be called from several threads at once.
class FaultySite {
 public:
  static constexpr double usual_rate = 0.05;

  // Listens when it returns. port 0: a free one. Throws std::runtime_error.
  FaultySite(Pages pages, std::uint64_t seed, double rate = usual_rate, int port = 0);
  ~FaultySite();
  FaultySite(const FaultySite&) = delete;
  FaultySite& operator=(const FaultySite&) = delete;

  [[nodiscard]] std::string url() const;  // "http://127.0.0.1:PORT"
  // How many times each page's whole body was sent.
  [[nodiscard]] std::map<std::string, int> sent() const;
  [[nodiscard]] int total_sent() const;
  // Waits until that many whole bodies were sent; false if it took too long.
  bool wait_until_sent(int total, std::chrono::milliseconds longest) const;
  // Which faults began, by name.
  [[nodiscard]] std::map<std::string, int> faults() const;

 private:
  struct Server;
  std::unique_ptr<Server> server_;
};

}  // namespace site
