// SPDX-License-Identifier: MIT
// Steps whose JSON values are given as bytes.
#include "triage/contract.hpp"

#include "fuzz/record_decoder.hpp"
#include "fuzz/step_values.hpp"
#include "support/kit.hpp"
#include "support/result.hpp"

using namespace triage;
using namespace triage::test;

namespace {

using Format = StepValues::Format;

std::string nested(int depth, char open, char close) {
  const auto levels = static_cast<std::size_t>(depth);
  return std::string(levels, open) + std::string(levels, close);
}

std::string cbor(const Json& value) {
  std::string bytes;
  detail::encode_cbor(value, bytes);
  return bytes;
}

Error problem_of(const StepValues& values) {
  const auto encoded = detail::encode_step({}, values);
  REQUIRE(!encoded);
  return encoded.error();
}

// What an agent reads back that records one step, and the error of its run.
struct OneStep {
  Kit kit{};
  AgentOptions options{};
  Trajectory seen{};
  Error error{};

  void record(const Step& step, const StepValues& values) {
    const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                              attempt.record_step(step, values);
                              seen = attempt.trajectory();
                              return 1;
                            },
                            escalating(), options};
    const auto result = agent.run("x");
    if (!result) error = result.error();
  }
};

}  // namespace

TEST_CASE("a step is read back alike whether its values were trees or bytes", "[step_values]") {
  const Json input{{"url", "x"}, {"ids", {1, 2, 3}}};
  const bool stores = GENERATE(false, true);
  const Format format = GENERATE(Format::json, Format::cbor);
  OneStep one;
  if (stores) one.options = one.kit.options();
  const std::string bytes =
      format == Format::json ? R"( {"url": "x", "ids": [1, 2, 3]} )" : cbor(input);
  const std::string nothing = format == Format::json ? "null" : cbor(nullptr);
  one.record({.action = "fetch", .tool_output = 7, .error = "no"},
             {.tool_input = bytes, .metadata = nothing, .format = format});
  REQUIRE(one.seen.size() == 1);
  CHECK(one.seen[0] ==
        Step{.action = "fetch", .tool_input = input, .tool_output = 7, .error = "no"});
}

TEST_CASE("observers and contracts see a step whose values came as bytes", "[step_values]") {
  OneStep one;
  auto log = std::make_shared<EventLog>();
  one.options = one.kit.options();
  one.options.observer = log;
  one.options.contract = {.tools = {{.name = "fetch", .input_schema = {{"required", {"url"}}}}}};
  one.record({.tool_called = "fetch"}, {.tool_input = R"({"ur": 1})"});
  CHECK(one.seen.back().tool_input == Json{{"ur", 1}});
  CHECK(log->count(EventKind::step_recorded) == 1);
  CHECK(log->count(EventKind::contract_broken) == 1);
}

TEST_CASE("bytes that are no value are a sticky error that names field and place",
          "[step_values]") {
  OneStep one;
  one.record({}, {.tool_output = R"({"a": tru})"});
  CHECK(one.error.code == Errc::invalid_argument);
  CHECK_THAT(one.error.detail,
             ContainsSubstring("a step's tool_output is not JSON: a value is expected, at byte 6"));
  CHECK(one.seen.empty());
  CHECK_THAT(problem_of({.tool_input = "1 2"}).detail,
             ContainsSubstring("something follows the value, at byte 2"));
  CHECK_THAT(problem_of({.metadata = "\x5f\xff", .format = Format::cbor}).detail,
             ContainsSubstring("a step's metadata is not CBOR that can be stored"));
}

TEST_CASE("a value is given as a tree or as bytes, not both", "[step_values]") {
  const auto encoded = detail::encode_step({.tool_input = 1}, {.tool_input = "2"});
  CHECK_ERRC(Errc::invalid_argument, encoded);
  CHECK_THAT(encoded.error().detail, ContainsSubstring("a step's tool_input is given twice"));
  const Json deep = Json::parse(nested(max_json_depth + 1, '[', ']'));
  CHECK_ERRC(Errc::invalid_argument,
             detail::encode_step({.tool_input = deep}, {.tool_output = "2"}));
}

TEST_CASE("values as bytes are as deep as trees may be, and no deeper", "[step_values]") {
  const std::string most = nested(max_json_depth, '[', ']');
  CHECK(stored_with(most, Format::json) == stored_as_tree(most));
  for (const std::string& deeper : {nested(max_json_depth + 1, '[', ']'), std::string(1 << 20, '['),
                                    std::string(1 << 20, '{')}) {
    const Error error = problem_of({.tool_input = deeper});
    CHECK(error.code == Errc::invalid_argument);
  }
  CHECK_THAT(problem_of({.tool_input = std::string(1 << 20, '[')}).detail,
             ContainsSubstring("nested deeper than 256 levels"));
  CHECK(!stored_with(std::string(255, '\x81') + '\x80', Format::cbor).empty());
  CHECK_THAT(
      problem_of({.tool_input = std::string(1 << 20, '\x81'), .format = Format::cbor}).detail,
      ContainsSubstring("nested deeper than 256 levels"));
}

TEST_CASE("a large array of bytes is stored or refused in little more memory", "[step_values]") {
  // Claimed sizes are not believed.
  CHECK(stored_with("\x9b\x7f\xff\xff\xff\xff\xff\xff\xff", Format::cbor).empty());
  CHECK(stored_with("\xbb\x7f\xff\xff\xff\xff\xff\xff\xff", Format::cbor).empty());
  CHECK(stored_with("\x7b\xff\xff\xff\xff\xff\xff\xff\xff", Format::cbor).empty());
}

TEST_CASE("the record decoder's seeds hold as a step's values", "[step_values]") {
  for (const std::string& seed : decoder_seeds()) store_and_check(seed);
  for (const std::string_view seed :
       {"{}", "[]", R"({"b": 1, "a": 2, "b": 3})", R"("\ud83d\ude00")", R"("\ud83d")",
        "\xEF\xBB\xBF[1]", R"({"a": [null, true, false, -1.5e3]})", "\"\xC3\"", R"("\u0000")",
        "[1,]", "{\"a\"}"}) {
    store_and_check(seed);
  }
}
