// SPDX-License-Identifier: MIT
#pragma once
// A fault-injecting proxy on the loopback interface: chaos for programs in any language.

#include "triage/lab/chaos.hpp"
#include "triage/result.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace triage::inline v0_1::lab {

struct HttpProxyOptions {
  // "http://HOST:PORT": all requests go there, and programs use url() as their base. Empty: a
  // forward proxy for programs that honour HTTP_PROXY; https passes through unread.
  std::string upstream{};
  // Of either side's silence. Above 0. As clients of language models wait: an answer may be thought
  // about for minutes before its first byte.
  Duration timeout = std::chrono::seconds(600);
};

// Speaks HTTP/1.1 to both sides, with a connection per request. A site is the host, its tool
// "METHOD /path" without the query. The faults:
//   fails          an error status and text: 429 or 503, 504, 401, 402, …
//   throws         the connection is reset
//   latency, hang  the request is forwarded later; or not until the client gives up
//   partial_value  the answer is truncated
//   wrong_value    the name in the answer's first tool call is replaced: by FaultRule::value, or
//                  with "_v2" appended; other answers are unchanged
//   stale_value    this place's previous answer
//   duplicate      the request is forwarded twice, and the second answer is returned
//   kill           ChaosOptions::kill, and the connection is reset
// Requests and answers are read completely before they are passed on: at most 64 MB, and streams
// arrive when they end. A larger request gets a 413, a malformed one a 400; an answer that breaks
// off or is too large becomes a 502, and one that does not come a 504. For https, only fails,
// throws, latency, hang and kill are possible, when connecting.
class HttpProxy {
 public:
  // Listens on a free port of 127.0.0.1. Errors: Errc::invalid_argument (upstream), Errc::io.
  [[nodiscard]] static Result<std::unique_ptr<HttpProxy>> start(Chaos chaos,
                                                                HttpProxyOptions options = {});
  ~HttpProxy();  // Ends all connections.
  HttpProxy(const HttpProxy&) = delete;
  HttpProxy& operator=(const HttpProxy&) = delete;

  [[nodiscard]] std::string url() const;  // "http://127.0.0.1:PORT"
  [[nodiscard]] std::uint64_t requests() const noexcept;
  // Not among them: malformed or too large.
  [[nodiscard]] std::uint64_t refused() const noexcept;
  // Faults of values that are noted but found nothing to change.
  [[nodiscard]] std::uint64_t unchanged() const noexcept;

 private:
  struct Parts;
  explicit HttpProxy(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace triage::inline v0_1::lab
