// SPDX-License-Identifier: MIT
#pragma once
// Reads a document and collects all its problems: one line each, with the key's path, its value and
// what is allowed.

#include "triage/clock.hpp"
#include "triage/json.hpp"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace triage::inline v0_1::cli {

class DocumentReader {
 public:
  static constexpr const char* object_wanted = "; allowed is an object";

  // Empty if there are none. Of many, the first hundred and how many more.
  [[nodiscard]] std::string problems() const;
  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  void problem(const std::string& what);

  // A value as shown in problems.
  [[nodiscard]] static std::string brief(const Json& value);
  // "; allowed are a, b"
  [[nodiscard]] static std::string allowed_are(const std::vector<std::string>& names);
  // The path of a key of the object at `path`; the whole document is "".
  [[nodiscard]] static std::string below(const std::string& path, const std::string& key);

  void check_keys(const Json& object, const std::string& path,
                  const std::vector<std::string>& allowed);
  // Empty if it is missing, which is a problem if it is needed.
  std::string text(const Json& object, const std::string& path, const char* key, bool needed);
  int number(const Json& object, const std::string& path, const char* key, int least, int most,
             int otherwise);
  // Above 0.
  Duration duration(const Json& object, const std::string& path, const char* key,
                    Duration otherwise);
  std::vector<std::string> texts(const Json& object, const std::string& path, const char* key);
  // One or more names: a string or a list of strings.
  std::vector<std::string> names(const Json& object, const std::string& path, const char* key);
  // By name; the first value if it is missing.
  template <class T>
  T one_of(const Json& object, const std::string& path, const char* key,
           const std::vector<std::pair<std::string, T>>& values) {
    const auto found = object.find(key);
    if (found == object.end()) return values.front().second;
    std::vector<std::string> names;
    for (const auto& [name, value] : values) {
      if (*found == name) return value;
      names.push_back(name);
    }
    problem(below(path, key) + " is " + brief(*found) + allowed_are(names));
    return values.front().second;
  }
  // Calls take(element, path) for each object in a list.
  template <class Take>
  void each(const Json& object, const std::string& path, const char* key, const Take& take) {
    const auto list = object.find(key);
    if (list == object.end()) return;
    const std::string whole = below(path, key);
    if (!list->is_array()) return problem(whole + " is " + brief(*list) + "; allowed is a list");
    for (std::size_t i = 0; i < list->size(); ++i) {
      const std::string place = whole + "[" + std::to_string(i) + "]";
      if ((*list)[i].is_object()) {
        take((*list)[i], place);
      } else {
        problem(place + " is " + brief((*list)[i]) + object_wanted);
      }
    }
  }

 private:
  [[nodiscard]] static std::string at(const std::string& path, const char* key);

  std::string problems_{};
  std::size_t count_ = 0;
};

}  // namespace triage::inline v0_1::cli
