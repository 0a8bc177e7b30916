// SPDX-License-Identifier: MIT
#include "read_policy.hpp"

#ifdef TRIAGE_HAS_YAML
#include "triage/policies/yaml.hpp"
#endif

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <utility>

namespace triage::inline v0_1::cli {

Result<PolicyDocument> read_policy(std::string_view text, std::shared_ptr<KeySpace> shared) {
#ifdef TRIAGE_HAS_YAML
  return document_from_yaml(text, built_in_strategies(), std::move(shared));
#else
  return document_from_text(text, built_in_strategies(), std::move(shared));
#endif
}

namespace {

std::string shown_name(const std::string& path) {
  return path == "-" ? "standard input" : "\"" + printable(path) + "\"";
}

}  // namespace

Error in_file(const std::string& path, const Error& error) {
  const std::string name = shown_name(path);
  std::string all = name + ": ";
  for (const char c : error.detail) {
    all += c;
    if (c == '\n') all += name + ": ";
  }
  return {error.code, std::move(all)};
}

Result<std::string> read_text_file(const std::string& path) {
  constexpr std::size_t largest = 16U << 20U;
  const std::string name = shown_name(path);
  std::ifstream named;
  if (path != "-") named.open(path, std::ios::binary);
  std::istream& file = path == "-" ? std::cin : named;
  if (!file) {
    return Error{Errc::not_found, name + " cannot be opened: " + std::strerror(errno)};
  }
  std::string text;
  char block[4096];
  while (file.read(block, sizeof block) || file.gcount() > 0) {
    text.append(block, static_cast<std::size_t>(file.gcount()));
    if (text.size() > largest) {
      return Error{Errc::invalid_argument,
                   name + ": it has more than 16 MB, the most that is allowed"};
    }
  }
  if (file.bad()) {
    return Error{Errc::io, name + " cannot be read: " + std::strerror(errno)};
  }
  return outcome::success(std::move(text));
}

}  // namespace triage::inline v0_1::cli
