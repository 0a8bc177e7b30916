// SPDX-License-Identifier: MIT
#include "evidence/findings.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace triage::inline v0_1::detail {
namespace {

constexpr double least_score = 0.5;          // Weaker findings give unknown.
constexpr double least_confidence = 0.5;     // The same, after contradictions are deducted.
constexpr double sure = 0.95;                // Facts and breaches this certain decide alone.
constexpr double contradiction = 0.5;        // Share of a rival's score that is deducted.
constexpr double mild_contradiction = 0.15;  // The same if the winner explains the rival.
constexpr std::string_view by_wording = "by_wording";
constexpr double most_doubtful = 0.98;  // Words and codes are never certain.

using enum FailureType;

// If both are found, the first explains the second. Each pair was compared with its opposite.
struct Explains {
  FailureType cause;
  FailureType consequence;
};
constexpr Explains explanations[] = {
    {external_fault, timeout},            // "503 … upstream request timeout"
    {external_fault, schema_mismatch},    // An error page instead of JSON.
    {quota_exhausted, external_fault},    // 429 is also sent for spent money.
    {quota_exhausted, access_denied},     // And so is 403.
    {context_overflow, schema_mismatch},  // 400 with "too many tokens".
    {refused, schema_mismatch},          {refused, access_denied},
};

struct TypeScore {
  double score = 0;
  // Best of each kind: repetition proves nothing.
  std::array<double, finding_kind_count> by_kind{};
  const Finding* best = nullptr;
};
using Scores = std::array<TypeScore, failure_type_count>;

TypeScore& of(Scores& scores, FailureType type) { return scores[static_cast<std::size_t>(type)]; }

// Whether the words may claim this type, given the reported codes.
bool words_may_say(FailureType type, const Findings& findings) {
  return findings.authority.allows(type, [&](std::string_view reason) {
    return std::any_of(findings.list.begin(), findings.list.end(), [&](const Finding& finding) {
      return finding.named_in_text && finding.evidence.suggests == type &&
             finding.evidence.confidence >= least_confidence && finding.reason == reason;
    });
  });
}

bool is_words(const Finding& finding) {
  return finding.named_in_text || finding.kind >= FindingKind::exception_type;
}

Scores score(const Findings& findings, FindingKind surest = FindingKind::fact) {
  Scores scores;
  for (const Finding& finding : findings.list) {
    if (finding.kind < surest) continue;
    if (is_words(finding) && !words_may_say(finding.evidence.suggests, findings)) continue;
    TypeScore& entry = of(scores, finding.evidence.suggests);
    const double confidence = finding.evidence.confidence;
    double& best_of_kind = entry.by_kind[static_cast<std::size_t>(finding.kind)];
    best_of_kind = std::max(best_of_kind, confidence);
    if (entry.best == nullptr || confidence > entry.best->evidence.confidence)
      entry.best = &finding;
  }
  for (TypeScore& entry : scores) {
    double doubt = 1;  // Kinds of findings are treated as independent.
    for (const double confidence : entry.by_kind) doubt *= 1 - confidence;
    entry.score = 1 - doubt;
  }
  return scores;
}

// A connection that timed out is a timeout; an overloaded server that kept us waiting is not.
bool explains(Scores& scores, FailureType cause, FailureType consequence) {
  const Finding* external = of(scores, external_fault).best;
  const bool connection = external != nullptr && external->reason == "connection_lost";
  if (connection && cause == timeout && consequence == external_fault) return true;
  if (connection && cause == external_fault && consequence == timeout) return false;
  return std::any_of(std::begin(explanations), std::end(explanations), [&](const Explains& e) {
    return e.cause == cause && e.consequence == consequence;
  });
}

const Finding* sure_fact(const std::vector<Finding>& findings) {
  const Finding* found = nullptr;
  for (const Finding& finding : findings) {
    if (finding.kind > FindingKind::contract || finding.evidence.confidence < sure) continue;
    if (found == nullptr || finding.evidence.confidence > found->evidence.confidence)
      found = &finding;
  }
  return found;
}

FailureType strongest(Scores& scores) {
  FailureType winner = unknown;
  for (const FailureType type : all_failure_types) {
    if (of(scores, type).score > of(scores, winner).score) winner = type;
  }
  // Follow explanations to their root; they have no cycles.
  for (bool moved = true; moved;) {
    moved = false;
    for (const FailureType type : all_failure_types) {
      if (type == winner || of(scores, type).score < 0.6 || !explains(scores, type, winner))
        continue;
      winner = type;
      moved = true;
    }
  }
  return winner;
}

double doubtful_confidence(Scores& scores, FailureType winner) {
  double rival = 0;
  double explained = 0;
  for (const FailureType type : all_failure_types) {
    if (type == winner) continue;
    double& worst = explains(scores, winner, type) ? explained : rival;
    worst = std::max(worst, of(scores, type).score);
  }
  const double score = std::min(of(scores, winner).score, most_doubtful);
  return score * (1 - contradiction * rival) * (1 - mild_contradiction * explained);
}

// An unambiguous reported code.
bool is_reported_code(const Finding& finding) {
  return finding.kind == FindingKind::code && !finding.named_in_text &&
         finding.teller != Teller::envelope && finding.evidence.confidence >= precise_code;
}

void move_evidence(Findings& findings, FailureType decided, Classification& result) {
  const auto rank = [&](const Finding& finding) {
    const bool sure_kind =
        finding.kind <= FindingKind::contract && finding.evidence.confidence >= sure;
    // A code is better evidence than words that say the same.
    const bool reported = is_reported_code(finding);
    return std::make_pair(finding.evidence.suggests == decided,
                          finding.evidence.confidence + (sure_kind  ? 2.0
                                                         : reported ? 1.0
                                                                    : 0.0));
  };
  std::stable_sort(findings.list.begin(), findings.list.end(),
                   [&](const Finding& a, const Finding& b) { return rank(a) > rank(b); });
  result.evidence.reserve(findings.list.size() + findings.notes.size());
  for (Finding& finding : findings.list) result.evidence.push_back(std::move(finding.evidence));
  for (Evidence& note : findings.notes) result.evidence.push_back(std::move(note));
}

}  // namespace

