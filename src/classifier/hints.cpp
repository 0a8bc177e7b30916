// SPDX-License-Identifier: MIT
#include "base/run_catching.hpp"
#include "classifier/blame/loops.hpp"
#include "classifier/codes/stated_status.hpp"
#include "classifier/codes/stop_reasons.hpp"
#include "classifier/codes/text_codes.hpp"
#include "classifier/phrases/rules.hpp"
#include "classifier/text/names.hpp"
#include "classifier/times/retry_after.hpp"
#include "classifier/undress/undress.hpp"
#include "evidence/authority.hpp"
#include "evidence/codes.hpp"
#include "evidence/findings.hpp"
#include "search/find_text.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace triage::inline v0_1::detail {
namespace {

// The weight of an error that was followed by this many steps. The failure's own text is newer.
constexpr std::array<double, 4> survived_weights{1.0, 0.8, 0.65, 0.5};
constexpr double outer_cause_discount = 0.02;  // Per level outside the innermost cause.
constexpr std::size_t longest_quote_bytes = 80;

// Where a hint was found, and its weight there.
struct Place {
  Teller teller = Teller::failure;
  double weight = 1.0;
  std::optional<std::size_t> step{};
};

std::string_view prefix_of(Teller teller) {
  switch (teller) {
    case Teller::cause: return "cause.";
    case Teller::step: return "step.";
    default: return "";
  }
}

class HintCollector {
 public:
  HintCollector(const ClassifierInput& input, Findings& findings)
      : input_(input), findings_(findings) {}

  void code(const Place& place, std::string_view source, int value,
            const std::optional<CodeRule>& rule) {
    if (!rule || rule->meaning.confidence == 0) return;
    std::string detail(source);
    detail += " is " + std::to_string(value);
    add(place, FindingKind::code, source, rule->meaning, std::move(detail));
  }

  void error_code(const Place& place, const std::error_code& code) {
    const auto meaning = error_code_meaning(code);
    if (!meaning) return;
    add(place, FindingKind::code, "error_code", *meaning,
        "The error code says: " + message_of(code));
  }

  void exception_type(const Place& place, std::string_view name) {
    if (name.empty()) return;
    hits_.clear();
    built_in_rules().match_exception_type(name, hits_);
    add_hits(place, "exception_type", "The exception is a ", name);
  }

  void text(const Place& place, std::string_view given) {
    if (given.empty()) return;
    const std::string_view text = plain(given);
    named_ = {};  // An earlier text may have been at the same address.
    const std::size_t first = findings_.list.size();
    hits_.clear();
    built_in_rules().match_text(text, hits_);
    const bool asks_first = !findings_.wait_in_text;
    add_hits(place, "text", "The text says: ", text);
    // The wrapping may also name a time: {"error": …, "resets_at": …}.
    if (asks_first && text.data() != given.data()) add_wait_of(given);
    codes_.clear();
    find_text_codes(text, codes_);
    for (const TextCode& code : codes_) {
      if (is_in_name(text, code.found)) continue;
      add(place, FindingKind::code, std::string("text.") + std::string(code.kind), code.meaning,
          "The text has the code " + printable(code.found));
    }
    for (std::size_t i = first; i < findings_.list.size(); ++i) {
      findings_.list[i].named_in_text = true;
    }
    stop_reasons(place, given);
  }

 private:
  // In a raw answer, which is JSON, the stop reason is a reported code.
  void stop_reasons(const Place& place, std::string_view given) {
    codes_.clear();
    find_stop_reasons(given, codes_);
    const std::size_t begin = given.find_first_not_of(" \t\r\n");
    const bool is_answer = begin != std::string_view::npos && given[begin] == '{';
    for (const TextCode& code : codes_) {
      add(place, FindingKind::code, "text.stop_reason", code.meaning,
          "The text gives as the reason to stop: " + printable(code.found));
      findings_.list.back().named_in_text = !is_answer;
    }
  }

  // The text without its wrapping; a note in the findings says what was removed.
  std::string_view plain(std::string_view given) {
    auto undressed =
        undress(given, [](std::string_view name) { return named_code_meaning(name).has_value(); });
    if (!undressed) return given;
    const std::string what = undressed->told();
    findings_.plain.push_back({given.data(), std::move(undressed->text)});
    const std::string& text = findings_.plain.back().text;
    findings_.notes.push_back(
        {.source = "text",
         .detail = "Read without " + what + ": " +
                   printable(std::string_view(text).substr(0, 2 * longest_quote_bytes))});
    return text;
  }

