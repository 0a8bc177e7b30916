// SPDX-License-Identifier: MIT
// Additions of drafts after 7.
#include "triage/json_schema.hpp"

#include "contract/schema_support.hpp"
#include "support/catch.hpp"

using namespace triage;
using namespace triage::test;

TEST_CASE("without a draft a schema means what it means today, old spellings included",
          "[classifier][schema]") {
  const JsonSchema schema(Json::parse(R"({
      "prefixItems": [{"type": "string"}], "items": {"type": "integer"},
      "$defs": {"a": {"$anchor": "here", "type": "string"}},
      "definitions": {"b": {"items": [{"type": "null"}], "additionalItems": false}},
      "dependentRequired": {"x": ["y"]}, "dependencies": {"v": ["w"]},
      "properties": {"z": {"$ref": "#here", "minLength": 2}, "b": {"$ref": "#/definitions/b"}}})"));
  REQUIRE_FALSE(schema.problem());
  CHECK(fits(schema, {"a", 1, 2}));
  CHECK_FALSE(fits(schema, {"a", "b", 2}));
  CHECK_FALSE(fits(schema, {{"x", 1}}));
  CHECK_FALSE(fits(schema, {{"v", 1}}));
  CHECK_FALSE(fits(schema, {{"z", 1}}));
  CHECK_FALSE(fits(schema, {{"z", "a"}}));  // What is beside a reference counts …
  CHECK(fits(schema, {{"z", "ab"}, {"b", Json::array({nullptr})}}));
  CHECK_FALSE(fits(schema, {{"b", {nullptr, 1}}}));
  const JsonSchema old(Json::parse(R"({"$schema": "http://json-schema.org/draft-07/schema#",
      "$defs": {"a": {"type": "string"}}, "properties": {"z": {"$ref": "#/$defs/a",
      "minLength": 2}}, "unevaluatedProperties": false})"));
  CHECK(fits(old, {{"z", "a"}, {"y", 1}}));  // … but not in draft 7, which has no unevaluated….
}

TEST_CASE("how many elements must fit is counted", "[classifier][schema]") {
  const JsonSchema schema(
      Json::parse(R"({"contains": {"type": "integer"}, "minContains": 2, "maxContains": 3})"));
  CHECK_FALSE(fits(schema, {1, "a"}));
  CHECK(fits(schema, {1, "a", 2}));
  CHECK_FALSE(fits(schema, {1, 2, 3, 4}));
  const JsonSchema none(Json::parse(R"({"contains": {"type": "integer"}, "minContains": 0})"));
  CHECK(fits(none, Json::array()));
  CHECK_THAT(problem_of(Json::parse(R"({"minContains": -1})")), ContainsSubstring("/minContains"));
}

TEST_CASE("what no other rule has looked at is asked about last", "[classifier][schema]") {
  const JsonSchema members(Json::parse(R"({
      "properties": {"a": true}, "anyOf": [{"properties": {"b": {"type": "integer"}}},
      {"patternProperties": {"^c": {"type": "integer"}}}], "if": {"required": ["d"]},
      "then": {"properties": {"d": true}}, "unevaluatedProperties": false})"));
  CHECK(fits(members, {{"a", 1}, {"b", 2}, {"c1", 3}, {"d", 4}}));
  const auto unknown = breach_of(members, {{"a", 1}, {"e", 2}});
  REQUIRE(unknown);
  CHECK(unknown->path == "/e");
  CHECK(unknown->schema_path == "/unevaluatedProperties");
  // A branch that does not match has evaluated nothing.
  CHECK(breach_of(members, {{"b", "text"}})->path == "/b");
  const JsonSchema refused(Json::parse(R"({"anyOf": [true, {"properties": {"b": true},
      "not": {"required": ["b"]}}], "unevaluatedProperties": false})"));
  CHECK(breach_of(refused, {{"b", 1}})->path == "/b");
  const JsonSchema items(Json::parse(R"({"prefixItems": [true],
      "contains": {"type": "string"}, "unevaluatedItems": {"type": "null"}})"));
  CHECK(fits(items, {1, "a", nullptr}));
  CHECK(breach_of(items, {1, "a", 2})->path == "/2");
}

TEST_CASE("a schema that another one extends is asked again by its dynamic anchor",
          "[classifier][schema]") {
  const JsonSchema strict(Json::parse(R"({"$id": "https://example.org/strict",
      "$dynamicAnchor": "node", "$ref": "tree", "unevaluatedProperties": false,
      "$defs": {"tree": {"$id": "tree", "$dynamicAnchor": "node", "type": "object",
      "properties": {"data": true, "children": {"items": {"$dynamicRef": "#node"}}}}}})"));
  REQUIRE_FALSE(strict.problem());
  CHECK(fits(strict, Json::parse(R"({"children": [{"data": 1}, {"children": []}]})")));
  const auto misspelt = breach_of(strict, Json::parse(R"({"children": [{"daat": 1}]})"));
  REQUIRE(misspelt);
  CHECK(misspelt->path == "/children/0/daat");
  // An endless reference to the same value is not detected in advance; the check gives up.
  const JsonSchema endless(Json::parse(R"({"$dynamicAnchor": "a", "$dynamicRef": "#a"})"));
  const auto checked = endless.check(1);
  REQUIRE_FALSE(checked);
  CHECK(checked.error().code == Errc::unsupported);
}

TEST_CASE("a misspelt member is told which name is most like it", "[classifier][schema]") {
  const JsonSchema schema(Json::parse(R"({"properties": {"url": {}, "timeout_s": {}},
      "required": ["url"], "additionalProperties": false})"));
  const auto unknown = breach_of(schema, {{"url", 1}, {"timout_s", 5}});
  REQUIRE(unknown);
  CHECK(unknown->nearest == "timeout_s");
  CHECK_THAT(describe(*unknown), ContainsSubstring("did you mean \"timeout_s\"?"));
  const auto missing = breach_of(schema, {{"ulr", 1}});
  REQUIRE(missing);
  CHECK(missing->schema_path == "/required");
  CHECK(missing->nearest == "ulr");
  CHECK_THAT(describe(*missing),
             ContainsSubstring("; \"ulr\" may be a wrong name for what is missing"));
  CHECK(breach_of(schema, {{"url", 1}, {"retries", 5}})->nearest.empty());
}
