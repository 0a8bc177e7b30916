// SPDX-License-Identifier: MIT
#pragma once
// A JSON Schema, compiled once, and how a value breaks it.

#include "triage/json.hpp"

#include <memory>
#include <optional>
#include <string>

namespace triage::inline v0_1 {

// The first rule of a schema that a value breaks.
struct SchemaBreach {
  std::string path{};         // JSON Pointer to the part of the value; empty: all of it.
  std::string schema_path{};  // JSON Pointer to the rule inside the schema.
  std::string expected{};     // That rule as JSON text, cut at 400 bytes: {"type":"string"}.
  std::string found{};        // The part as JSON text, cut at 200 bytes.
  // For a member that is not allowed, the most similar allowed name; for a missing one, the present
  // name that may be meant for it. Empty if none.
  std::string nearest{};

  friend bool operator==(const SchemaBreach&, const SchemaBreach&) = default;
};

// "at /url: expected {"type":"string"}, found 5".
[[nodiscard]] std::string describe(const SchemaBreach& breach);

// A value; copies share the compiled form. Drafts 4, 6, 7, 2019-09 and 2020-12, selected by
// "$schema"; the default is 2020-12, which also accepts the older forms (definitions, dependencies,
// a list of items). `pattern` and `patternProperties` are RE2 expressions and take linear time;
// `format` and `content…` are annotations; vocabularies are ignored. References stay inside the
// schema: nothing is fetched, no file is read.
// Thread-safety: const members may be called from several threads at once.
class JsonSchema {
 public:
  JsonSchema() = default;  // Any value fits.
  // Compiles; problem() returns the error, if any.
  JsonSchema(Json schema);                    // NOLINT(google-explicit-constructor)
  JsonSchema(Json::initializer_list_t list);  // NOLINT(google-explicit-constructor)
  // Errors: Errc::invalid_argument, with the place inside the schema as a JSON Pointer: a malformed
  // keyword, a pattern that RE2 refuses (look-around, back-references), a reference to nothing, out
  // of the schema or back to itself, more than 256 levels or 10,000 subschemas.
  [[nodiscard]] static Result<JsonSchema> compile(Json schema);

  [[nodiscard]] bool empty() const noexcept { return body_ == nullptr; }
  [[nodiscard]] const Json& json() const noexcept;  // Null if empty.
  [[nodiscard]] const std::optional<Error>& problem() const noexcept;
  // Empty if the value fits. Errors: problem(); Errc::invalid_argument for a value nested deeper
  // than max_json_depth or that is not JSON; Errc::unsupported if the check would take too much
  // work, which is more than most_rules and 16 for each part of the value, or 2 MB of stack. Parts
  // are the members and items at all levels, and each 64 bytes of a text or name. Work is 1 for
  // each rule, each subschema and each part that is looked at.
  [[nodiscard]] Result<std::optional<SchemaBreach>> check(const Json& value) const;
  // For checks that share a limit instead of most_rules: each subtracts what it took from it.
  [[nodiscard]] Result<std::optional<SchemaBreach>> check(const Json& value,
                                                          std::size_t& rules_left) const;
  static constexpr std::size_t most_rules = 1'000'000;

 private:
  struct Body;
  std::shared_ptr<const Body> body_{};
};

}  // namespace triage::inline v0_1
