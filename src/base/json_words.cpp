// SPDX-License-Identifier: MIT
#include "json_words.hpp"

#include <charconv>

namespace triage::inline v0_1::detail {
namespace {

constexpr std::string_view mark = "[json.exception.";

// "a number", "an array", "null".
std::string a(std::string_view type) {
  if (type == "null") return "null";
  const bool vowel = !type.empty() && std::string_view("aeiou").find(type[0]) != type.npos;
  return (vowel ? "an " : "a ") + std::string(type);
}

std::string_view last_word(std::string_view text) { return text.substr(text.rfind(' ') + 1); }

// Between two marks, or nothing.
std::string_view between(std::string_view text, std::string_view from, std::string_view to) {
  const std::size_t begin = text.find(from);
  if (begin == text.npos) return {};
  text = text.substr(begin + from.size());
  return text.substr(0, text.find(to));
}

// The texts of nlohmann's ids are listed in its manual, "Exceptions".
std::string by_id(int id, std::string_view text) {
  switch (id) {
    case 302:
      return "it must be " + a(between(text, "must be ", ",")) + ", and is " + a(last_word(text));
    case 303:
    case 304:
    case 305:
    case 306:
    case 307:
    case 308:
    case 309:
    case 312: return "it is " + a(last_word(text)) + ", which is not allowed there";
    case 401: return "it has too few elements";
    case 403: return "it has no \"" + std::string(between(text, "key '", "' not found")) + "\"";
    case 316: return "a text in it is not UTF-8";
    case 406: return "a number in it is too large";
    default: return std::string(text);
  }
}

}  // namespace

std::string json_words(std::string_view what) {
  if (what.rfind(mark, 0) != 0) return std::string(what);
  const std::size_t end = what.find("] ");
  if (end == what.npos) return std::string(what);
  const std::size_t dot = what.rfind('.', end);
  int id = 0;
  std::from_chars(what.data() + dot + 1, what.data() + end, id);
  return by_id(id, what.substr(end + 2));
}

}  // namespace triage::inline v0_1::detail
