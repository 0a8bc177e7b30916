// SPDX-License-Identifier: MIT
#include "cbor_text.hpp"

#include "base/utf8.hpp"
#include "journal/cbor_reader.hpp"
#include "triage/detail/hex.hpp"

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace triage::inline v0_1::detail {
namespace {

// Whether all eight bytes stand for themselves in a JSON text: printable ASCII but quote and
// backslash. Each test leaves the highest bit of a byte set where it does not hold.
bool all_plain(const char* bytes) noexcept {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes, 8);
  constexpr std::uint64_t ones = 0x0101010101010101U;
  constexpr std::uint64_t high = 0x8080808080808080U;
  const auto has_zero = [](std::uint64_t v) { return (v - ones) & ~v & high; };
  const std::uint64_t control = (word - ones * 0x20U) & ~word & high;
  return (control | (word & high) | has_zero(word ^ (ones * '"')) |
          has_zero(word ^ (ones * '\\'))) == 0;
}

void append_escaped(char c, std::string& out) {
  switch (c) {
    case '"': out += "\\\""; return;
    case '\\': out += "\\\\"; return;
    case '\b': out += "\\b"; return;
    case '\f': out += "\\f"; return;
    case '\n': out += "\\n"; return;
    case '\r': out += "\\r"; return;
    case '\t': out += "\\t"; return;
    default: break;
  }
  out += "\\u00";
  append_hex(c, out);
}

bool append_quoted(std::string_view text, std::string& out) {
  out.push_back('"');
  std::size_t plain = 0;  // From here on nothing was appended yet.
  for (std::size_t at = 0; at < text.size();) {
    if (at + 8 <= text.size() && all_plain(text.data() + at)) {
      at += 8;
      continue;
    }
    const char c = text[at];
    const std::size_t size = utf8_length(text.substr(at, 4));
    if (size == 0) return false;
    if (size == 1 && (static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\')) {
      out.append(text, plain, at - plain);
      append_escaped(c, out);
      plain = at + 1;
    }
    at += size;
  }
  out.append(text, plain);
  out.push_back('"');
  return true;
}

template <class T>
void append_number(T value, std::string& out) {
  std::array<char, 32> text{};
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value);
  out.append(text.data(), end);
}

class Transcription {
 public:
  Transcription(std::string_view body, std::string& out) : rest_(body), out_(out) {}

  bool step() {
    std::uint64_t count = 0;
    std::uint32_t seen = 0;
    if (!head(cbor::map, count)) return false;
    out_.push_back('{');
    for (std::uint64_t i = 0; i < count; ++i) {
      std::string_view key;
      if (!text(key) || key.size() != 1) return false;
      const std::string_view name = step_member_shown(key.front());
      const std::uint32_t bit = 1U << (static_cast<unsigned>(key.front()) & 31U);
      if (name.empty() || (seen & bit) != 0) return false;
      seen |= bit;
      if (i > 0) out_.push_back(',');
      out_.push_back('"');
      out_ += name;
      out_ += "\":";
      if (!value()) return false;
    }
    out_.push_back('}');
    return rest_.empty();
  }
  bool whole() { return value() && rest_.empty(); }

 private:
  bool value() {
    if (rest_.empty()) return false;
    const auto first = static_cast<std::uint8_t>(rest_.front());
    std::uint64_t number = 0;
    switch (first & 0xe0U) {
      case cbor::unsigned_integer:
        if (!head(cbor::unsigned_integer, number)) return false;
        append_number(number, out_);
        return true;
      case cbor::negative_integer:
        if (!head(cbor::negative_integer, number) || number >> 63U != 0) return false;
        append_number(-1 - static_cast<std::int64_t>(number), out_);
        return true;
      case cbor::text_string: {
        std::string_view found;
        return text(found) && append_quoted(found, out_);
      }
      case cbor::array: return elements();
      case cbor::map: return members();
      case cbor::simple: return simple();
      default: return false;
    }
  }
  bool elements() {
    std::uint64_t count = 0;
    if (!head(cbor::array, count)) return false;
    out_.push_back('[');
    for (std::uint64_t i = 0; i < count; ++i) {
      if (i > 0) out_.push_back(',');
      if (!value()) return false;
    }
    out_.push_back(']');
    return true;
  }
  bool members() {
    std::uint64_t count = 0;
    if (!head(cbor::map, count)) return false;
    out_.push_back('{');
    std::string_view before;
    for (std::uint64_t i = 0; i < count; ++i) {
      std::string_view key;
      if (!text(key) || (i > 0 && key <= before)) return false;
      before = key;
      if (i > 0) out_.push_back(',');
      if (!append_quoted(key, out_)) return false;
      out_.push_back(':');
      if (!value()) return false;
    }
    out_.push_back('}');
    return true;
  }
  bool simple() {
    const char first = rest_.front();
    rest_.remove_prefix(1);
    if (first == cbor::false_byte || first == cbor::true_byte || first == cbor::null_byte) {
      out_ += first == cbor::null_byte ? "null" : first == cbor::true_byte ? "true" : "false";
      return true;
    }
    if (first != cbor::double_byte || rest_.size() < 8) return false;
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < 8; ++i) bits = bits << 8U | static_cast<unsigned char>(rest_[i]);
    rest_.remove_prefix(8);
    const auto number = std::bit_cast<double>(bits);
    if (!std::isfinite(number)) return false;
    const std::size_t begin = out_.size();
    append_number(number, out_);
    // Read back, it must not be an integer.
    if (out_.find_first_of(".e", begin) == out_.npos) out_ += ".0";
    return true;
  }

  bool text(std::string_view& out) {
    std::uint64_t size = 0;
    if (!head(cbor::text_string, size) || size > rest_.size()) return false;
    out = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return true;
  }
  bool head(cbor::Major major, std::uint64_t& value) {
    return cbor::take_head(rest_, major, value);
  }

  std::string_view rest_;
  std::string& out_;
};

}  // namespace

std::string_view step_member_shown(char letter) noexcept {
  switch (letter) {
    case 'a': return "action";
    case 't': return "tool_called";
    case 'i': return "tool_input";
    case 'o': return "tool_output";
    case 'l': return "llm_output";
    case 'e': return "error";
    case 'x': return "exception_type";
    case 'h': return "http_status";
    case 'j': return "json_rpc_code";
    case 'g': return "grpc_status";
    case 'b': return "agent_id";
    case 'd': return "idempotent";
    case 'm': return "metadata";
    default: return {};
  }
}

bool append_as_text(std::string_view body, bool is_step, std::string& out) {
  const std::size_t before = out.size();
  Transcription transcription(body, out);
  const bool done = is_step ? transcription.step() : transcription.whole();
  if (!done) out.resize(before);
  return done;
}

}  // namespace triage::inline v0_1::detail
