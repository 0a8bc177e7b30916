// SPDX-License-Identifier: MIT
#include "reads.hpp"

#include <charconv>
#include <stdexcept>
#include <utility>

namespace triage::inline v0_1::workflow::detail {
namespace {

std::string checked(std::string scope) {
  if (scope == inputs_scope || is_scope(scope)) return scope;
  throw std::invalid_argument("there is no scope \"" + printable(scope) + "\"");
}

// A name of an earlier version, which includes the scope's length.
Read read_named(const std::string& name) {
  if (name.rfind(inputs_scope, 0) == 0) {
    return {std::string(inputs_scope), name.substr(inputs_scope.size()), ""};
  }
  std::size_t length = 0;
  const char* const end = name.data() + name.size();
  const auto [colon, wrong] = std::from_chars(name.data(), end, length);
  const bool named = wrong == std::errc() && colon != end && *colon == ':';
  const std::string_view rest(named ? colon + 1 : end,
                              named ? static_cast<std::size_t>(end - colon - 1) : 0);
  if (!named || length > rest.size()) {
    throw std::invalid_argument("there is no value \"" + printable(name) + "\"");
  }
  return {checked(std::string(rest.substr(0, length))), std::string(rest.substr(length)), ""};
}

}  // namespace

bool is_scope(std::string_view scope) {
  return scope.size() >= 2 && std::string_view("psm").find(scope[0]) != scope.npos &&
         scope[1] == '|';
}

Json list_of_reads(const std::vector<Read>& reads) {
  Json list = Json::array();
  const std::string* scope = nullptr;
  for (const Read& read : reads) {
    if (scope == nullptr || *scope != read.scope) list.push_back(Json::array({read.scope}));
    scope = &read.scope;
    list.push_back(read.key);
    list.push_back(read.digest);
  }
  return list;
}

std::vector<Read> reads_from(const Parts& parts, const Json& stored) {
  std::vector<Read> reads;
  if (stored.is_object() && !stored.contains("")) {
    for (const auto& [name, digest] : stored.get_ref<const Json::object_t&>()) {
      reads.push_back(read_named(name));
      reads.back().digest = digest.get<std::string>();
    }
    return reads;
  }
  const Json expanded = parts.expand(stored);
  const auto& list = expanded.get_ref<const Json::array_t&>();
  std::string scope;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i].is_array()) {
      scope = checked(list[i].at(0).get<std::string>());
      continue;
    }
    const auto& key = list[i].get_ref<const std::string&>();
    reads.push_back({checked(scope), key, expanded.at(++i).get<std::string>()});
  }
  return reads;
}

}  // namespace triage::inline v0_1::workflow::detail
