// SPDX-License-Identifier: MIT
#pragma once
// The invariants for any bytes given to the classifier, as a text and as a line of `triage
// classify`, and seeds.

#include "documents/failure_json.hpp"
#include "fuzz/hostile_failures.hpp"
#include "triage/classifier.hpp"

#include <cstdlib>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace triage::test {

// Prefix of a failure whose steps are hostile, followed by the number of the shape, its size in
// units of 1 KB (one byte each), and its material.
inline constexpr std::string_view hostile_seed = "hostile:";

inline std::optional<HostileFailure> read_hostile(std::string_view bytes) {
  if (!bytes.starts_with(hostile_seed) || bytes.size() < hostile_seed.size() + 3) return {};
  bytes.remove_prefix(hostile_seed.size());
  const auto shape = static_cast<unsigned char>(bytes[0]) % std::size(hostile_shapes);
  const std::size_t size = static_cast<std::size_t>(static_cast<unsigned char>(bytes[1])) << 10U;
  return hostile_shapes[shape].make(size, bytes.substr(2));
}

// Classifies `bytes` in every way. Aborts, which a fuzzer reports, if an answer is invalid or
// differs the second time.
inline void classify_and_check(std::string_view bytes) {
  const auto answer = [](const ClassifierInput& input) {
    const std::string line = cli::classification_line(default_classifier()->classify(input));
    const Json read = Json::parse(line, nullptr, false);
    if (!read.is_object() || !parse_failure_type(read.value("type", ""))) std::abort();
    const double confidence = read.value("confidence", -1.0);
    if (!(confidence >= 0.0 && confidence <= 1.0)) std::abort();
    return line;
  };
  const std::string text(bytes);
  const Failure failure{
      .text = text, .exception_type = text, .headers = {{"retry-after", text}, {text, text}}};
  const Trajectory none;
  if (const ClassifierInput input{.failure = failure, .trajectory = none};
      answer(input) != answer(input)) {
    std::abort();
  }
  if (const auto hostile = read_hostile(bytes)) {
    answer({.failure = hostile->failure,
            .trajectory = hostile->trajectory,
            .contract = &hostile->contract,
            .result = hostile->result.is_null() ? nullptr : &hostile->result});
  }
  const auto reported = cli::read_reported_failure(bytes);
  if (!reported) {
    const std::string refused = cli::unreadable_line(1, reported.error().detail);
    if (!Json::parse(refused, nullptr, false).is_object()) std::abort();
    return;
  }
  const cli::ReportedFailure& given = reported.value();
  answer({.failure = given.failure,
          .trajectory = given.trajectory,
          .task = given.task,
          .contract = given.contract.empty() ? nullptr : &given.contract,
          .result = given.result.is_null() ? nullptr : &given.result});
}

// Lines with every field, and some that must be refused.
inline std::vector<std::string> classify_seeds() {
  std::vector<std::string> seeds{
      "",
      "{",
      "\xff\xfe",
      std::string("\0{}", 3),
      R"(HTTP/1.1 429 Too Many Requests: retry after 1m30s, resets Fri, 01 Jan 2100 00:00:00 GMT)",
      R"({"error":"MCP error -32602: Unknown tool: get_wether","json_rpc_code":-32602})",
      R"({"error":{"message":"insufficient_quota","code":429},"http_status":"429"})",
      R"({"error":"x","headers":{"Retry-After":"Wed, 21 Oct 2099 07:28:00 GMT"},"grpc_status":8})",
      R"({"error":"a\ud800b\u0000c","exception_type":"pkg.ReadTimeout","task":"t","result":[1]})",
      R"({"error":"e","steps":[{"action":"a","tool_called":"fetch","tool_input":{"url":5},)"
      R"("error":"boom","metadata":{"tokens":99}},{"tool_called":"ftch","tool_output":[null]}],)"
      R"("contract":{"tools":[{"name":"fetch","input_schema":{"type":"object","required":["url"],)"
      R"("properties":{"url":{"type":"string","pattern":"^h(t|p)+s?"}},"if":{"minProperties":2},)"
      R"("then":{"$ref":"#/definitions/d"},"definitions":{"d":{"uniqueItems":true}}}}],)"
      R"("constraints":["never",{"pattern":"a+b"}],"subgoals":["s"],"context_limit":10,)"
      R"("output_schema":{"oneOf":[{"const":1.0},{"multipleOf":0.01}]}},"result":{"a":[1,1.0]}})"};
  for (std::size_t shape = 0; shape < std::size(hostile_shapes); ++shape) {
    for (const std::string_view piece : {"a", "retry after 5s on the ", "\xff{\"[0]"}) {
      std::string seed(hostile_seed);
      seed += static_cast<char>(shape);
      seed += '\x20';
      seeds.insert(seeds.begin(), seed + std::string(piece));
    }
  }
  return seeds;
}

}  // namespace triage::test
