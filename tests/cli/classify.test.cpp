// SPDX-License-Identifier: MIT
// `triage classify`: its answers, and that no input stops it.
#include "cli/stores.hpp"
#include "documents/failure_json.hpp"

#include <fstream>

using namespace triage;
using namespace triage::test;

namespace {

struct Answers {
  int status = -1;
  std::vector<Json> lines{};
};

Answers classify_text(const std::string& input) {
  const TempFolder folder;
  std::ofstream(folder.file("in"), std::ios::binary) << input;
  const Printed printed = run_program(
      {"/bin/sh", "-c",
       std::string("exec '") + TRIAGE_COMMAND + "' classify < '" + (folder.file("in")) + "'"});
  Answers answers{.status = printed.status};
  std::size_t begin = 0;
  while (begin < printed.out.size()) {
    const std::size_t end = printed.out.find('\n', begin);
    REQUIRE(end != std::string::npos);
    answers.lines.push_back(Json::parse(printed.out.substr(begin, end - begin)));
    begin = end + 1;
  }
  return answers;
}

Json classify_one(const Json& failure) {
  const Answers answers = classify_text(failure.dump() + "\n");
  REQUIRE(answers.lines.size() == 1);
  CHECK(answers.status == 0);
  return answers.lines.front();
}

}  // namespace

TEST_CASE("classify prints one line of JSON a failure, with every field", "[cli][classify]") {
  const Json found = classify_one({{"error", "Too Many Requests"},
                                   {"http_status", 429},
                                   {"headers", {{"Retry-After", "20"}}},
                                   {"nobody_knows_this_field", 1}});
  CHECK(found["type"] == "external_fault");
  CHECK(found["reason"] == "rate_limited");
  CHECK(found["confidence"].get<double>() > 0.8);
  CHECK(found["retry_after_s"] == 20.0);
  CHECK(found["critical_step"].is_null());
  REQUIRE(!found["evidence"].empty());
  CHECK(found["evidence"][0]["suggests"] == "external_fault");
  CHECK(found["evidence"][0].contains("source"));
  CHECK(found["evidence"][0].contains("detail"));
}

TEST_CASE("classify uses codes, exception type, steps and contract", "[cli][classify]") {
  CHECK(classify_one({{"error", "x"}, {"grpc_status", 7}})["type"] == "access_denied");
  CHECK(classify_one({{"error", "x"}, {"json_rpc_code", "-32601"}})["type"] == "wrong_tool_called");
  CHECK(classify_one({{"exception_type", "TimeoutError"}})["type"] == "timeout");
  const Json found = classify_one({{"error", "it failed"},
                                   {"steps", {{{"action", "a"}}, {{"tool_called", "serch"}}}},
                                   {"contract", {{"tools", {{{"name", "search"}}, "fetch"}}}}});
  CHECK(found["type"] == "wrong_tool_called");
  CHECK(found["evidence"][0]["step"] == 1);
}

TEST_CASE("codes may come as texts and gRPC's by name", "[cli][classify]") {
  for (const char* name : {"UNAUTHENTICATED", "Unauthenticated", "StatusCode.UNAUTHENTICATED",
                           "16 UNAUTHENTICATED", "16", " 16\n", "16: UNAUTHENTICATED",
                           "Code::Unauthenticated", "unauthenticated: no token"}) {
    INFO(name);
    CHECK(classify_one({{"error", "x"}, {"grpc_status", name}})["type"] == "access_denied");
  }
  CHECK(classify_one({{"error", "x"}, {"grpc_status", "DeadlineExceeded"}})["type"] == "timeout");
  CHECK(classify_one({{"error", "x"}, {"grpc_status", "Canceled"}})["type"] == "unknown");
  for (const char* status : {"503 Service Unavailable", "503: down", "HTTP/1.1 503", "503.0"}) {
    INFO(status);
    CHECK(classify_one({{"error", "x"}, {"http_status", status}})["type"] == "external_fault");
  }
  CHECK(classify_one({{"error", "x"}, {"json_rpc_code", "-32601 Method not found"}})["type"] ==
        "wrong_tool_called");
  CHECK(classify_one({{"error", "x"}, {"http_status", ""}})["type"] == "unknown");
  for (const char* text : {"DEADLINE", "16x", "x 16", ".", "16.5", "99999999999", "HTTP"}) {
    INFO(text);
    const Answers answers = classify_text(Json{{"grpc_status", text}}.dump());
    REQUIRE(answers.lines.size() == 1);
    CHECK(answers.lines[0].value("error", "") ==
          "grpc_status is neither a whole number nor the name of a gRPC status");
  }
}