namespace {

Classification begun(Findings& findings) {
  Classification result;
  result.critical_step = findings.critical_step;
  result.loop_steps = std::move(findings.loop_steps);
  return result;
}

void take(const Finding& finding, Classification& result) {
  result.type = finding.evidence.suggests;
  result.reason = finding.reason;
  result.confidence = finding.evidence.confidence;
}

// The strongest finding that suggests the type; null if there is none.
const Finding* strongest_for(FailureType type, const std::vector<Finding>& findings) {
  const Finding* found = nullptr;
  for (const Finding& finding : findings) {
    if (finding.evidence.suggests != type) continue;
    if (found == nullptr || finding.evidence.confidence > found->evidence.confidence)
      found = &finding;
  }
  return found;
}

// A name decides nothing in a text that is not a failure: change lists, summaries and advice have
// names too. In a few words there is nothing else to go by.
bool names_count(const ModelOpinion& opinion) {
  constexpr std::size_t few_words = 8;
  return opinion.likeliest != unknown || opinion.words <= few_words;
}

// The finding that is unambiguous and that no other such finding contradicts.
template <class Is>
const Finding* precise_finding(const std::vector<Finding>& findings, Is is) {
  const Finding* found = nullptr;
  for (const Finding& finding : findings) {
    if (finding.evidence.confidence < precise_code || !is(finding)) continue;
    if (found != nullptr && found->evidence.suggests != finding.evidence.suggests) return nullptr;
    found = &finding;
  }
  return found;
}

// The unambiguous code: the failure's own, then its causes', then the step's, then one named in a
// text.
const Finding* precise_code_of(const Findings& findings, bool names_too) {
  for (const Teller teller : {Teller::failure, Teller::cause, Teller::step}) {
    const auto is = [&](const Finding& finding) {
      return finding.teller == teller && is_reported_code(finding);
    };
    if (std::none_of(findings.list.begin(), findings.list.end(), is)) continue;
    return precise_finding(findings.list, is);
  }
  if (!names_too) return nullptr;
  return precise_finding(findings.list, [&](const Finding& finding) {
    return finding.kind == FindingKind::code && finding.named_in_text &&
           words_may_say(finding.evidence.suggests, findings);
  });
}

// An unambiguous exception name that no other finding contradicts: no code, no phrase, no remark
// that the work continues.
const Finding* undisputed_exception(const Findings& findings) {
  constexpr double precise_name = 0.88;
  constexpr double precise_with_words = 0.8;
  const Finding* found = nullptr;
  bool words_agree = false;
  for (const Finding& finding : findings.list) {
    if (finding.evidence.confidence < least_confidence) continue;
    if (found != nullptr && finding.evidence.suggests != found->evidence.suggests) return nullptr;
    if (finding.kind == FindingKind::text) words_agree = true;
    const bool is_reported = finding.kind == FindingKind::exception_type && !finding.named_in_text;
    if (found == nullptr || is_reported) found = &finding;
  }
  if (found == nullptr || found->kind != FindingKind::exception_type || found->named_in_text ||
      !words_may_say(found->evidence.suggests, findings)) {
    return nullptr;
  }
  return found->evidence.confidence >= (words_agree ? precise_with_words : precise_name) ? found
                                                                                         : nullptr;
}

// What decides when the model does not.
const Finding* precise_finding(const Findings& findings, const ModelOpinion& opinion) {
  if (const Finding* code = precise_code_of(findings, names_count(opinion))) return code;
  if (opinion.words > 0) return undisputed_exception(findings);
  return precise_finding(findings.list, [&](const Finding& finding) {
    return finding.kind == FindingKind::exception_type && !finding.named_in_text &&
           words_may_say(finding.evidence.suggests, findings);
  });
}

// If a code explains the failure, a loop that is only a guess did not end the attempt.
void believe_code_rather_than_loop(const Finding* code, Findings& findings) {
  constexpr double guessed = 0.6;
  if (code == nullptr || !findings.loop_is_guess) return;
  for (Finding& finding : findings.list) {
    if (finding.kind != FindingKind::fact || finding.evidence.source != "loop") continue;
    finding.evidence.confidence = guessed;
    finding.evidence.detail +=
        "; whether the turns gave the same is not known, and a code says "
        "why the attempt failed";
  }
  findings.loop_steps.clear();
  findings.critical_step = findings.failed_step;
}

// The result stays unknown; the leaning tells later stages what to look for.
void lean(FailureType type, std::string_view reason, double confidence, Classification& result) {
  if (result.type != unknown || type == unknown || confidence <= 0) return;
  result.leaning = {.type = type, .reason = std::string(reason), .confidence = confidence};
}

// If words may not decide, the best coarse code is all there is.
void lean_to_code(const Findings& findings, Classification& result) {
  const Finding* best = nullptr;
  for (const Finding& finding : findings.list) {
    if (finding.kind != FindingKind::code || finding.named_in_text) continue;
    if (best == nullptr || finding.evidence.confidence > best->evidence.confidence) best = &finding;
  }
  if (best == nullptr) return;
  lean(best->evidence.suggests, best->reason, best->evidence.confidence, result);
}

void note_opinion(const ModelOpinion& opinion, bool ruled_out, Findings& findings) {
  if (opinion.likeliest == unknown) return;
  std::string detail = "The wording is that of ";
  detail += to_string(opinion.likeliest);
  if (opinion.type == unknown) {
    detail += ", but not surely enough to say so";
  } else if (ruled_out) {
    detail += ", which the code that was reported with it rules out";
  }
  findings.list.push_back({.kind = FindingKind::text,
                           .reason = by_wording,
                           .evidence = {.source = "model",
                                        .suggests = opinion.likeliest,
                                        .detail = std::move(detail),
                                        .confidence = opinion.confidence}});
}

}  // namespace

