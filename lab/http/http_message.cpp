// SPDX-License-Identifier: MIT
#include "lab/http/http_message.hpp"

#include "triage/detail/try.hpp"
#include "triage/json.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace triage::inline v0_1::lab::detail {
namespace {

constexpr std::size_t largest_head = 64U << 10U;
constexpr std::size_t largest_body = 64U << 20U;

bool same_name(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return lower(x) == lower(y); });
}

// The line of a header in `headers`: begin and end, including its \r
// ; begin is npos if it is missing.
std::pair<std::size_t, std::size_t> find_header(const std::string& headers, std::string_view name) {
  for (std::size_t begin = 0; begin < headers.size();) {
    const std::size_t end = std::min(headers.find("\r\n", begin), headers.size() - 2) + 2;
    const std::string_view line(headers.data() + begin, end - begin);
    if (same_name(line.substr(0, line.find(':')), name)) return {begin, end};
    begin = end;
  }
  return {std::string::npos, 0};
}

Error too_early() { return {Errc::io, "the connection ended in the middle of a message"}; }

Error too_large(const char* what) {
  return {Errc::exhausted, std::string(what) + ", the most that the proxy takes"};
}
Error too_large_body() { return too_large("the body is larger than 64 MB"); }

// Appends bytes to `text` until it has `size`.
Result<void> fill(std::string& text, std::size_t size, const Socket& socket,
                  const Patience& patience) {
  while (text.size() < size) {
    TRIAGE_TRY(more, receive(socket, patience));
    if (more.empty()) return too_early();
    text += more;
  }
  return outcome::success();
}

// The length of the chunk that begins at `at`; `at` moves to its first byte.
Result<std::size_t> read_chunk_size(std::string& body, std::size_t& at, const Socket& socket,
                                    const Patience& patience) {
  std::size_t end = 0;
  while ((end = body.find("\r\n", at)) == std::string::npos) {
    if (body.size() - at > largest_head) {
      return Error{Errc::invalid_argument, "a chunk has no length"};
    }
    TRIAGE_TRYV(fill(body, body.size() + 1, socket, patience));
  }
  std::size_t size = 0;
  const auto [stop, wrong] = std::from_chars(body.data() + at, body.data() + end, size, 16);
  if (wrong == std::errc::result_out_of_range) return too_large_body();
  if (wrong != std::errc() || stop == body.data() + at) {
    return Error{Errc::invalid_argument, "a chunk has no length"};
  }
  at = end + 2;
  return outcome::success(size);
}

// Joins chunks into one body.
Result<void> read_chunked(std::string& body, const Socket& socket, const Patience& patience) {
  std::string whole;
  for (std::size_t at = 0;;) {
    TRIAGE_TRY(size, read_chunk_size(body, at, socket, patience));
    if (size > largest_body - whole.size()) return too_large_body();
    TRIAGE_TRYV(fill(body, at + size + 2, socket, patience));
    whole.append(body, at, size);
    at += size + 2;
    if (size == 0) {
      body = std::move(whole);
      return outcome::success();  // Nobody waits for trailers.
    }
  }
}

// Everything until the other side ends the connection.
Result<void> read_rest(std::string& body, const Socket& socket, const Patience& patience) {
  for (;;) {
    TRIAGE_TRY(more, receive(socket, patience));
    if (more.empty()) return outcome::success();
    body += more;
    if (body.size() > largest_body) return too_large_body();
  }
}

Result<HttpMessage> read_head(const Socket& socket, const Patience& patience, std::string& text) {
  std::size_t end = 0;
  while ((end = text.find(head_end)) == std::string::npos) {
    if (text.size() > largest_head) return too_large("the head is larger than 64 KB");
    TRIAGE_TRYV(fill(text, text.size() + 1, socket, patience));
  }
  const std::size_t line = text.find("\r\n");
  HttpMessage message{.first_line = text.substr(0, line),
                      .headers = text.substr(line + 2, end - line)};
  text.erase(0, end + head_end.size());
  if (message.first_line.find("HTTP/1.") == std::string::npos) {
    return Error{Errc::invalid_argument, "this is not HTTP/1.1"};
  }
  return outcome::success(std::move(message));
}