  // A tool called rate_limit_lookup says nothing about rates.
  bool is_in_name(std::string_view text, std::string_view found) {
    const auto at = static_cast<std::size_t>(found.data() - text.data());
    if (at > text.size()) return false;  // It is in another text.
    if (!may_be_in_name(found)) return false;
    const std::size_t before = text.rfind('\n', at);
    const std::size_t begin = before == std::string_view::npos || before == at ? 0 : before + 1;
    const std::string_view line = text.substr(begin, text.find('\n', at) - begin);
    if (line.data() != named_.data() || line.size() != named_.size()) {
      names_.clear();
      find_names(line, names_);
      named_ = line;
    }
    return std::any_of(names_.begin(), names_.end(), [&](const NamePlace& name) {
      return begin + name.begin <= at && at + found.size() <= begin + name.end;
    });
  }

  void add_hits(const Place& place, std::string_view source, std::string_view words,
                std::string_view text) {
    std::optional<Duration> wait;
    for (const RuleHit& hit : hits_) {
      if (is_wait(hit.rule->kind)) {
        wait = std::max(wait, wait_in(text, hit));
        continue;
      }
      const bool is_type = hit.rule->kind == RuleKind::exception_type;
      if (!is_type && is_in_name(text, hit.matched)) continue;
      std::string detail(words);
      detail += printable(hit.matched.substr(0, longest_quote_bytes));
      add(place, is_type ? FindingKind::exception_type : FindingKind::text, source,
          {hit.rule->type, hit.rule->reason, hit.rule->confidence}, std::move(detail));
    }
    if (!findings_.wait_in_text) findings_.wait_in_text = wait;
  }

  void add_wait_of(std::string_view text) {
    hits_.clear();
    built_in_rules().match_waits(text, hits_);
    for (const RuleHit& hit : hits_) {
      const auto wait = wait_in(text, hit);
      findings_.wait_in_text = std::max(findings_.wait_in_text, wait);
    }
  }

  std::optional<Duration> wait_in(std::string_view text, const RuleHit& hit) {
    const WaitInText found = find_wait(text, hit.matched, hit.rule->kind == RuleKind::until,
                                       input_.failure, input_.clock);
    if (found.undated) {
      Evidence note{.source = "text",
                    .detail =
                        "The text names a date, and there is no Date header or clock to "
                        "measure it against: " +
                        printable(hit.matched.substr(0, longest_quote_bytes))};
      const auto same = [&](const Evidence& other) { return other.detail == note.detail; };
      if (std::none_of(findings_.notes.begin(), findings_.notes.end(), same)) {
        findings_.notes.push_back(std::move(note));
      }
    }
    return found.wait;
  }

  void add(const Place& place, FindingKind kind, std::string_view source,
           const CodeMeaning& meaning, std::string detail) {
    std::string full_source(prefix_of(place.teller));
    full_source += source;
    findings_.list.push_back({.kind = kind,
                              .reason = meaning.reason,
                              .evidence = {.source = std::move(full_source),
                                           .suggests = meaning.type,
                                           .detail = std::move(detail),
                                           .confidence = meaning.confidence * place.weight,
                                           .step = place.step},
                              .teller = place.teller});
  }

  const ClassifierInput& input_;
  Findings& findings_;
  std::vector<RuleHit> hits_{};
  std::vector<TextCode> codes_{};
  std::vector<NamePlace> names_{};
  std::string_view named_{};  // The line they belong to: several hits are often in one line.
};

// The codes of a failure or a step, which wrap one another.
struct Codes {
  std::optional<CodeRule> http{};
  std::optional<CodeRule> json_rpc{};
  std::optional<CodeRule> grpc{};

  template <class Source>
  explicit Codes(const Source& source) {
    if (source.http_status) http = http_rule(*source.http_status);
    if (source.json_rpc_code) json_rpc = json_rpc_rule(*source.json_rpc_code);
    if (source.grpc_status) grpc = grpc_rule(*source.grpc_status);
    // JSON-RPC over HTTP answers 500 for every error.
    for (const auto& inner : {json_rpc, grpc}) {
      http_is_envelope = http_is_envelope || (source.http_status == 500 && inner &&
                                              inner->meaning.type != FailureType::external_fault &&
                                              !inner->words.has(FailureType::external_fault));
    }
  }

  void limit(Authority& words) const {
    if (!http_is_envelope) words.add(http);
    words.add(json_rpc);
    words.add(grpc);
  }

