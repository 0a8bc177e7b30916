// SPDX-License-Identifier: MIT
// Generated contracts with runs that fulfil and runs that break them, with any wording or none; and
// generated schemas.
#include "triage/clock.hpp"
#include "triage/contract.hpp"
#include "triage/json_schema.hpp"

#include "classifier/support.hpp"
#include "support/catch.hpp"

#include <map>

using namespace triage;

namespace {

// A schema, a matching value, and values that do not match.
struct Shape {
  Json schema{};
  Json fits{};
  std::vector<Json> breaks{};
};

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seeded_random(seed)) {}

  std::uint64_t below(std::uint64_t n) { return random_->next() % n; }
  bool chance(std::uint64_t percent) { return below(100) < percent; }
  std::string name() {
    static const std::vector<std::string> parts = {"get",  "web",  "find", "save", "list",
                                                   "file", "page", "user", "mail", "row"};
    return parts[below(parts.size())] + '_' + parts[below(parts.size())] + '_' +
           std::to_string(below(1'000));
  }

  Shape shape(int depth) {
    switch (below(depth > 2 ? 4U : 6U)) {
      case 0: return text();
      case 1: return whole_number();
      case 2: return {{{"type", "boolean"}}, chance(50), {"true", 1, nullptr, Json::array({true})}};
      case 3: return choice();
      case 4: return list(depth);
      default: return object(depth);
    }
  }

  Shape object(int depth) {
    Shape made{{{"type", "object"}, {"properties", Json::object()}}, Json::object(), {}};
    Json required = Json::array();
    for (std::uint64_t i = 0, members = 1 + below(4); i < members; ++i) {
      const std::string key = name();
      if (made.fits.contains(key)) continue;
      const Shape member = shape(depth + 1);
      made.schema["properties"][key] = member.schema;
      made.fits[key] = member.fits;
      if (chance(60)) required.push_back(key);
    }
    for (const auto& [key, schema] : made.schema["properties"].items()) {
      for (const Json& wrong : breaks_of_[schema.dump()]) {
        made.breaks.push_back(made.fits);
        made.breaks.back()[key] = wrong;
      }
    }
    for (const Json& key : required) {
      made.breaks.push_back(made.fits);
      made.breaks.back().erase(key.get<std::string>());
    }
    if (!required.empty()) made.schema["required"] = required;
    if (chance(40)) {
      made.schema["additionalProperties"] = false;
      made.breaks.push_back(made.fits);
      made.breaks.back()["nobody knows this"] = 1;
    }
    made.breaks.emplace_back(5);
    made.breaks.emplace_back("no JSON");
    return kept(made);
  }

 private:
  Shape kept(Shape made) {
    breaks_of_[made.schema.dump()] = made.breaks;
    return made;
  }
  Shape text() {
    if (chance(50)) return kept({{{"type", "string"}}, name(), {5, nullptr, Json::object()}});
    return kept({{{"type", "string"}, {"pattern", "^[a-z]+_[a-z]+_[0-9]+$"}, {"minLength", 3}},
                 name(),
                 {"", "Not So", 5}});
  }
  Shape whole_number() {
    return kept({{{"type", "integer"}, {"minimum", 1}, {"maximum", 1'000}},
                 1 + below(1'000),
                 {0, 1'001, 1.5, "7", nullptr}});
  }
  Shape choice() {
    return kept({{{"enum", {"asc", "desc", 3}}}, "desc", {"descending", 4, nullptr}});
  }
  Shape list(int depth) {
    const Shape item = shape(depth + 1);
    Shape made{{{"type", "array"}, {"items", item.schema}, {"minItems", 1}},
               Json::array({item.fits, item.fits}),
               {Json::array(), Json::object(), "[]"}};
    for (const Json& wrong : item.breaks) made.breaks.push_back(Json::array({item.fits, wrong}));
    return kept(made);
  }

  std::shared_ptr<Random> random_;
  std::map<std::string, std::vector<Json>> breaks_of_{};
};

Failure any_wording(Generator& make) {
  static const std::vector<std::string> wordings = {
      "",
      "it failed",
      "HTTP 429 Too Many Requests, retry after 20 seconds",
      "context deadline exceeded",
      "This model's maximum context length is 8192 tokens",
      "You exceeded your current quota, please check your plan and billing details",
      "unknown tool: fetch_page",
      "1 validation error: field required (type=value_error.missing)",
      "Segmentation fault (core dumped)",
      "permission denied",
      "\xff\xfe\x01 \xc3",
      "la conexión ha caducado",
  };
  Failure failure{.text = wordings[make.below(wordings.size())]};
  if (make.chance(20)) failure.http_status = make.chance(50) ? 503 : 401;
  if (make.chance(10)) failure.exception_type = "TimeoutError";
  return failure;
}

struct Case {
  AgentContract contract{};
  std::vector<Step> steps{};
  std::vector<Shape> shapes{};
};

// Calls that fulfil the contract. A counter makes them differ, because a loop is another failure.
Step clean_call(Generator& make, const Case& given, int counter) {
  const std::size_t tool = make.below(given.shapes.size());
  const ToolContract& promised = given.contract.tools[tool];
  Step step{.tool_called = make.chance(20) ? promised.aliases.front() : promised.name,
            .tool_input = given.shapes[tool].fits,
            .llm_output = "I call it for the " + std::to_string(counter) + "th time"};
  step.tool_input["counter"] = counter;
  if (make.chance(20)) step.tool_input = step.tool_input.dump();
  return step;
}

Case clean_case(Generator& make) {
  Case made;
  for (std::uint64_t i = 0, tools = 1 + make.below(5); i < tools; ++i) {
    Shape shape = make.object(0);
    shape.schema["properties"]["counter"] = {{"type", "integer"}};
    const std::string name = make.name() + "_" + std::to_string(i);
    made.contract.tools.push_back(
        {.name = name, .aliases = {name + "_alias"}, .input_schema = shape.schema});
    made.shapes.push_back(std::move(shape));
  }
  for (int i = 0, calls = static_cast<int>(make.below(6)); i < calls; ++i) {
    made.steps.push_back(clean_call(make, made, i));
  }
  return made;
}

}  // namespace

TEST_CASE("every broken contract is found, whatever the words, and only where it is broken",
          "[classifier][contract]") {
  int wrong_tools = 0;
  int wrong_inputs = 0;
  for (std::uint64_t seed = 1; seed <= 1'500; ++seed) {
    INFO("seed " << seed);
    Generator make(seed);
    Case made = clean_case(make);
    REQUIRE(check_contract(made.contract));
    const Failure failure = any_wording(make);
    const Trajectory clean = test::trajectory_of(made.steps);
    for (const Evidence& evidence :
         default_classifier()
             ->classify({.failure = failure, .trajectory = clean, .contract = &made.contract})
             .evidence) {
      INFO(evidence.detail);
      CHECK(evidence.source != "contract");
    }

    const std::size_t tool = make.below(made.shapes.size());
    const bool wrong_tool = make.chance(40);
    Step broken = clean_call(make, made, 100);
    if (wrong_tool) {
      broken.tool_called = make.chance(50) ? made.contract.tools[tool].name + "x" : "search";
    } else {
      const Shape& shape = made.shapes[tool];
      broken.tool_called = made.contract.tools[tool].name;
      broken.tool_input = shape.breaks[make.below(shape.breaks.size())];
      if (broken.tool_input.is_object() && make.chance(20))
        broken.tool_input = broken.tool_input.dump();
    }
    if (make.chance(30)) broken.error = any_wording(make).text;
    made.steps.push_back(broken);
    INFO(show(broken.tool_input));
    const Trajectory steps = test::trajectory_of(made.steps);
    for (const bool with_model : {false, true}) {
      RulesClassifier rules;
      Classifier& judge = with_model ? *default_classifier() : static_cast<Classifier&>(rules);
      const Classification found =
          judge.classify({.failure = failure, .trajectory = steps, .contract = &made.contract});
      CHECK(found.type ==
            (wrong_tool ? FailureType::wrong_tool_called : FailureType::schema_mismatch));
      CHECK(found.reason == (wrong_tool ? "tool_not_in_manifest" : "tool_input_mismatch"));
      REQUIRE_FALSE(found.evidence.empty());
      CHECK(found.evidence.front().source == "contract");
      CHECK(found.evidence.front().step == made.steps.size() - 1);
    }
    ++(wrong_tool ? wrong_tools : wrong_inputs);
  }
  CHECK(wrong_tools > 400);
  CHECK(wrong_inputs > 600);
}

namespace {

// Random JSON with many schema keywords and values of right and wrong shapes.
class AnySchema {
 public:
  explicit AnySchema(std::uint64_t seed) : random_(seeded_random(seed)) {}

  Json schema(int depth) {
    if (depth == 0 || below(10) == 0) return leaf();
    Json made = Json::object();
    for (std::uint64_t i = 0, members = below(4); i < members; ++i) {
      static const std::vector<std::string> keywords = {"$ref",
                                                        "additionalItems",
                                                        "additionalProperties",
                                                        "allOf",
                                                        "anyOf",
                                                        "const",
                                                        "contains",
                                                        "definitions",
                                                        "$defs",
                                                        "dependencies",
                                                        "enum",
                                                        "if",
                                                        "then",
                                                        "else",
                                                        "items",
                                                        "maximum",
                                                        "minLength",
                                                        "multipleOf",
                                                        "not",
                                                        "oneOf",
                                                        "pattern",
                                                        "maxItems",
                                                        "patternProperties",
                                                        "prefixItems",
                                                        "unevaluatedProperties",
                                                        "unevaluatedItems",
                                                        "$dynamicRef",
                                                        "$dynamicAnchor",
                                                        "minContains",
                                                        "properties",
                                                        "required",
                                                        "propertyNames",
                                                        "type",
                                                        "uniqueItems",
                                                        "$id",
                                                        "$schema",
                                                        "$anchor",
                                                        "exclusiveMinimum",
                                                        "format",
                                                        "a"};
      made[keywords[below(keywords.size())]] = below(4) == 0 ? leaf() : nested(depth - 1);
    }
    return made;
  }

 private:
  std::uint64_t below(std::uint64_t n) { return random_->next() % n; }
  Json nested(int depth) {
    switch (below(4)) {
      case 0: return Json::array({schema(depth), schema(depth)});
      case 1: return {{"a", schema(depth)}, {"^b", schema(depth)}};
      default: return schema(depth);
    }
  }
  Json leaf() {
    static const std::vector<Json> leaves = {
        nullptr,  true,  false, 0,        -1,  3,         1e300,
        "#",      "#/a", "a",   "object", "^", "integer", "#/definitions/a",
        "(?=a)",  "[",   0.1,   "\xff",   "",  "#/items", Json::array({"a", "^b"}),
        "string", "b",   1,     "array",  2,   "number",  Json::array({"string", "null"})};
    return leaves[below(leaves.size())];
  }

  std::shared_ptr<Random> random_;
};

}  // namespace

TEST_CASE("no schema crashes, whatever it holds", "[classifier][schema]") {
  int compiled = 0;
  int breached = 0;
  for (std::uint64_t seed = 1; seed <= 20'000; ++seed) {
    INFO("seed " << seed);
    AnySchema make(seed);
    const JsonSchema schema(make.schema(4));
    if (schema.problem()) {
      CHECK(schema.problem()->code == Errc::invalid_argument);
      continue;
    }
    ++compiled;
    for (int i = 0; i < 4; ++i) {
      const auto checked = schema.check(make.schema(4));
      if (checked && checked.value()) {
        ++breached;
        CHECK_FALSE(checked.value()->expected.empty());
      }
    }
  }
  CHECK(compiled > 1'000);
  CHECK(breached > 500);
}