TEST_CASE("classify leaves alone what says nothing", "[cli][classify]") {
  for (const Json& failure : {Json{{"error", nullptr}, {"http_status", nullptr}},
                              Json{{"error", "the order was already shipped"}}}) {
    const Json found = classify_one(failure);
    CHECK(found["type"] == "unknown");
    CHECK(found["confidence"] == 0.0);
  }
}

TEST_CASE("a line in the format of another program is an error that names the fields",
          "[cli][classify]") {
  const Answers answers =
      classify_text("{\"message\": \"429\", \"status\": 429}\n{\"error\": \"x\", \"status\": 1}\n");
  CHECK(answers.status == 4);
  REQUIRE(answers.lines.size() == 2);
  CHECK(answers.lines[0]["line"] == 1);
  const auto told = answers.lines[0]["error"].get<std::string>();
  CHECK_THAT(told, ContainsSubstring("error, exception_type, http_status"));
  CHECK_THAT(told, ContainsSubstring("contract, result"));
  CHECK(answers.lines[1]["type"] == "unknown");
}

TEST_CASE("a line without any field is an error, and so is an input that cannot be read",
          "[cli][classify]") {
  const Answers empty = classify_text("{}\n");
  CHECK(empty.status == 4);
  REQUIRE(empty.lines.size() == 1);
  CHECK(empty.lines[0].value("line", 0) == 1);
  const Printed folder = run_program({"/bin/sh", "-c", "exec \"$0\" classify < /", TRIAGE_COMMAND});
  CHECK(folder.status == 9);
  CHECK(folder.error == "triage: standard input cannot be read: Is a directory\n");
}

TEST_CASE("steps and contracts in the format of another program are told, and the rest is judged",
          "[cli][classify]") {
  const Json found = classify_one({{"error", "x"},
                                   {"http_status", 503},
                                   {"steps", {{{"role", "user"}}, {{"action", "a"}}}},
                                   {"contract", {{"functions", {"search"}}}}});
  CHECK(found["type"] == "external_fault");
  std::string told;
  for (const Json& evidence : found["evidence"]) {
    if (evidence["source"] == "input") told += evidence["detail"].get<std::string>() + "\n";
  }
  CHECK_THAT(told, ContainsSubstring("1 of 2 steps have none"));
  CHECK_THAT(told, ContainsSubstring("tools, constraints"));
}

TEST_CASE("an unreadable line gives an error object, and the rest is classified",
          "[cli][classify]") {
  const std::string good = "{\"error\": \"x\", \"http_status\": 503}\n";
  const std::string deep = "{\"error\": " + std::string(1'000'000, '[') + "\n";
  const Answers answers = classify_text(good + "no json\n" + "[1]\n" + "{\"http_status\": []}\n" +
                                        "{\"steps\": [{\"http_status\": \"x\"}]}\n" +
                                        "{\"contract\": {\"tools\": 3}}\n" +
                                        std::string("\0\0\0\n", 4) + deep + "\n" + "  \r\n" + good);
  CHECK(answers.status == 4);
  REQUIRE(answers.lines.size() == 9);
  CHECK(answers.lines.front()["type"] == "external_fault");
  CHECK(answers.lines.back()["type"] == "external_fault");
  for (std::size_t i = 1; i < 8; ++i) {
    INFO(answers.lines[i]);
    CHECK(answers.lines[i]["line"] == i + 1);
    CHECK(answers.lines[i]["error"].is_string());
    CHECK_FALSE(answers.lines[i].contains("type"));
  }
  CHECK(answers.lines[3]["error"] ==
        "http_status is neither a whole number nor a text that begins with one");
  CHECK_THAT(answers.lines[4]["error"].get<std::string>(),
             ContainsSubstring("steps[0].http_status"));
}

