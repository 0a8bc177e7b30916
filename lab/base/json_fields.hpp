// SPDX-License-Identifier: MIT
#pragma once
// Reads the fields of one JSON object and collects the problems, each with its path.

#include "triage/clock.hpp"
#include "triage/json.hpp"
#include "triage/result.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace triage::inline v0_1::lab::detail {

// A value as shown in an error, shortened but recognisable.
[[nodiscard]] std::string shown(const Json& value);

// Sets what a path such as "recovers.no_hint" leads to. False if something on the way is not an
// object: a path leads into no list.
[[nodiscard]] bool set_at(Json& object, std::string_view path, const Json& value);

class JsonFields {
 public:
  static constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();

  // path: the object's, such as ".faults[2]". The object must outlive this.
  JsonFields(const Json& object, std::string path);

  void read(std::string_view key, std::string& value);
  void read(std::string_view key, double& value);
  void read(std::string_view key, std::uint64_t& value, std::uint64_t least = 0,
            std::uint64_t most = no_limit);
  void read(std::string_view key, std::vector<std::string>& value);
  void read(std::string_view key, std::vector<std::uint64_t>& value);
  void read(std::string_view key, bool& value);
  // "2s" or a number of seconds; may be negative.
  void read(std::string_view key, Duration& value);
  // Null if it is absent.
  [[nodiscard]] const Json* find(std::string_view key);
  // what: appended to the path and key: " is 2; allowed is 0 to 1". Only the first problem of a key
  // counts.
  void refuse(std::string_view key, const std::string& what);
  void refuse_name(std::string_view key, std::string_view name,
                   const std::vector<std::string>& allowed);
  // Takes over the problems of a value below this object, which have their paths.
  void add(const Error& error);
  // Errors: Errc::invalid_argument with a line for each problem, unknown keys included.
  [[nodiscard]] Result<void> finish();

 private:
  [[nodiscard]] const Json* typed(std::string_view key, bool (*fits)(const Json&),
                                  std::string_view wanted);

  const Json& object_;
  std::string path_;
  std::vector<std::string> asked_{};
  std::vector<std::string> refused_{};  // Keys, the first fifty.
  std::size_t others_ = 0;              // Problems of further keys.
  std::string problems_{};
};

}  // namespace triage::inline v0_1::lab::detail
