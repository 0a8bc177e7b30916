// SPDX-License-Identifier: MIT
#include "classifier/undress/undress.hpp"

#include "classifier/undress/layers.hpp"
#include "classifier/undress/letters.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace triage::inline v0_1::detail {
namespace {

constexpr std::size_t window_bytes = 32 * 1024;  // As much as the rest of the classifier reads.
constexpr int most_rounds = 8;                   // Nested wrappings.

struct Layer {
  Garment garment;
  bool (*take_off)(std::string&);  // Null: cut_log_heads, which asks for codes.
  std::string_view name;
};
// From outer to inner layers.
constexpr Layer layers[] = {
    {Garment::escapes, remove_escapes, "terminal escapes"},
    {Garment::line_wraps, join_wrapped_lines, "line wraps"},
    {Garment::log_head, nullptr, "the head of a log line"},
    {Garment::envelope, unwrap_envelope, "an envelope"},
    {Garment::markup, unwrap_markup, "markup"},
    {Garment::escapes, unfold_written_lines, "terminal escapes"},
    {Garment::line_wraps, join_wrapped_lines, "line wraps"},
    {Garment::log_tail, cut_log_tails, "the tail of a log line"},
    {Garment::trace, unfold_trace, "a stack trace"},
    {Garment::progress, cut_progress, "a prefix"},
};

// Repeats until no layer finds anything more to remove.
bool take_off_all(std::string& text, IsCode is_code, std::bitset<garment_count>& garments) {
  bool any = false;
  std::size_t unchanged = 0;  // Layers in a row that found nothing.
  for (int round = 0; round < most_rounds; ++round) {
    for (const Layer& layer : layers) {
      if (unchanged == std::size(layers)) return any;
      ++unchanged;
      const bool found =
          layer.take_off != nullptr ? layer.take_off(text) : cut_log_heads(text, is_code);
      if (!found) continue;
      garments.set(static_cast<std::size_t>(layer.garment));
      any = true;
      unchanged = 0;
    }
  }
  return any;
}

}  // namespace

std::string Undressed::told() const {
  std::string names;
  for (const Layer& layer : layers) {
    if (!garments.test(static_cast<std::size_t>(layer.garment))) continue;
    if (names.find(layer.name) != std::string::npos) continue;  // Taken off at two places.
    if (!names.empty()) names += ", ";
    names += layer.name;
  }
  return names;
}

std::optional<Undressed> undress(std::string_view text, IsCode is_code) {
  if (text.empty()) return std::nullopt;
  const bool is_long = text.size() > 2 * window_bytes;
  Undressed result{.text = std::string(is_long ? text.substr(0, window_bytes) : text)};
  bool changed = take_off_all(result.text, is_code, result.garments);
  if (is_long) {
    std::string tail(text.substr(text.size() - window_bytes));
    changed = take_off_all(tail, is_code, result.garments) || changed;
    result.text += '\n';
    result.text += tail;
  }
  if (!changed || !undressing::has_letter(result.text)) return std::nullopt;
  return result;
}

}  // namespace triage::inline v0_1::detail