TEST_CASE("bytes that are no UTF-8 do not hide a failure", "[cli][classify]") {
  const Answers answers = classify_text(
      "{\"error\": \"\xff\xfe connection reset by peer \xc3\"}\n"
      "{\"error\": \"\\udcff connection reset by peer \\ud83d\"}\n"
      "{\"error\": \"connection reset\\u0000 by peer \\ud83d\\ude00 connection refused\"}");
  CHECK(answers.status == 0);
  REQUIRE(answers.lines.size() == 3);
  for (const Json& line : answers.lines) CHECK(line["type"] == "external_fault");
}

TEST_CASE("a line of ten megabytes is classified by its ends", "[cli][classify]") {
  const std::string noise(10U << 20U, 'x');
  const Json found = classify_one({{"error", noise + "\nread: connection reset by peer"}});
  CHECK(found["type"] == "external_fault");
}

TEST_CASE("a model file that is missing or none is an error, and nothing is answered",
          "[cli][classify]") {
  const auto classify_with = [](const std::string& model) {
    return run_program({"/bin/sh", "-c",
                        std::string("echo '{\"error\": \"connection reset by peer\"}' | '") +
                            TRIAGE_COMMAND + "' classify --model '" + model + "'"});
  };
  const Printed missing = classify_with("/nowhere.bin");
  CHECK(missing.status == 1);
  CHECK_THAT(missing.error, ContainsSubstring("/nowhere.bin"));
  CHECK(missing.out.empty());
  const Printed none = classify_with("/proc/version");
  CHECK(none.status == 3);
  CHECK(none.out.empty());
}

TEST_CASE("no input gives no output", "[cli][classify]") {
  const Answers answers = classify_text("");
  CHECK(answers.status == 0);
  CHECK(answers.lines.empty());
}

TEST_CASE("classify checks a contract with schemas", "[cli][classify]") {
  const Json contract = Json::parse(R"x({"tools": [{"name": "fetch", "inputSchema":
      {"type": "object", "properties": {"url": {"type": "string"}}, "required": ["url"]}},
      {"name": "web_search"}],
      "constraints": ["top secret", {"pattern": "pass(word|phrase)"}], "subgoals": ["write"],
      "context_limit": 100, "output_schema": {"type": "string"}})x");
  const auto with_step = [&](const Json& step) {
    return classify_one({{"error", "x"}, {"contract", contract}, {"steps", Json::array({step})}});
  };
  const Json input = with_step({{"tool_called", "fetch"}, {"tool_input", {{"url", 5}}}});
  CHECK(input["type"] == "schema_mismatch");
  CHECK(input["reason"] == "tool_input_mismatch");
  CHECK(input["evidence"][0]["facts"]["path"] == "/url");
  CHECK(input["evidence"][0]["facts"]["expected"] == R"x({"type":"string"})x");
  CHECK(with_step({{"tool_called", "fetch"}, {"tool_input", {{"url", "x"}}}})["type"] == "unknown");
  const Json tool = with_step({{"tool_called", "web_serch"}});
  CHECK(tool["type"] == "wrong_tool_called");
  CHECK(tool["evidence"][0]["facts"]["nearest"] == "web_search");
  CHECK(with_step({{"llm_output", "the password"}})["type"] == "constraint_ignored");
  CHECK(with_step({{"metadata", {{"tokens", 101}}}})["type"] == "context_overflow");
  const auto with_result = [&](const Json& result, const Json& done) {
    const Json step{{"metadata", {{"completes_subgoal", done}}}};
    return classify_one(
        {{"contract", contract}, {"result", result}, {"steps", Json::array({step})}});
  };
  CHECK(with_result("x", "write")["type"] == "unknown");
  CHECK(with_result(5, "write")["reason"] == "result_mismatch");
  CHECK(with_result("x", "read")["type"] == "plan_incomplete");
}

TEST_CASE("classify refuses a contract with an invalid schema, and names the path",
          "[cli][classify]") {
  const Json good{{"error", "HTTP 429 Too Many Requests"}};
  const Json bad = Json::parse(R"x({"error": "x", "contract": {"tools": [{"name": "fetch",
      "input_schema": {"properties": {"url": {"pattern": "(?=a)"}}}}]}})x");
  const Answers answers = classify_text(bad.dump() + "\n" + good.dump() + "\n");
  CHECK(answers.status == 4);
  REQUIRE(answers.lines.size() == 2);
  CHECK_THAT(answers.lines[0]["error"].get<std::string>(),
             ContainsSubstring("contract.tools[0] (fetch).input_schema") &&
                 ContainsSubstring("/properties/url/pattern"));
  CHECK(answers.lines[1]["type"] == "external_fault");
}