  bool http_is_envelope = false;
};

template <class Source>
void add_codes(const Source& source, const Codes& codes, const Place& place, HintCollector& hints) {
  if (source.http_status) {
    Place around = place;
    if (codes.http_is_envelope) around.teller = Teller::envelope;
    hints.code(around, "http_status", *source.http_status, codes.http);
  }
  if (source.json_rpc_code) {
    hints.code(place, "json_rpc_code", *source.json_rpc_code, codes.json_rpc);
  }
  if (source.grpc_status) hints.code(place, "grpc_status", *source.grpc_status, codes.grpc);
}

void read_failure(const Failure& failure, HintCollector& hints, Authority& authority) {
  const std::size_t depth = failure.causes.size();
  const Place own{.weight = 1.0 - outer_cause_discount *
                                      static_cast<double>(std::min<std::size_t>(depth, 8))};
  const Codes codes(failure);
  add_codes(failure, codes, own, hints);
  codes.limit(authority);
  authority.add(error_code_rule(failure.code));
  hints.error_code(own, failure.code);
  hints.exception_type(own, failure.exception_type);
  hints.text(own, failure.text);
  // Bounds a chain of any length; the innermost causes are the most specific.
  constexpr std::size_t most_causes = 16;
  Authority of_causes;
  for (std::size_t i = depth - std::min(depth, most_causes); i < depth; ++i) {
    const Cause& cause = failure.causes[i];
    const auto outward = static_cast<double>(std::min<std::size_t>(depth - 1 - i, 8));
    const Place place{.teller = Teller::cause, .weight = 1.0 - outer_cause_discount * outward};
    if (const auto rule = error_code_rule(cause.code)) {
      of_causes = {};
      of_causes.add(rule);
    }
    hints.error_code(place, cause.code);
    hints.exception_type(place, cause.exception_type);
    if (cause.text != failure.text) hints.text(place, cause.text);
  }
  if (authority.empty()) authority = of_causes;
}

void read_step(const Step& step, const Codes& codes, const Place& place, const Failure& failure,
               HintCollector& hints) {
  add_codes(step, codes, place, hints);
  if (step.exception_type && *step.exception_type != failure.exception_type) {
    hints.exception_type(place, *step.exception_type);
  }
  if (step.error && *step.error != failure.text) hints.text(place, *step.error);
}

// The failure is the step's: it has no text, or the same text.
bool is_failure_of(const Step& step, const Failure& failure) {
  return failure.text.empty() || (step.error && tell_the_same(failure.text, *step.error));
}

bool says_something(const Failure& failure) {
  return !failure.text.empty() || !failure.exception_type.empty() || failure.http_status ||
         failure.json_rpc_code || failure.grpc_status || failure.code || !failure.causes.empty();
}

// A status that a text states counts as a code, whoever wrote it.
void read_stated_status(std::string_view text, Findings& findings) {
  if (!findings.authority.empty()) return;
  const auto status = stated_http_status(text);
  const auto rule = status ? http_rule(*status) : std::nullopt;
  if (!rule) return;
  findings.authority.add(rule);
  findings.stated =
      Finding{.kind = FindingKind::code,
              .reason = rule->meaning.reason,
              .evidence = {.source = "text.http_status",
                           .suggests = rule->meaning.type,
                           .detail = "The text states the status " + std::to_string(*status),
                           .confidence = rule->meaning.confidence},
              .named_in_text = true};
}

void find_step_hints(const ClassifierInput& input, HintCollector& hints, Findings& findings) {
  const auto failed = last_failed_step(input);
  if (!failed) return;
  const std::size_t survived_by = input.trajectory.size() - 1 - *failed;
  double weight = 1.0;
  // If the failure itself says nothing, the last error is all there is, however old.
  if (says_something(input.failure)) {
    if (survived_by >= survived_weights.size()) return;
    weight = survived_weights[survived_by];
  }
  const Place place{.teller = Teller::step, .weight = weight, .step = failed};
  const Step& step = input.trajectory[*failed];
  const Codes codes(step);
  read_step(step, codes, place, input.failure, hints);
  const bool same = survived_by == 0 && is_failure_of(step, input.failure);
  if (same && findings.authority.empty()) codes.limit(findings.authority);
  if (input.failure.text.empty() && step.error) {
    read_stated_status(findings.plain_of(*step.error), findings);
  }
}

}  // namespace

void find_hints(const ClassifierInput& input, Findings& findings) {
  HintCollector hints(input, findings);
  read_failure(input.failure, hints, findings.authority);
  find_step_hints(input, hints, findings);
  read_stated_status(findings.plain_of(input.failure.text), findings);
}

}  // namespace triage::inline v0_1::detail
