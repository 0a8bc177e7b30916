// SPDX-License-Identifier: MIT
#include "classifier/phrases/rules.hpp"

#include "classifier/phrases.hpp"
#include "classifier/support.hpp"
#include "support/catch.hpp"

#include <algorithm>

using namespace triage;

namespace {

bool holds(const detail::Rule& rule, const std::string& text) {
  std::vector<detail::RuleHit> hits;
  if (rule.kind == detail::RuleKind::exception_type) {
    detail::built_in_rules().match_exception_type(text, hits);
  } else {
    detail::built_in_rules().match_text(text, hits);
  }
  return std::any_of(hits.begin(), hits.end(),
                     [&](const detail::RuleHit& hit) { return hit.rule == &rule; });
}

Classification classified(const detail::Rule& rule, const std::string& text) {
  if (rule.kind == detail::RuleKind::exception_type)
    return test::classify({.exception_type = text});
  return test::classify({.text = text});
}

}  // namespace

TEST_CASE("every rule catches its three wordings and passes its two near misses",
          "[classifier][phrases]") {
  for (const detail::Rule& rule : detail::built_in_rules().rules()) {
    const auto* const row =
        std::find_if(std::begin(test::wordings), std::end(test::wordings),
                     [&](const test::Wordings& w) { return rule.id == w.rule; });
    INFO("rule " << rule.id);
    REQUIRE(row != std::end(test::wordings));
    for (const char* text : row->caught) {
      INFO("must be caught: " << text);
      CHECK(holds(rule, text));
      if (rule.confidence >= 0.5) CHECK(classified(rule, text).type == rule.type);
    }
    for (const char* text : row->near) {
      INFO("must be passed: " << text);
      CHECK_FALSE(holds(rule, text));
      CHECK((rule.type == FailureType::unknown || classified(rule, text).type != rule.type));
    }
  }
  CHECK(std::size(test::wordings) == detail::built_in_rules().rules().size());
}

TEST_CASE("plain English with an error's words stays unknown", "[classifier][phrases]") {
  for (const char* text : {"expected 500 items but the list was shorter",
                           "processed 503 records",
                           "returned 429 results",
                           "502 bytes written",
                           "step 500 completed",
                           "line 503: syntax error",
                           "error in row 429",
                           "expected 200 records",
                           "the tooltip was not found on the page",
                           "toolbox not found",
                           "they had to retool the plant",
                           "tools available",
                           "The tool chain was not found",
                           "endpoint documentation not found",
                           "pricing model does not exist in isolation",
                           "deployment pipeline not found",
                           "Order 500 rejected",
                           "the json file was copied and we parse it later",
                           "there is extra data in the appendix",
                           "we were expecting value for money",
                           "there is no time limit for this offer",
                           "set your timeout preference in the settings"}) {
    INFO(text);
    CHECK(test::type_of_text(text) == FailureType::unknown);
  }
}