TEST_CASE("the first screen of the README is what the command answers", "[cli][classify]") {
  const std::string readme = read_text(std::string(TRIAGE_SOURCE_DIR) + "/README.md");
  const std::string begin = "$ triage classify <<'END'\n";
  const std::size_t at = readme.find(begin);
  REQUIRE(at != std::string::npos);
  const std::size_t end = readme.find("END\n", at + begin.size());
  const Answers answers = classify_text(readme.substr(at + begin.size(), end - at - begin.size()));
  CHECK(answers.status == 0);
  CHECK(answers.lines.size() == 5);
  std::size_t next = end;
  for (const Json& line : answers.lines) {
    const std::string shown =
        "{\"type\":" + line["type"].dump() + ",\"reason\":" + line["reason"].dump() + ",";
    INFO(shown);
    next = readme.find(shown, next);
    REQUIRE(next != std::string::npos);
    next += shown.size();
  }
}

TEST_CASE("a contract says which tools change something, in its words or in MCP's",
          "[cli][classify]") {
  const auto mutates = [](const std::string& tool) {
    const auto reported = cli::read_reported_failure(R"({"contract": {"tools": [)" + tool + "]}}");
    REQUIRE(reported);
    return reported.value().contract.tools.at(0).mutates;
  };
  CHECK(mutates(R"({"name": "a", "mutates": true})") == true);
  CHECK(mutates(R"({"name": "a", "annotations": {"readOnlyHint": true}})") == false);
  CHECK(mutates(R"({"name": "a", "annotations": {"readOnlyHint": false}})") == true);
  CHECK(mutates(R"({"name": "a", "annotations": {"destructiveHint": true}})") == true);
  CHECK(mutates(R"({"name": "a", "annotations": {"destructiveHint": false}})") == std::nullopt);
  CHECK(mutates(R"({"name": "a", "annotations": {}, "mutates": null})") == std::nullopt);
  CHECK(mutates(R"("a")") == std::nullopt);
}

TEST_CASE("a contract takes tools as requests to models have them", "[cli][classify]") {
  const auto read = [](const std::string& tool) {
    return cli::read_reported_failure(R"({"contract": {"tools": [)" + tool + "]}}");
  };
  const auto nested = read(R"({"type": "function", "function": {"name": "fetch", "strict": true,
                               "description": "d", "parameters": {"type": "object"}}})");
  REQUIRE_OK(nested);
  const ToolContract& tool = nested.value().contract.tools.at(0);
  CHECK(tool.name == "fetch");
  CHECK(tool.description == "d");
  CHECK(tool.input_schema.json() == Json{{"type", "object"}});
  CHECK(read(R"({"type": "function", "function": {"type": "x"}})").error().detail ==
        "contract.tools[0].function has no name; allowed is a text that is not empty");
  CHECK(read(R"({"function": [1]})").error().detail ==
        "contract.tools[0].function is [1]; allowed is an object");
  CHECK_THAT(read(R"({"name": "a", "function": {"name": "b"}})").error().detail,
             ContainsSubstring("contract.tools[0].name is not known"));
}