Classification decide(Findings findings, const ModelOpinion& opinion) {
  const bool ruled_out = !words_may_say(opinion.likeliest, findings);
  if (ruled_out && findings.stated) findings.list.push_back(std::move(*findings.stated));
  const Finding* code = precise_finding(findings, opinion);
  believe_code_rather_than_loop(code, findings);
  Classification result = begun(findings);
  if (const Finding* fact = sure_fact(findings.list)) {
    take(*fact, result);
  } else if (opinion.type != unknown && !ruled_out) {
    const Finding* best = strongest_for(opinion.type, findings.list);
    result.type = opinion.type;
    result.reason = best != nullptr ? best->reason : by_wording;
    result.confidence = std::min(opinion.confidence, most_doubtful);
  } else if (code != nullptr) {
    take(*code, result);
  }
  if (ruled_out) {
    lean_to_code(findings, result);
  } else {
    const Finding* hint = strongest_for(opinion.likeliest, findings.list);
    lean(opinion.likeliest, hint != nullptr ? hint->reason : by_wording,
         std::min(opinion.confidence, most_doubtful), result);
  }
  note_opinion(opinion, ruled_out, findings);
  move_evidence(findings, result.type, result);
  return result;
}

bool has_precise_code(const Findings& findings) {
  return precise_code_of(findings, false) != nullptr;
}

bool may_say_by_ending(FailureType model, FailureType rules, TextEnding of) noexcept {
  if (model == unknown || model != rules) return false;
  if (of == TextEnding::last_line_of_few) return model == external_fault || model == timeout;
  const bool dear = model == wrong_tool_called || model == schema_mismatch ||
                    model == context_overflow || model == plan_incomplete;
  return of == TextEnding::last_line || !dear;
}

FailureType rules_say(const Findings& findings) {
  Scores scores = score(findings, FindingKind::code);
  const FailureType winner = strongest(scores);
  const bool enough = of(scores, winner).score >= least_score &&
                      doubtful_confidence(scores, winner) >= least_confidence;
  return enough ? winner : unknown;
}

Classification decide(Findings findings) {
  const bool some_ruled_out =
      std::any_of(findings.list.begin(), findings.list.end(), [&](const Finding& finding) {
        return is_words(finding) && !words_may_say(finding.evidence.suggests, findings);
      });
  if (some_ruled_out && findings.stated) findings.list.push_back(std::move(*findings.stated));
  believe_code_rather_than_loop(precise_code_of(findings, true), findings);
  Classification result = begun(findings);
  if (const Finding* fact = sure_fact(findings.list)) {
    take(*fact, result);
  } else {
    Scores scores = score(findings);
    const FailureType winner = strongest(scores);
    const double confidence = doubtful_confidence(scores, winner);
    if (winner == unknown) {
      // Nothing was found, or only a remark that the work continues.
    } else if (of(scores, winner).score >= least_score && confidence >= least_confidence) {
      result.type = winner;
      result.reason = of(scores, winner).best->reason;
      result.confidence = confidence;
    } else {
      lean(winner, of(scores, winner).best->reason, confidence, result);
    }
  }
  move_evidence(findings, result.type, result);
  return result;
}

}  // namespace triage::inline v0_1::detail
