// SPDX-License-Identifier: MIT
#include "document_reader.hpp"

#include "triage/policies/duration.hpp"

#include <algorithm>

namespace triage::inline v0_1::cli {
namespace {

constexpr std::size_t most_told = 100;
constexpr std::size_t most_names = 50;

}  // namespace

void DocumentReader::problem(const std::string& what) {
  if (++count_ <= most_told) problems_ += (problems_.empty() ? "" : "\n") + what;
}

std::string DocumentReader::problems() const {
  if (count_ <= most_told) return problems_;
  return "there are " + std::to_string(count_) + " mistakes; these are the first 100\n" + problems_;
}

std::string DocumentReader::brief(const Json& value) { return show(value).substr(0, 100); }

std::string DocumentReader::allowed_are(const std::vector<std::string>& names) {
  if (names.empty()) return "; nothing is allowed here";
  std::string all;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i == most_names)
      return printable(all) + " and " + std::to_string(names.size() - i) + " more";
    all += (i == 0 ? "; allowed are " : ", ") + names[i];
  }
  return printable(all);
}

std::string DocumentReader::below(const std::string& path, const std::string& key) {
  return path.empty() ? key : path + "." + key;
}

// The place of a missing key.
std::string DocumentReader::at(const std::string& path, const char* key) {
  return (path.empty() ? "" : path + ": ") + std::string("the key \"") + key + "\"";
}

void DocumentReader::check_keys(const Json& object, const std::string& path,
                                const std::vector<std::string>& allowed) {
  for (auto one = object.begin(); one != object.end(); ++one) {
    if (std::find(allowed.begin(), allowed.end(), one.key()) != allowed.end()) continue;
    problem(below(path, printable(one.key())) + " is not a known key" + allowed_are(allowed));
  }
}

std::string DocumentReader::text(const Json& object, const std::string& path, const char* key,
                                 bool needed) {
  const auto found = object.find(key);
  if (found == object.end() && !needed) return {};
  if (found == object.end()) {
    problem(at(path, key) + " is missing; allowed is a text");
    return {};
  }
  if (found->is_string() && !(needed && found->get_ref<const std::string&>().empty())) {
    return found->get<std::string>();
  }
  problem(below(path, key) + " is " + brief(*found) + "; allowed is a text");
  return {};
}

int DocumentReader::number(const Json& object, const std::string& path, const char* key, int least,
                           int most, int otherwise) {
  const auto found = object.find(key);
  if (found == object.end()) return otherwise;
  if (found->is_number_integer() && *found >= least && *found <= most) return found->get<int>();
  problem(below(path, key) + " is " + brief(*found) + "; allowed is " + std::to_string(least) +
          " to " + std::to_string(most));
  return otherwise;
}

Duration DocumentReader::duration(const Json& object, const std::string& path, const char* key,
                                  Duration otherwise) {
  const auto found = object.find(key);
  if (found == object.end()) return otherwise;
  const auto read = found->is_string() ? parse_duration(found->get_ref<const std::string&>())
                                       : Result<Duration>(Error{Errc::invalid_argument, ""});
  if (read && read.value() > Duration::zero()) return read.value();
  problem(below(path, key) + " is " + brief(*found) +
          "; allowed is a duration above 0 such as 30s or 5m");
  return otherwise;
}

std::vector<std::string> DocumentReader::texts(const Json& object, const std::string& path,
                                               const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) return {};
  std::vector<std::string> all;
  bool right = found->is_array();
  for (std::size_t i = 0; right && i < found->size(); ++i) {
    right = (*found)[i].is_string();
    if (right) all.push_back((*found)[i].get<std::string>());
  }
  if (!right) problem(below(path, key) + " is " + brief(*found) + "; allowed is a list of texts");
  return all;
}

std::vector<std::string> DocumentReader::names(const Json& object, const std::string& path,
                                               const char* key) {
  const auto found = object.find(key);
  if (found != object.end() && found->is_string()) return {found->get<std::string>()};
  std::vector<std::string> all = texts(object, path, key);
  if (found == object.end() || *found == Json::array()) {
    problem(at(path, key) + " is missing or empty; allowed is an executor, or a list of them");
  }
  return all;
}

}  // namespace triage::inline v0_1::cli
