// SPDX-License-Identifier: MIT
#include "placeholders.hpp"
#include "triage/detail/nearest.hpp"

#include <string_view>
#include <vector>

namespace triage::inline v0_1::cli {
namespace {

std::string_view without_spaces(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') + 1 - first);
}

bool looks_like_name(std::string_view text) {
  constexpr std::string_view letters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789-";
  return !text.empty() && letters.find(text.front()) < letters.find('0') &&
         text.find_first_not_of(letters) == std::string_view::npos;
}

}  // namespace

std::optional<Placeholder> next_placeholder(const std::string& text, std::size_t from) {
  const std::size_t begin = text.find("{{", from);
  const std::size_t end = begin == std::string::npos ? begin : text.find("}}", begin);
  if (end == std::string::npos) return std::nullopt;
  return Placeholder{begin, end + 2, text.substr(begin + 2, end - begin - 2)};
}

void check_placeholders(DocumentReader& reader, const std::string& path, const std::string& text,
                        const Json& inputs) {
  if (!inputs.is_object()) return;
  std::vector<std::string> names;
  for (auto one = inputs.begin(); one != inputs.end(); ++one) names.push_back(one.key());
  for (auto found = next_placeholder(text, 0); found; found = next_placeholder(text, found->end)) {
    const std::string_view name = without_spaces(found->key);
    if (inputs.contains(found->key) || !looks_like_name(name)) continue;
    reader.problem(path + " has {{" + found->key + "}}" +
                   (names.empty() ? "; the file has no inputs" : reader.allowed_are(names)) +
                   detail::meant_name(name, names));
  }
}

void check_no_placeholders(DocumentReader& reader, const std::string& path, const std::string& text,
                           const Json& inputs) {
  for (auto found = next_placeholder(text, 0); found; found = next_placeholder(text, found->end)) {
    if (!inputs.is_object() || !inputs.contains(found->key)) continue;
    reader.problem(path + " has {{" + found->key +
                   "}}; inputs are put into descriptions and questions only");
  }
}

}  // namespace triage::inline v0_1::cli
