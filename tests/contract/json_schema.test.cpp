// SPDX-License-Identifier: MIT
#include "triage/json_schema.hpp"

#include "contract/schema_support.hpp"
#include "support/catch.hpp"
#include "support/deep_values.hpp"
#include "support/result.hpp"

#include <limits>

using namespace triage;
using namespace triage::test;

TEST_CASE("a breach says where, what was expected, and what was found", "[classifier][schema]") {
  const JsonSchema schema{
      {"type", "object"},
      {"properties", {{"a/b", {{"type", "array"}, {"items", {{"type", "integer"}}}}}}},
      {"required", {"a/b"}}};
  REQUIRE_FALSE(schema.problem());
  CHECK(fits(schema, {{"a/b", {1, 2}}}));
  const auto wrong = breach_of(schema, {{"a/b", {1, "two"}}});
  REQUIRE(wrong);
  CHECK(wrong->path == "/a~1b/1");
  CHECK(wrong->schema_path == "/properties/a~1b/items/type");
  CHECK(wrong->expected == R"({"type":"integer"})");
  CHECK(wrong->found == R"("two")");
  CHECK(describe(*wrong) == R"(at /a~1b/1: expected {"type":"integer"}, found "two")");
  const auto missing = breach_of(schema, Json::object());
  REQUIRE(missing);
  CHECK(missing->path.empty());
  CHECK(missing->expected == R"({"required":["a/b"]})");
  const auto no_object = breach_of(schema, 5);
  REQUIRE(no_object);
  CHECK(no_object->schema_path == "/type");
}

TEST_CASE("members that are not allowed are named", "[classifier][schema]") {
  const JsonSchema schema(
      Json::parse(R"({"properties": {"url": {}}, "additionalProperties": false})"));
  const auto wrong = breach_of(schema, {{"url", 1}, {"uri", 2}});
  REQUIRE(wrong);
  CHECK(wrong->path == "/uri");
  CHECK(wrong->expected == "nothing here");
  CHECK(wrong->schema_path == "/additionalProperties");
}

TEST_CASE("the first broken member is told, not what comes after it", "[classifier][schema]") {
  const JsonSchema schema(Json::parse(R"({"additionalProperties": {"type": "string"}})"));
  const auto wrong = breach_of(schema, {{"a", 1}, {"b", "x"}, {"c", 2}});
  REQUIRE(wrong);
  CHECK(wrong->path == "/a");
  CHECK(wrong->schema_path == "/additionalProperties/type");
}

TEST_CASE("what failed in a branch that was only tried is not reported", "[classifier][schema]") {
  const JsonSchema schema(Json::parse(R"({"properties": {
      "a": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
      "b": {"not": {"type": "string"}},
      "c": {"if": {"type": "string"}, "then": {"minLength": 3}},
      "d": {"contains": {"type": "integer"}}}})"));
  CHECK(fits(schema, {{"a", nullptr}, {"b", 1}, {"c", 2}, {"d", {"x", 1}}}));
  CHECK(breach_of(schema, {{"a", nullptr}, {"b", "x"}})->schema_path == "/properties/b/not");
  CHECK(breach_of(schema, {{"a", "x"}})->schema_path == "/properties/a/anyOf");
  CHECK(breach_of(schema, {{"c", "xy"}})->schema_path == "/properties/c/if");
  CHECK(breach_of(schema, {{"d", {"x"}}})->schema_path == "/properties/d/contains");
  CHECK(breach_of(schema, {{"b", {}}, {"c", "xyz"}, {"d", {"x"}}})->path == "/d");
}

