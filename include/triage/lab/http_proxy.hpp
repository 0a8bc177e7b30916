// SPDX-License-Identifier: MIT
#pragma once
// A proxy on the loopback interface that meets faults: chaos for programs in any language.

#include "triage/lab/chaos.hpp"
#include "triage/result.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace triage::inline v0_1::lab {

struct HttpProxyOptions {
  // "http://HOST:PORT": every request goes there, and programs use url() as the base of theirs.
  // Empty: a forward proxy, for programs that honour HTTP_PROXY; https is passed through unread.
  std::string upstream{};
  Duration timeout = std::chrono::seconds(60);  // Of each side's silence. Above 0.
};

// Speaks HTTP/1.1 to both sides, with a connection for each request. A site is the host, its tool
// "METHOD /path" without the query. What faults do here:
//   fails          an answer with an error's status and text: 429 or 503, 504, 401, 402, …
//   throws         the connection is reset
//   latency, hang  the request is forwarded later; there is no answer until the client gives up
//   partial_value  the answer breaks off in the middle
//   wrong_value    the name of a tool that the answer calls is another one: FaultRule::value, or
//                  with "_v2" behind it; other answers stay as they are
//   stale_value    the answer that this place gave before
//   duplicate      the request is forwarded twice, and the second answer is given
//   kill           ChaosOptions::kill, and the connection is reset
// Answers are read whole before they are passed on: at most 64 MB, and streams arrive at their end.
// Of https, only fails, throws, latency, hang and kill can happen, when a connection is made.
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

 private:
  struct Parts;
  explicit HttpProxy(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace triage::inline v0_1::lab
