// SPDX-License-Identifier: MIT
#pragma once
// Messages of HTTP/1.1, as far as a proxy needs them.

#include "http_io.hpp"
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
  std::string body{};     // What was sent in chunks has been put together.

  // The value of a header; names in any case.
  [[nodiscard]] std::optional<std::string> header(std::string_view name) const;
  void set_header(std::string_view name, std::string_view value);
  void remove_header(std::string_view name);
  [[nodiscard]] std::string bytes() const;
};

enum class HttpKind : std::uint8_t {
  request,
  answer,       // Without a length its body ends with the connection.
  bare_answer,  // To a HEAD: no body, whatever its length says.
};

// Reads one message, body and all. Passes over interim answers (1xx). Of a body in chunks, its
// length becomes a header and trailers are left out.
// Errors: Errc::io (it ended too early), Errc::invalid_argument (it is none, or too large).
[[nodiscard]] Result<HttpMessage> read_message(const Socket& socket, const Patience& patience,
                                               HttpKind kind);

}  // namespace triage::inline v0_1::lab::detail
