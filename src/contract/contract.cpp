// SPDX-License-Identifier: MIT
#include "triage/contract.hpp"

#include "contract/schema_pattern.hpp"
#include "triage/detail/try.hpp"

#include <utility>

namespace triage::inline v0_1 {

struct ForbiddenPattern::Body {
  std::string text{};
  std::shared_ptr<const re2::RE2> compiled{};
  std::optional<Error> problem{};
};

ForbiddenPattern::ForbiddenPattern(std::string pattern) {
  if (pattern.empty()) return;  // Matches nothing, as an empty constraint forbids nothing.
  auto body = std::make_shared<Body>();
  auto compiled = detail::compile_pattern(pattern, true);
  if (compiled) {
    body->compiled = std::move(compiled).value();
  } else {
    body->problem = std::move(compiled).error();
  }
  body->text = std::move(pattern);
  body_ = std::move(body);
}

const std::string& ForbiddenPattern::text() const noexcept {
  static const std::string none;
  return body_ == nullptr ? none : body_->text;
}

const std::optional<Error>& ForbiddenPattern::problem() const noexcept {
  static const std::optional<Error> none;
  return body_ == nullptr ? none : body_->problem;
}

bool ForbiddenPattern::matches(std::string_view text) const {
  return body_ != nullptr && body_->compiled && detail::found_in(*body_->compiled, text);
}

namespace {

Result<void> refuse(const std::string& place, const std::optional<Error>& problem) {
  if (!problem) return outcome::success();
  return Error{problem->code, place + ": " + problem->detail};
}

}  // namespace

Result<void> check_contract(const AgentContract& contract) {
  for (std::size_t i = 0; i < contract.tools.size(); ++i) {
    const ToolContract& tool = contract.tools[i];
    const std::string place =
        "tools[" + std::to_string(i) + "] (" + printable(tool.name.substr(0, 100)) + ").";
    TRIAGE_TRYV(refuse(place + "input_schema", tool.input_schema.problem()));
    TRIAGE_TRYV(refuse(place + "output_schema", tool.output_schema.problem()));
  }
  for (std::size_t i = 0; i < contract.forbidden_patterns.size(); ++i) {
    TRIAGE_TRYV(refuse("forbidden_patterns[" + std::to_string(i) + "]",
                       contract.forbidden_patterns[i].problem()));
  }
  return refuse("output_schema", contract.output_schema.problem());
}

}  // namespace triage::inline v0_1
