// SPDX-License-Identifier: MIT
#include "classifier/codes/stop_reasons.hpp"

#include "support/catch.hpp"
#include "triage/classifier.hpp"

#include <string>

using namespace triage;

namespace {

// The meaning of a text's stop reason; "" if there is none, or if it is not a failure.
std::string meaning_in(std::string_view text) {
  std::vector<detail::TextCode> codes;
  detail::find_stop_reasons(text, codes);
  if (codes.empty()) return "";
  return std::string(to_string(codes[0].meaning.type)) + " " + std::string(codes[0].meaning.reason);
}

FailureType judged_type(const std::string& text) {
  const Failure failure{.text = text};
  const Trajectory none;
  return default_classifier()->classify({.failure = failure, .trajectory = none}).type;
}

}  // namespace

TEST_CASE("the reason to stop is read however it is written", "[classifier][codes]") {
  const std::string cut_off = "plan_incomplete output_cut_off";
  for (const char* text :
       {R"({"finish_reason": "length"})", R"({"finishReason":"MAX_TOKENS"})",
        "stop_reason=max_tokens", "stopReason: maxTokens", "done_reason is length",
        R"("incomplete_details": {"reason": "max_output_tokens"})",
        "finish_reason=<FinishReason.MAX_TOKENS: 2>", "finish_reason='length', tokens=512"}) {
    INFO(text);
    CHECK(meaning_in(text) == cut_off);
  }
  CHECK(meaning_in(R"({"stop_reason":{"type":"max_turns"}})") == "plan_incomplete step_limit");
  CHECK(meaning_in("finish_reason=content_filter") == "refused content_policy");
  CHECK(meaning_in("stop_reason: refusal") == "refused model_refusal");
  CHECK(meaning_in("finishReason=MALFORMED_FUNCTION_CALL") == "schema_mismatch tool_arguments");
}

TEST_CASE("a reason to stop that is no failure says nothing", "[classifier][codes]") {
  for (const char* text :
       {"finish_reason=stop", R"({"stop_reason":"end_turn"})", "finish_reason: null, length: 5",
        "finish_reason is 2", "the finish_reason", "length of the finish_reason",
        "stop_reason=", "no reason to stop: max_tokens", "finish_reason\nlength"}) {
    INFO(text);
    CHECK(meaning_in(text).empty());
  }
}

TEST_CASE("an answer that stopped at a limit is unfinished work, one that ended by itself is none",
          "[classifier][codes]") {
  CHECK(judged_type(R"({"choices":[{"message":{"role":"assistant","content":"The first step is"},)"
                    R"("finish_reason":"length"}],"usage":{"completion_tokens":1024}})") ==
        FailureType::plan_incomplete);
  CHECK(judged_type(R"({"type":"message","content":[{"type":"text","text":"We begin by"}],)"
                    R"("stop_reason":"max_tokens","usage":{"output_tokens":2048}})") ==
        FailureType::plan_incomplete);
  CHECK(judged_type(R"({"choices":[{"message":{"role":"assistant","content":"It is blue."},)"
                    R"("finish_reason":"stop"}]})") == FailureType::unknown);
}