TEST_CASE("a schema that makes no sense is refused where it is wrong", "[classifier][schema]") {
  const auto refused = [](const char* text) { return problem_of(Json::parse(text)); };
  CHECK_THAT(refused(R"({"properties": {"a": {"type": "strin"}}})"),
             ContainsSubstring("at /properties/a/type"));
  CHECK_THAT(refused(R"({"items": {"minimum": "3"}})"), ContainsSubstring("/items/minimum"));
  CHECK_THAT(refused(R"({"items": 3})"), ContainsSubstring("/items"));
  CHECK_THAT(refused(R"({"multipleOf": 0})"), ContainsSubstring("/multipleOf"));
  CHECK_THAT(refused(R"({"maxLength": -1})"), ContainsSubstring("a whole number, 0 or more"));
  CHECK_THAT(refused(R"({"required": "a"})"), ContainsSubstring("/required"));
  CHECK_THAT(refused(R"({"anyOf": []})"), ContainsSubstring("/anyOf"));
  CHECK_THAT(refused(R"({"dependencies": {"a": [1]}})"), ContainsSubstring("/dependencies/a"));
  CHECK_THAT(refused(R"({"$ref": 5})"), ContainsSubstring("/$ref"));
  CHECK_THAT(refused("[]"), ContainsSubstring("its root"));
  CHECK_THAT(refused(R"({"$schema": "http://json-schema.org/draft-03/schema"})"),
             ContainsSubstring("draft 3"));
  Json deep = Json::object();
  for (int i = 0; i < 200; ++i) deep = Json{{"items", std::move(deep)}};
  CHECK(JsonSchema::compile(deep));
  for (int i = 0; i < 100; ++i) deep = Json{{"items", std::move(deep)}};
  CHECK_THAT(problem_of(std::move(deep)), ContainsSubstring("256"));
  Json wide = Json::object();
  for (int i = 0; i < 10'000; ++i) wide["definitions"]["d" + std::to_string(i)] = Json::object();
  CHECK_THAT(problem_of(std::move(wide)), ContainsSubstring("allowed are 10000"));
}

TEST_CASE("patterns are RE2's, and what it does not know is refused where it stands",
          "[classifier][schema]") {
  const auto refused = [](const char* text) { return problem_of(Json::parse(text)); };
  CHECK_THAT(refused(R"x({"properties": {"a": {"pattern": "^(?=x)"}}})x"),
             ContainsSubstring("/properties/a/pattern"));
  CHECK_THAT(refused(R"({"pattern": "(a)\\1"})"), ContainsSubstring("back-references"));
  CHECK_THAT(refused(R"({"pattern": "("})"), ContainsSubstring("/pattern"));
  CHECK_THAT(refused(R"x({"patternProperties": {"^(?!x)": {}}})x"),
             ContainsSubstring("/patternProperties/^(?!x)"));
  CHECK(fits(Json{{"pattern", "^\\u0041(?<rest>\\d+)$"}}, "A12"));
  CHECK_FALSE(fits(Json{{"pattern", "^\\u0041(?<rest>\\d+)$"}}, "B12"));
  CHECK(fits(Json{{"pattern", "\\\\u0041"}}, "\\u0041"));
}

TEST_CASE("a string of 10 MB against a pattern takes no stack and little time",
          "[classifier][schema]") {
  const std::string text(10'000'000, 'a');
  CHECK(fits(Json{{"pattern", "^(a|b)*$"}}, text));
  CHECK_FALSE(fits(Json{{"pattern", "^(a*)*c$"}}, text));
  CHECK_FALSE(
      fits(Json{{"patternProperties", {{"^(a|aa)+$", {{"type", "string"}}}}}}, {{text, 5}}));
  CHECK_FALSE(fits(Json{{"propertyNames", {{"pattern", "^b"}}}}, {{text, 5}}));
  CHECK(fits(Json{{"format", "date-time"}}, text));
  CHECK_FALSE(fits(Json{{"maxLength", 9'999'999}}, text));
}

TEST_CASE("references stay inside the schema and come to an end", "[classifier][schema]") {
  const auto refused = [](const char* text) { return problem_of(Json::parse(text)); };
  CHECK_THAT(refused(R"({"$ref": "#"})"), ContainsSubstring("back to itself"));
  CHECK_THAT(refused(R"({"$schema": "http://json-schema.org/draft-07/schema#", "$ref": "#"})"),
             ContainsSubstring("back to itself"));
  CHECK_THAT(refused(R"({"$ref": "#/definitions/a", "definitions":
      {"a": {"$ref": "#/definitions/b"}, "b": {"$ref": "#/definitions/a"}}})"),
             ContainsSubstring("back to itself"));
  CHECK_THAT(refused(R"({"items": {"$ref": "#/definitions/a"}, "definitions":
      {"a": {"$ref": "#/definitions/b"}, "b": {"$ref": "#/definitions/b"}}})"),
             ContainsSubstring("back to itself"));
  CHECK_THAT(refused(R"({"allOf": [{"$ref": "#"}]})"), ContainsSubstring("/allOf/0"));
  CHECK_THAT(refused(R"({"definitions": {"a": {"not": {"$ref": "#/definitions/b"}},
      "b": {"dependencies": {"x": {"anyOf": [true, {"$ref": "#/definitions/a"}]}}}}})"),
             ContainsSubstring("never end"));
  CHECK_THAT(refused(R"({"items": {"$ref": "https://example.org/s.json"}})"),
             ContainsSubstring("/items/$ref"));
  CHECK_THAT(refused(R"({"items": {"$ref": "file:///etc/passwd"}})"),
             ContainsSubstring("outside of the schema"));
  CHECK_THAT(refused(R"({"items": {"$ref": "other.json#/a"}})"), ContainsSubstring("outside"));
  CHECK_THAT(refused(R"({"items": {"$ref": "#/nowhere"}})"),
             ContainsSubstring("not in the schema"));
  const JsonSchema tree(Json::parse(
      R"({"type": "object", "properties": {"left": {"$ref": "#"}}, "required": ["n"]})"));
  CHECK(fits(tree, Json::parse(R"({"n": 1, "left": {"n": 2, "left": {"n": 3}}})")));
  CHECK(breach_of(tree, Json::parse(R"({"n": 1, "left": {"n": 2, "left": {}}})"))->path ==
        "/left/left");
}

TEST_CASE("a definition with a condition is no riddle", "[classifier][schema]") {
  // A condition beside a reference to itself must not recurse.
  const JsonSchema schema(Json::parse(R"({"definitions": {"a": {
      "if": {"type": "string"}, "then": {"minLength": 2}, "propertyNames": {"maxLength": 1}}},
      "allOf": [{"$ref": "#/definitions/a"}]})"));
  CHECK(fits(schema, "ab"));
  CHECK_FALSE(fits(schema, "a"));
  CHECK_FALSE(fits(schema, {{"long", 1}}));
}

TEST_CASE("deep values are checked down to the limit and refused beyond it",
          "[classifier][schema]") {
  const JsonSchema schema(Json::parse(R"({"type": "array", "items": {"$ref": "#"}})"));
  CHECK(fits(schema, nested_arrays(256)));
  const auto refused = schema.check(nested_arrays(257));
  REQUIRE_FALSE(refused);
  CHECK_THAT(refused.error().detail, ContainsSubstring("256"));
  CHECK_FALSE(schema.check(Json::binary({1})));
}

TEST_CASE("a schema that multiplies work is given up in time", "[classifier][schema]") {
  const auto checked = schema_that_multiplies().check(nested_arrays(61));
  REQUIRE_FALSE(checked);
  CHECK(checked.error().code == Errc::unsupported);
  // A long chain of schemas for one value: many levels of calls.
  Json chain = Json::object();
  for (int i = 0; i < 9'000; ++i) {
    chain["definitions"]["d" + std::to_string(i)] = {
        {"not", {{"$ref", "#/definitions/d" + std::to_string(i + 1)}}}};
  }
  chain["definitions"]["d9000"] = true;
  chain["properties"]["a"]["$ref"] = "#/definitions/d0";
  const auto long_chain = JsonSchema::compile(std::move(chain));
  REQUIRE_FALSE(long_chain);  // 9,000 definitions with a `not` each are 18,000 subschemas.
}

namespace {

// Applies `leaf` to the value 10 to the power of `levels` times.
JsonSchema many_times(int levels, const Json& leaf) {
  Json schema{{"$ref", "#/$defs/a0"}};
  for (int level = 0; level < levels; ++level) {
    const Json next{{"$ref", "#/$defs/a" + std::to_string(level + 1)}};
    schema["$defs"]["a" + std::to_string(level)]["allOf"] = Json(10, next);
  }
  schema["$defs"]["a" + std::to_string(levels)] = leaf;
  return schema;
}

}  // namespace

TEST_CASE("a schema that looks at a large value again and again is given up in time",
          "[classifier][schema]") {
  Json list = Json::array();
  Json object = Json::object();
  Json names = Json::array();
  for (int i = 0; i < 5'000; ++i) {
    list.push_back(i);
    object["m" + std::to_string(i)] = i;
    names.push_back("m" + std::to_string(i));
  }
  const Json text(std::string(200'000, 'x'));
  const std::pair<Json, Json> costly[] = {
      {{{"uniqueItems", true}}, list},
      {{{"const", list}}, list},
      {{{"enum", {list, text}}}, text},
      {{{"maxLength", 200'000}}, text},
      {{{"pattern", "^x+$"}}, text},
      {{{"properties", {{"a", true}}}}, object},
      {{{"patternProperties", {{"^a", true}}}}, object},
      {{{"propertyNames", true}}, object},
      {{{"required", names}}, object},
      {{{"dependentRequired", {{"m1", names}}}}, object},
      {{{"items", true}}, list},
      {{{"contains", true}, {"minContains", 5'000}}, list},
      {{{"properties", {{"m1", true}}}, {"unevaluatedProperties", true}}, object},
      {{{"unevaluatedItems", true}}, list}};
  for (const auto& [leaf, value] : costly) {
    INFO(show(leaf).substr(0, 60));
    CHECK(fits(many_times(1, leaf), value));
    CHECK_ERRC(Errc::unsupported, many_times(4, leaf).check(value));
  }
  CHECK_ERRC(Errc::unsupported, many_times(6, true).check(1));
}

TEST_CASE("a large document is checked to its end by an ordinary schema", "[classifier][schema]") {
  const JsonSchema schema(Json::parse(R"({"type": "array", "items": {
      "type": "object", "required": ["id", "name"], "additionalProperties": false,
      "properties": {"id": {"type": "integer", "minimum": 0},
                     "name": {"type": "string", "minLength": 1, "maxLength": 80},
                     "kind": {"enum": ["a", "b", "c"]},
                     "tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": true},
                     "note": {"anyOf": [{"type": "null"}, {"type": "string", "pattern": "."}]}}}})"));
  Json row{{"id", 7}, {"name", "somebody"}, {"kind", "c"}, {"tags", {"x", "y"}}};
  row["note"] = std::string(40, 'n');
  Json document = Json::array();
  for (int i = 0; i < 80'000; ++i) document.push_back(row);  // 8 MB.
  CHECK(fits(schema, document));
  document.back()["tags"][1] = "x";
  const auto wrong = breach_of(schema, document);
  REQUIRE(wrong);
  CHECK(wrong->path == "/79999/tags");
}

TEST_CASE("a chain of schemas that would use up the stack is given up", "[classifier][schema]") {
  Json chain = Json::object();  // 80 schemas on each of 250 levels.
  const int links = 80;
  for (int i = 0; i < links; ++i) {
    chain["$defs"]["d" + std::to_string(i)] = {
        {"not", {{"not", {{"$ref", "#/$defs/d" + std::to_string(i + 1)}}}}}};
  }
  chain["$defs"]["d" + std::to_string(links)] = {{"items", {{"$ref", "#/$defs/d0"}}}};
  chain["$ref"] = "#/$defs/d0";
  const auto compiled = JsonSchema::compile(std::move(chain));
  REQUIRE(compiled);
  CHECK(fits(compiled.value(), nested_arrays(2)));
  const auto checked = compiled.value().check(nested_arrays(250));
  REQUIRE_FALSE(checked);
  CHECK(checked.error().code == Errc::unsupported);
  CHECK_THAT(checked.error().detail, ContainsSubstring("MB of stack"));
}

TEST_CASE("values with odd bytes are checked like any other", "[classifier][schema]") {
  const JsonSchema schema(
      Json::parse(R"({"properties": {"a": {"type": "string", "pattern": "^x", "maxLength": 4}}})"));
  CHECK(fits(schema, {{"a", "x\xff\xfe"}}));
  const auto wrong = breach_of(schema, {{"a", std::string("\xff\0y", 3)}});
  REQUIRE(wrong);
  CHECK(wrong->found.find('\xff') == std::string::npos);
  CHECK_FALSE(fits(schema, {{"a", std::string("x\0yzz", 5)}}));
  CHECK(fits(schema, {{std::string("a\0b", 3), 5}}));
}

TEST_CASE("uniqueness of many elements is no matter of their square", "[classifier][schema]") {
  const JsonSchema schema{{"uniqueItems", true}};
  Json many = Json::array();
  for (int i = 0; i < 200'000; ++i) many.push_back(i);
  CHECK(fits(schema, many));
  many.push_back(77.0);
  CHECK_FALSE(fits(schema, many));
}

TEST_CASE("elements are told apart exactly, however large and of whatever kind",
          "[classifier][schema]") {
  const JsonSchema schema{{"uniqueItems", true}};
  const std::int64_t large = std::int64_t{1} << 53;
  CHECK(fits(schema, {large, large + 1, static_cast<double>(large) + 2}));
  CHECK_FALSE(fits(schema, {large + 1, static_cast<double>(large), large}));
  CHECK(fits(schema, {{{"n", large + 1}}, {{"n", static_cast<double>(large)}}}));
  CHECK(fits(schema, {-1, std::numeric_limits<std::uint64_t>::max(), 1.8e19}));
  CHECK(fits(schema, {1, "1", true, nullptr, {1}, {{"1", 1}}, {1, 1}, {{"1", 1}, {"2", 1}}}));
  CHECK_FALSE(fits(schema, {{1, 2}, {1.0, 2.0}}));
  Json many = Json::array();
  for (std::int64_t i = 0; i < 2000; ++i) {
    many.push_back(large + 2 * i + 1);
    many.push_back(static_cast<double>(large + 2 * i));
  }
  CHECK(fits(schema, many));
}

TEST_CASE("decimal fractions divide as people expect", "[classifier][schema]") {
  CHECK(fits(Json{{"multipleOf", 0.01}}, 1234567.89));
  CHECK_FALSE(fits(Json{{"multipleOf", 0.01}}, 1234567.895));
  CHECK_FALSE(fits(Json{{"multipleOf", 2}}, 4.5));
  CHECK(fits(Json{{"multipleOf", 2}}, -4));
}

TEST_CASE("whole numbers of 64 bits are divided exactly", "[classifier][schema]") {
  const std::int64_t odd = (std::int64_t{1} << 53) + 1;
  const auto most = std::numeric_limits<std::uint64_t>::max();
  for (const Json& two : {Json(2), Json(2.0)}) {
    CHECK_FALSE(fits(Json{{"multipleOf", two}}, odd));
    CHECK_FALSE(fits(Json{{"multipleOf", two}}, -odd));
    CHECK(fits(Json{{"multipleOf", two}}, odd + 1));
    CHECK_FALSE(fits(Json{{"multipleOf", two}}, most));
    CHECK(fits(Json{{"multipleOf", two}}, std::numeric_limits<std::int64_t>::min()));
  }
  CHECK(fits(Json{{"multipleOf", odd}}, odd));
  CHECK_FALSE(fits(Json{{"multipleOf", odd}}, odd - 1));
  CHECK(fits(Json{{"multipleOf", most}}, most));
  CHECK(fits(Json{{"multipleOf", 0.5}}, odd));
}

TEST_CASE("copies of a schema share what was compiled", "[classifier][schema]") {
  const JsonSchema schema{{"type", "string"}};
  const JsonSchema copy = schema;
  CHECK(&copy.json() == &schema.json());
  CHECK(JsonSchema().empty());
  CHECK(fits(JsonSchema(), 5));
  CHECK(JsonSchema(Json()).empty());
  CHECK(JsonSchema(false).check(1).value().has_value());
  const Json json{{"type", "string"}};
  CHECK_FALSE(fits(JsonSchema{json}, 5));
}
