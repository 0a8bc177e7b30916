// SPDX-License-Identifier: MIT
#include "mended_json.hpp"

#include <charconv>
#include <optional>
#include <string>
#include <system_error>

namespace triage::inline v0_1::cli {
namespace {

// The unit of the escape \uXXXX at `at`, or empty.
std::optional<unsigned> escaped_unit(std::string_view text, std::size_t at) {
  if (at + 6 > text.size() || text[at] != '\\' || text[at + 1] != 'u') return std::nullopt;
  unsigned unit = 0;
  const char* end = text.data() + at + 6;
  const auto parsed = std::from_chars(text.data() + at + 2, end, unit, 16);
  if (parsed.ec != std::errc{} || parsed.ptr != end) return std::nullopt;
  return unit;
}

// Replaces lone surrogates by U+FFFD; Python writes foreign bytes as such surrogates.
std::string with_whole_surrogates(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const auto unit = escaped_unit(text, i);
    if (!unit) {
      const std::size_t length = text[i] == '\\' ? 2 : 1;
      out.append(text.substr(i, length));
      i += length;
      continue;
    }
    const bool high = *unit >= 0xD800 && *unit <= 0xDBFF;
    const bool low = *unit >= 0xDC00 && *unit <= 0xDFFF;
    const auto next = high ? escaped_unit(text, i + 6) : std::nullopt;
    const bool pair = next && *next >= 0xDC00 && *next <= 0xDFFF;
    if (pair) {
      out.append(text.substr(i, 12));
    } else {
      out.append(high || low ? "\\ufffd" : text.substr(i, 6));
    }
    i += pair ? 12 : 6;
  }
  return out;
}

// Replaces bytes that are not UTF-8 by U+FFFD, by a round trip through a JSON string.
std::string with_whole_characters(std::string_view text) {
  const std::string quoted = Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
  return Json::parse(quoted).get<std::string>();
}

}  // namespace

Json parse_mended(std::string_view text) {
  Json value = Json::parse(text.begin(), text.end(), nullptr, false);
  if (!value.is_discarded()) return value;
  const std::string mended = with_whole_surrogates(with_whole_characters(text));
  return Json::parse(mended.begin(), mended.end(), nullptr, false);
}

}  // namespace triage::inline v0_1::cli
