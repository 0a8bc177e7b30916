// SPDX-License-Identifier: MIT
#include "lab/http/http_message.hpp"

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

// Appends bytes to `text` until it has `size`. False: the connection ended.
bool fill(std::string& text, std::size_t size, const Socket& socket, const Patience& patience) {
  while (text.size() < size) {
    const std::string more = receive(socket, patience);
    if (more.empty()) return false;
    text += more;
  }
  return true;
}

// Joins chunks into one body.
bool read_chunked(std::string& body, const Socket& socket, const Patience& patience) {
  std::string whole;
  for (std::size_t at = 0; whole.size() <= largest_body;) {
    std::size_t end = 0;
    while ((end = body.find("\r\n", at)) == std::string::npos) {
      if (body.size() - at > largest_head || !fill(body, body.size() + 1, socket, patience)) {
        return false;
      }
    }
    std::size_t size = 0;
    const auto [stop, wrong] = std::from_chars(body.data() + at, body.data() + end, size, 16);
    if (wrong != std::errc() || stop == body.data() + at || size > largest_body) return false;
    if (!fill(body, end + 2 + size + 2, socket, patience)) return false;
    whole.append(body, end + 2, size);
    at = end + 2 + size + 2;
    if (size == 0) {
      body = std::move(whole);
      return true;  // Nobody waits for trailers.
    }
  }
  return false;
}

Error too_early() { return {Errc::io, "the connection ended in the middle of a message"}; }

Result<HttpMessage> read_head(const Socket& socket, const Patience& patience, std::string& text) {
  std::size_t end = 0;
  while ((end = text.find(head_end)) == std::string::npos) {
    if (text.size() > largest_head) return Error{Errc::invalid_argument, "the head is too large"};
    if (!fill(text, text.size() + 1, socket, patience)) return too_early();
  }
  const std::size_t line = text.find("\r\n");
  HttpMessage message{.first_line = text.substr(0, line),
                      .headers = text.substr(line + 2, end - line)};
  text.erase(0, end + head_end.size());
  if (message.first_line.find("HTTP/1.") == std::string::npos) {
    return Error{Errc::invalid_argument, "it is not HTTP/1.1"};
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

Result<void> read_body(HttpMessage& message, const Socket& socket, const Patience& patience,
                       bool ends_with_connection) {
  if (message.header("Transfer-Encoding")) {
    if (!read_chunked(message.body, socket, patience)) return too_early();
    message.remove_header("Transfer-Encoding");
    message.set_header("Content-Length", std::to_string(message.body.size()));
  } else if (const auto length = message.header("Content-Length")) {
    std::size_t size = 0;
    const auto read = std::from_chars(length->data(), length->data() + length->size(), size);
    if (read.ec != std::errc() || size > largest_body) {
      return Error{Errc::invalid_argument, "its length is \"" + *length + "\""};
    }
    if (!fill(message.body, size, socket, patience)) return too_early();
    message.body.resize(size);
  } else if (ends_with_connection) {
    while (fill(message.body, message.body.size() + 1, socket, patience)) {
      if (message.body.size() > largest_body) {
        return Error{Errc::invalid_argument, "its body is too large"};
      }
    }
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
    // Before it is told to, the client sends no body.
    if (kind == HttpKind::request && message.value().header("Expect") &&
        !send_all(socket, "HTTP/1.1 100 Continue\r\n\r\n", patience)) {
      return too_early();
    }
    message.value().body = std::move(text);
    auto read = read_body(message.value(), socket, patience, kind == HttpKind::answer);
    if (!read) return std::move(read).error();
    return message;
  }
}

}  // namespace triage::inline v0_1::lab::detail
