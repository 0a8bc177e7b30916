// SPDX-License-Identifier: MIT
#include "classifier/undress/layers.hpp"
#include "classifier/undress/letters.hpp"

#include <array>
#include <utility>

namespace triage::inline v0_1::detail {
namespace {

using namespace undressing;

constexpr char escape = '\x1b';
constexpr char bell = '\x07';
constexpr std::size_t longest_command = 2048;  // Titles and links sent to terminals.

// Bytes that may begin something to remove.
constexpr std::array<bool, 256> suspects = [] {
  std::array<bool, 256> bytes{};
  for (unsigned c = 0; c < 0x20; ++c) bytes[c] = c != '\n' && c != '\t';
  for (const unsigned c : {0x7FU, 0xC2U, 0xE2U, 0xE3U, 0xEFU}) bytes[c] = true;
  for (const char c : {'\\', '^', '['}) bytes[static_cast<unsigned char>(c)] = true;
  return bytes;
}();

std::size_t next_suspect(std::string_view text, std::size_t at) {
  const auto suspect = [&](std::size_t place) {
    return static_cast<unsigned>(suspects[static_cast<unsigned char>(text[place])]);
  };
  for (; at + 4 <= text.size(); at += 4) {  // Four at a time: most texts have none.
    if ((suspect(at) | suspect(at + 1) | suspect(at + 2) | suspect(at + 3)) != 0) break;
  }
  while (at < text.size() && suspect(at) == 0) ++at;
  return at;
}

// The length of "1;31m" and the like after the bracket, even if truncated.
std::size_t control_sequence(std::string_view text) {
  std::size_t end = 0;
  while (end < text.size() && text[end] >= 0x20 && text[end] < 0x40) ++end;
  return std::min(end + 1, text.size());
}

// "31m" after a bracket whose escape was lost: colours only, because "[4;" may be anything.
std::size_t bare_colour(std::string_view text) {
  std::size_t end = 0;
  bool digit = false;
  while (end < text.size() && end < 20 && (is_digit(text[end]) || text[end] == ';')) {
    digit = digit || is_digit(text[end]);
    ++end;
  }
  return digit && end < text.size() && text[end] == 'm' ? end + 1 : 0;
}

// The length of the sequence after an escape character.
std::size_t escape_sequence(std::string_view text) {
  if (text.empty()) return 0;
  if (text[0] == '[') return 1 + control_sequence(text.substr(1));
  if (text[0] == ']' || text[0] == 'P' || text[0] == '_' || text[0] == '^') {
    const std::string_view command = text.substr(0, longest_command);
    for (std::size_t i = 1; i < command.size() && command[i] != '\n'; ++i) {
      if (command[i] == bell) return i + 1;
      if (command[i] != escape) continue;
      if (i + 1 < text.size() && text[i + 1] == '\\') return i + 2;
      break;
    }
    return 1;  // Unterminated: only its beginning is removed.
  }
  if (text[0] >= 0x20 && text[0] < 0x30) return std::min<std::size_t>(2, text.size());
  return text[0] >= 0x30 && text[0] < 0x7F ? 1 : 0;
}

bool begins_written_escape(char c) { return c == 'x' || c == 'u' || c == '0' || c == 'e'; }

// Escapes in written form: "\x1b[31m", "\u001b[0m", "^[[1m". Returns the total length, or 0.
std::size_t written_escape(std::string_view text) {
  if (text[0] == '\\' && (text.size() < 2 || !begins_written_escape(text[1]))) return 0;
  for (const std::string_view spelt :
       {"\\x1b", "\\x1B", "\\u001b", "\\u001B", "\\033", "\\e", "^[", "\xE2\x90\x9B"}) {
    if (!text.starts_with(spelt)) continue;
    const std::string_view rest = text.substr(spelt.size());
    if (rest.starts_with("[")) return spelt.size() + 1 + control_sequence(rest.substr(1));
  }
  return 0;
}

// Zero-width characters, direction marks, byte order marks.
std::size_t invisible(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (text.size() >= 2 && byte(0) == 0xC2) return byte(1) == 0xAD ? 2 : 0;
  if (text.size() < 3) return 0;
  if (text.starts_with("\xEF\xBB\xBF")) return 3;
  if (byte(0) != 0xE2) return 0;
  const bool marks = byte(1) == 0x80 &&
                     ((byte(2) >= 0x8B && byte(2) <= 0x8F) || (byte(2) >= 0xAA && byte(2) <= 0xAE));
  const bool joiners = byte(1) == 0x81 && byte(2) >= 0xA0 && byte(2) <= 0xAF;
  return marks || joiners ? 3 : 0;
}

// Spaces of unusual width.
std::size_t odd_blank(std::string_view text) {
  if (text.starts_with("\xC2\xA0")) return 2;
  if (text.starts_with("\xE2\x80\xAF") || text.starts_with("\xE3\x80\x80")) return 3;
  if (!text.starts_with("\xE2\x80") || text.size() < 3) return 0;
  const auto last = static_cast<unsigned char>(text[2]);
  return last >= 0x80 && last <= 0x8A ? 3 : 0;
}

struct Cut {
  std::size_t length = 0;
  std::string_view instead{};
};

Cut cut_at(std::string_view text) {
  const char c = text[0];
  if (c == escape) return {1 + escape_sequence(text.substr(1))};
  if (c == '[') {
    const std::size_t colour = bare_colour(text.substr(1));
    return {colour == 0 ? 0 : colour + 1};
  }
  if (c == '\r') return {1, text.size() > 1 && text[1] == '\n' ? "" : "\n"};
  if (c == '\\' || c == '^') return {written_escape(text)};
  if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) return {1};
  if (const std::size_t blank = odd_blank(text)) return {blank, " "};
  if (const std::size_t nothing = invisible(text)) return {nothing};
  return {written_escape(text)};
}

}  // namespace

bool remove_escapes(std::string& text) {
  const std::string_view whole = text;
  std::string out;
  std::size_t kept = 0;  // Everything before is in `out`.
  bool changed = false;
  for (std::size_t at = next_suspect(whole, 0); at < whole.size(); at = next_suspect(whole, at)) {
    const Cut cut = cut_at(whole.substr(at));
    if (cut.length == 0) {
      ++at;
      continue;
    }
    out.append(whole.substr(kept, at - kept)).append(cut.instead);
    at += cut.length;
    kept = at;
    changed = true;
  }
  if (changed) {
    out.append(whole.substr(kept));
    text = std::move(out);
  }
  return changed;
}

bool unfold_written_lines(std::string& text) {
  if (text.find('\n') != std::string::npos) return false;
  std::size_t ends = 0;
  for (std::size_t at = text.find("\\n"); at != std::string::npos; at = text.find("\\n", at + 2)) {
    if (at == 0 || text[at - 1] != ':') ++ends;  // "C:\new" is a path.
  }
  const bool is_data =
      text.find("{\"") != std::string::npos || text.find("{'") != std::string::npos;
  if (ends < 2 || is_data) return false;
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char following = i + 1 < text.size() ? text[i + 1] : '\0';
    const bool end = text[i] == '\\' && (following == 'n' || following == 't' || following == 'r');
    if (!end) {
      out += text[i];
      continue;
    }
    if (following != 'r') out += following == 'n' ? '\n' : '\t';
    ++i;
  }
  text = std::move(out);
  return true;
}

}  // namespace triage::inline v0_1::detail
