// SPDX-License-Identifier: MIT
#include "triage/json_schema.hpp"

#include "contract/schema_check.hpp"
#include "triage/detail/try.hpp"

#include <utility>

namespace triage::inline v0_1 {

// Never moved: nodes point into the document, the checker into the nodes.
struct JsonSchema::Body {
  Json document{};
  std::optional<Error> problem{};
  std::optional<detail::SchemaNodes> nodes{};
  std::optional<detail::SchemaChecker> checker{};

  Result<void> compile() {
    TRIAGE_TRY(read, detail::SchemaNodes::read(document));
    nodes = std::move(read);
    TRIAGE_TRY(made, detail::SchemaChecker::make(*nodes));
    checker = std::move(made);
    return outcome::success();
  }
};

namespace {

// A schema is never a list, so braces around one are stripped.
Json unwrapped(Json::initializer_list_t list) {
  Json json(list);
  if (json.is_array() && json.size() == 1) return Json(json.front());
  return json;
}

}  // namespace

JsonSchema::JsonSchema(Json schema) {
  if (schema.is_null()) return;
  auto body = std::make_shared<Body>();
  body->document = std::move(schema);
  if (auto compiled = body->compile(); !compiled) body->problem = std::move(compiled).error();
  body_ = std::move(body);
}

JsonSchema::JsonSchema(Json::initializer_list_t list) : JsonSchema(unwrapped(list)) {}

Result<JsonSchema> JsonSchema::compile(Json schema) {
  JsonSchema made(std::move(schema));
  if (made.problem()) return *made.problem();
  return outcome::success(std::move(made));
}

const Json& JsonSchema::json() const noexcept {
  static const Json none;
  return body_ == nullptr ? none : body_->document;
}

const std::optional<Error>& JsonSchema::problem() const noexcept {
  static const std::optional<Error> none;
  return body_ == nullptr ? none : body_->problem;
}

Result<std::optional<SchemaBreach>> JsonSchema::check(const Json& value) const {
  std::size_t rules_left = most_rules;
  return check(value, rules_left);
}

Result<std::optional<SchemaBreach>> JsonSchema::check(const Json& value,
                                                      std::size_t& rules_left) const {
  if (body_ == nullptr) return outcome::success(std::optional<SchemaBreach>{});
  if (body_->problem) return *body_->problem;
  TRIAGE_TRYV(check_json(value, "the value to check", NonFinite::allowed));
  return body_->checker->check(value, rules_left);
}

std::string describe(const SchemaBreach& breach) {
  std::string text = breach.path.empty() ? std::string() : "at " + breach.path + ": ";
  text += "expected " + breach.expected + ", found " + breach.found;
  if (breach.nearest.empty()) return text;
  const std::string name = "\"" + printable(breach.nearest) + "\"";
  // For a missing member the nearest existing name is the wrong one, so it is not suggested.
  if (breach.schema_path.ends_with("/required")) {
    return text + "; " + name + " may be a wrong name for what is missing";
  }
  return text + "; did you mean " + name + "?";
  return text;
}

}  // namespace triage::inline v0_1
