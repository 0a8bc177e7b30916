// SPDX-License-Identifier: MIT
#include "classifier/phrases/rules.hpp"

#include <algorithm>

namespace triage::inline v0_1::detail {
namespace {

// Wrappers that throw helpers put around the intended type.
constexpr std::string_view wrappers[] = {"wrapexcept<", "_Nested_exception<", "clone_impl<",
                                         "error_info_injector<"};
// Uninformative endings that nearly all exception names have.
constexpr std::string_view endings[] = {"exception", "error", "fault", "err", "exc"};

std::string_view unwrapped(std::string_view name) noexcept {
  for (const std::string_view wrapper : wrappers) {
    const std::size_t at = name.rfind(wrapper);
    if (at == std::string_view::npos) continue;
    name.remove_prefix(at + wrapper.size());
    name = name.substr(0, name.find('>'));
  }
  return name.substr(0, name.find('<'));
}

}  // namespace

std::string_view last_name_component(std::string_view type_name) noexcept {
  std::string_view name = unwrapped(type_name);
  while (!name.empty() && (name.back() == '*' || name.back() == '&' || name.back() == ' ')) {
    name.remove_suffix(1);
  }
  const std::size_t separator = name.find_last_of(".:$/\\ '*&");
  return separator == std::string_view::npos ? name : name.substr(separator + 1);
}

std::string exception_stem(std::string_view last_component) {
  std::string stem;
  for (const char c : last_component) {
    if (c >= 'A' && c <= 'Z') stem += static_cast<char>(c - 'A' + 'a');
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) stem += c;
  }
  for (const std::string_view ending : endings) {
    if (stem.size() > ending.size() && stem.ends_with(ending)) {
      stem.resize(stem.size() - ending.size());
      break;
    }
  }
  return stem;
}

}  // namespace triage::inline v0_1::detail