// "HTTP/1.1 204 No Content": 204.
int status_of(const HttpMessage& answer) {
  const std::size_t space = answer.first_line.find(' ');
  int status = 0;
  if (space != std::string::npos) {
    const char* end = answer.first_line.data() + answer.first_line.size();
    static_cast<void>(std::from_chars(answer.first_line.data() + space + 1, end, status));
  }
  return status;
}

// Of the body that a header promises, if any.
Result<std::optional<std::size_t>> length_of(const HttpMessage& message) {
  const auto text = message.header("Content-Length");
  if (!text) return outcome::success(std::optional<std::size_t>());
  std::size_t size = 0;
  const char* end = text->data() + text->size();
  const auto read = std::from_chars(text->data(), end, size);
  if (read.ec == std::errc::result_out_of_range || size > largest_body) return too_large_body();
  if (read.ec != std::errc() ||
      std::string_view(read.ptr, end).find_first_not_of(" \t") != std::string_view::npos) {
    return Error{Errc::invalid_argument, "the length of the body is \"" + printable(*text) + "\""};
  }
  return outcome::success(std::optional<std::size_t>(size));
}

Result<void> read_body(HttpMessage& message, std::optional<std::size_t> length,
                       const Socket& socket, const Patience& patience, bool ends_with_connection) {
  if (message.header("Transfer-Encoding")) {
    TRIAGE_TRYV(read_chunked(message.body, socket, patience));
    message.remove_header("Transfer-Encoding");
    message.set_header("Content-Length", std::to_string(message.body.size()));
  } else if (length) {
    TRIAGE_TRYV(fill(message.body, *length, socket, patience));
    message.body.resize(*length);
  } else if (ends_with_connection) {
    return read_rest(message.body, socket, patience);
  } else {
    message.body.clear();
  }
  return outcome::success();
}

}  // namespace

std::optional<std::string> HttpMessage::header(std::string_view name) const {
  const auto [begin, end] = find_header(headers, name);
  if (begin == std::string::npos) return std::nullopt;
  const std::size_t value = headers.find_first_not_of(" \t", begin + name.size() + 1);
  return headers.substr(value, end - 2 - std::min(value, end - 2));
}

void HttpMessage::set_header(std::string_view name, std::string_view value) {
  remove_header(name);
  headers.append(name).append(": ").append(value).append("\r\n");
}

void HttpMessage::remove_header(std::string_view name) {
  for (auto found = find_header(headers, name); found.first != std::string::npos;
       found = find_header(headers, name)) {
    headers.erase(found.first, found.second - found.first);
  }
}

std::string HttpMessage::bytes() const { return first_line + "\r\n" + headers + "\r\n" + body; }

Result<HttpMessage> read_message(const Socket& socket, const Patience& patience, HttpKind kind) {
  std::string text;
  for (;;) {
    auto message = read_head(socket, patience, text);
    if (!message) return message;
    const int status = kind == HttpKind::request ? 0 : status_of(message.value());
    if (status >= 100 && status < 200) continue;
    if (kind == HttpKind::bare_answer || status == 204 || status == 304) return message;
    auto length = length_of(message.value());
    if (!length) return std::move(length).error();
    // Before it is told to, the client sends no body.
    if (kind == HttpKind::request && message.value().header("Expect") &&
        !send_all(socket, "HTTP/1.1 100 Continue\r\n\r\n", patience)) {
      return too_early();
    }
    message.value().body = std::move(text);
    auto read =
        read_body(message.value(), length.value(), socket, patience, kind == HttpKind::answer);
    if (!read) return std::move(read).error();
    return message;
  }
}

}  // namespace triage::inline v0_1::lab::detail
