// SPDX-License-Identifier: MIT
#pragma once
// Reads the arguments of a strategy or gate from a policy document: for factories in a
// StrategyRegistry.

#include "triage/clock.hpp"
#include "triage/json.hpp"
#include "triage/policy.hpp"
#include "triage/result.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace triage::inline v0_1 {

// Usage: read() every argument into an options struct that holds the defaults, then finish().
// Absent arguments keep their defaults. finish() reports the first error of each argument: a wrong
// type, a missing required argument, an unknown key.
//
// Error texts have a line per argument that starts with a dot and its name (".max_attempts is …");
// policy_from_json prepends the strategy's path. A value; refers to `object`, which must outlive
// it.
class Arguments {
 public:
  // object: the strategy's object in the document, without its "strategy" key.
  Arguments(const Json& object, std::string_view strategy)
      : object_(&object), strategy_(strategy) {}

  void read(std::string_view key, bool& value);
  void read(std::string_view key, int& value);     // A whole number that fits an int.
  void read(std::string_view key, double& value);  // Any number.
  void read(std::string_view key, std::string& value);
  void read(std::string_view key, Duration& value);  // "1m30s", or a number of seconds.
  void read(std::string_view key, std::vector<std::string>& value);
  void read(std::string_view key, std::optional<WallTime>& value);  // "2026-12-24T18:00:00Z"
  // The raw value; null if the argument is absent.
  [[nodiscard]] const Json* find(std::string_view key);
  [[nodiscard]] const Json* require(std::string_view key);

  // Reports an argument's error, of which each key keeps its first. `text` follows the key:
  // " is 0; …".
  void refuse(std::string_view key, const std::string& text);

  // All errors so far. Errors: Errc::invalid_argument.
  [[nodiscard]] Result<void> check();
  // Makes the strategy if all arguments are valid. Errors: Errc::invalid_argument, also for a
  // strategy with a problem().
  [[nodiscard]] Result<Strategy> finish(const std::function<Strategy()>& make);

 private:
  void wrong_type(std::string_view key, const Json& value, std::string_view allowed);
  void check_keys();

  const Json* object_;
  std::string strategy_;
  std::vector<std::string> known_{};
  std::vector<std::string> refused_{};  // Keys.
  std::string problems_{};              // One line each.
};

// A point in time as "YYYY-MM-DDTHH:MM:SSZ", optionally with ".mmm" before the Z: UTC, the form of
// RFC 3339. Errors: Errc::invalid_argument.
[[nodiscard]] Result<WallTime> parse_wall_time(std::string_view text);

}  // namespace triage::inline v0_1