TEST_CASE("what a contract says and nobody reads is a mistake, with its place and what is allowed",
          "[cli][classify]") {
  const auto told = [](const std::string& contract) {
    const auto read = cli::read_reported_failure("{\"contract\": " + contract + "}");
    return read ? std::string() : read.error().detail;
  };
  const std::string rule =
      "; allowed is a text that is not empty, or {\"pattern\": a regular expression}";
  CHECK(told(R"({"constraints": [{"patern": "password is"}]})") ==
        "contract.constraints[0].patern is not known; allowed are pattern; did you mean "
        "\"pattern\"?");
  CHECK(told(R"({"constraints": ["a", ["b"]]})") == "contract.constraints[1] is [\"b\"]" + rule);
  CHECK(told(R"({"constraints": [5]})") == "contract.constraints[0] is 5" + rule);
  CHECK(told(R"({"constraints": [""]})") == "contract.constraints[0] is \"\"" + rule);
  CHECK(told(R"({"constraints": [{}]})") == "contract.constraints[0] is {}" + rule);
  CHECK(told(R"({"constraints": [{"pattern": ""}]})") ==
        "contract.constraints[0].pattern is \"\"; allowed is a regular expression");
  CHECK_THAT(told(R"({"constraints": ["a", {"pattern": "(?=a"}]})"),
             ContainsSubstring("contract.constraints[1].pattern: the pattern \"(?=a\" is not"));
  CHECK_THAT(told(R"({"tools": ["a", {"name": "fetch", "input_scema": {}}]})"),
             ContainsSubstring("contract.tools[1].input_scema is not known; allowed are name,") &&
                 ContainsSubstring("did you mean \"input_schema\"?"));
  CHECK(told(R"({"tools": [5]})") ==
        "contract.tools[0] is 5; allowed is the name of a tool, or an object with its name");
  CHECK(told(R"({"tools": [{"description": "x"}]})") ==
        "contract.tools[0] has no name; allowed is a text that is not empty");
  CHECK(told(R"({"tools": [{"name": "a", "schema": {}, "parameters": {}}]})") ==
        "contract.tools[0] has parameters and schema; allowed is one of them");
  CHECK(told(R"({"tools": [{"name": "a", "aliases": ["b", 1]}]})") ==
        "contract.tools[0].aliases[1] is 1; allowed is a text that is not empty");
  CHECK(told(R"({"tools": [{"name": "a", "mutates": "yes"}]})") ==
        "contract.tools[0].mutates is \"yes\"; allowed is true or false");
  CHECK(told(R"({"tools": [{"name": "a", "annotations": [1]}]})") ==
        "contract.tools[0].annotations is [1]; allowed is an object");
  CHECK(told(R"({"subgoals": [1]})") ==
        "contract.subgoals[0] is 1; allowed is a text that is not empty");
  CHECK(told(R"({"context_limit": -1})") ==
        "contract.context_limit is -1; allowed is a whole number, 0 or more");
  CHECK_THAT(told(R"({"toolz": [], "tools": []})"),
             ContainsSubstring("contract.toolz is not known; allowed are tools,"));
}

TEST_CASE("tools of MCP and of requests to models are promised as they are", "[cli][classify]") {
  const auto reported = cli::read_reported_failure(R"({"contract": {"tools": [
      {"name": "fetch", "title": "Fetch", "description": "Gets a page.", "icons": [{"src": "a"}],
       "inputSchema": {"required": ["url"]}, "outputSchema": {"type": "object"},
       "annotations": {"title": "Fetch", "readOnlyHint": true, "openWorldHint": true},
       "execution": {"taskSupport": "optional"}, "_meta": {"a/b": 1}},
      {"type": "function", "name": "save", "parameters": {"type": "object"}, "strict": true},
      {"name": "look", "input_schema": {"type": "object"}, "cache_control": {"type": "x"}}]}})");
  REQUIRE(reported);
  const auto& tools = reported.value().contract.tools;
  REQUIRE(tools.size() == 3);
  CHECK(tools[0].description == "Gets a page.");
  CHECK_FALSE(tools[0].output_schema.empty());
  for (const ToolContract& tool : tools) CHECK_FALSE(tool.input_schema.empty());
}

TEST_CASE("classify says how sure it is of the step that is to blame", "[cli][classify]") {
  const Json failed{{"action", "call"}, {"tool_called", "fetch"}, {"error", "HTTP 503"}};
  const Json found = classify_one({{"error", "HTTP 503"}, {"steps", Json::array({failed})}});
  CHECK(found["critical_step"] == 0);
  CHECK(found["critical_step_confidence"] == 0.9);
  CHECK_FALSE(classify_one({{"error", "HTTP 503"}}).contains("critical_step_confidence"));
}

TEST_CASE("a failure is answered before the next one is asked", "[cli][classify]") {
  const Printed printed = run_program(
      {"/bin/bash", "-c",
       std::string("coproc C { exec '") + TRIAGE_COMMAND +
           "' classify; }; for i in 1 2; do echo '{\"error\": \"HTTP 503\"}' >&${C[1]};\n"
           "read -r -t 10 line <&${C[0]} && echo \"$line\" || echo none; done"});
  CHECK_THAT(printed.out, ContainsSubstring("external_fault"));
  CHECK_THAT(printed.out, !ContainsSubstring("none"));
}
