// SPDX-License-Identifier: MIT
#pragma once
// Messages of HTTP/1.1, as far as a proxy needs them.

#include "lab/http/http_io.hpp"
#include "triage/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace triage::inline v0_1::lab::detail {

// What ends the headers.
inline constexpr std::string_view head_end = "\r\n\r\n";

struct HttpMessage {
  std::string first_line{};
  std::string headers{};  // Each line with its \r\n.
  std::string body{};     // Chunks are joined.

  // The value of a header; names are case-insensitive.
  [[nodiscard]] std::optional<std::string> header(std::string_view name) const;
  void set_header(std::string_view name, std::string_view value);
  void remove_header(std::string_view name);
  [[nodiscard]] std::string bytes() const;
};

enum class HttpKind : std::uint8_t {
  request,
  answer,       // Without a length, the body ends with the connection.
  bare_answer,  // To HEAD: no body, whatever the length says.
};

// Reads one complete message. Skips interim answers (1xx). For a chunked body, its length becomes a
// header and trailers are dropped. Errors: those of receive(); Errc::io if it ends early,
// Errc::invalid_argument if it is malformed, Errc::exhausted if it is too large.
[[nodiscard]] Result<HttpMessage> read_message(const Socket& socket, const Patience& patience,
                                               HttpKind kind);

}  // namespace triage::inline v0_1::lab::detail
