// SPDX-License-Identifier: MIT
#include "classifier/findings.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace triage::inline v0_1::detail {
namespace {

constexpr double least_score = 0.5;          // Weaker findings give unknown.
constexpr double least_confidence = 0.5;     // The same after contradictions are taken off.
constexpr double sure = 0.95;                // Facts and breaches from here on end the discussion.
constexpr double contradiction = 0.5;        // How much of a rival's score is taken off.
constexpr double mild_contradiction = 0.15;  // The same for a rival that the winner explains.
constexpr double precise = 0.85;             // Codes from here on mean one thing.
constexpr std::string_view by_wording = "by_wording";
constexpr double most_doubtful = 0.98;  // Words and codes never make a classification certain.

using enum FailureType;

// Where both are seen, the first explains the second. Each was checked against its opposite.
struct Explains {
  FailureType cause;
  FailureType consequence;
};
constexpr Explains explanations[] = {
    {external_fault, timeout},            // "503 … upstream request timeout"
    {external_fault, schema_mismatch},    // An error page instead of JSON.
    {quota_exhausted, external_fault},    // 429 is sent for spent money, too.
    {quota_exhausted, access_denied},     // And so is 403.
    {context_overflow, schema_mismatch},  // 400 with "too many tokens".
    {refused, schema_mismatch},          {refused, access_denied},
};

struct TypeScore {
  double score = 0;
  std::array<double, finding_kind_count> by_kind{};  // Best of its kind: repetition proves nothing.
  const Finding* best = nullptr;
};
using Scores = std::array<TypeScore, failure_type_count>;

TypeScore& of(Scores& scores, FailureType type) { return scores[static_cast<std::size_t>(type)]; }

Scores score(const std::vector<Finding>& findings) {
  Scores scores;
  for (const Finding& finding : findings) {
    TypeScore& entry = of(scores, finding.evidence.suggests);
    const double confidence = finding.evidence.confidence;
    double& best_of_kind = entry.by_kind[static_cast<std::size_t>(finding.kind)];
    best_of_kind = std::max(best_of_kind, confidence);
    if (entry.best == nullptr || confidence > entry.best->evidence.confidence)
      entry.best = &finding;
  }
  for (TypeScore& entry : scores) {
    double doubt = 1;  // Different kinds of findings are taken as independent.
    for (const double confidence : entry.by_kind) doubt *= 1 - confidence;
    entry.score = 1 - doubt;
  }
  scores[static_cast<std::size_t>(unknown)].score = 0;
  return scores;
}

// A connection that could not be made in time is a timeout; an overloaded server that let us wait
// is not.
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
  // Follow explanations to their root; there are no circles among them.
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

void move_evidence(Findings& findings, FailureType decided, Classification& result) {
  const auto rank = [&](const Finding& finding) {
    const bool sure_kind =
        finding.kind <= FindingKind::contract && finding.evidence.confidence >= sure;
    return std::make_pair(finding.evidence.suggests == decided,
                          finding.evidence.confidence + (sure_kind ? 1.0 : 0.0));
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

// Names in a text that is no failure decide nothing: a list of changes, a summary or advice has
// them, too. In a few words there is nothing else to go by.
bool names_count(const ModelOpinion& opinion) {
  constexpr std::size_t few_words = 8;
  return opinion.likeliest != unknown || opinion.words <= few_words;
}

// What means one thing only, where no other finding of the kind says something else.
const Finding* precise_finding(FindingKind kind, bool names_too,
                               const std::vector<Finding>& findings) {
  const Finding* found = nullptr;
  for (const Finding& finding : findings) {
    if (finding.kind != kind || finding.evidence.confidence < precise) continue;
    if (finding.named_in_text && !names_too) continue;
    if (found != nullptr && found->evidence.suggests != finding.evidence.suggests) return nullptr;
    found = &finding;
  }
  return found;
}

// What decides where the model does not.
const Finding* precise_finding(const std::vector<Finding>& findings, const ModelOpinion& opinion) {
  const Finding* code = precise_finding(FindingKind::code, names_count(opinion), findings);
  if (code != nullptr || opinion.words > 0) return code;
  return precise_finding(FindingKind::exception_type, false, findings);
}

// The result stays unknown; whoever can find out more learns what to look for.
void lean(FailureType type, std::string_view reason, double confidence, Classification& result) {
  if (result.type != unknown || type == unknown || confidence <= 0) return;
  result.leaning = {.type = type, .reason = std::string(reason), .confidence = confidence};
}

void note_opinion(const ModelOpinion& opinion, Findings& findings) {
  if (opinion.likeliest == unknown) return;
  std::string detail = "The wording is that of ";
  detail += to_string(opinion.likeliest);
  if (opinion.type == unknown) detail += ", but not surely enough to say so";
  findings.list.push_back({.kind = FindingKind::text,
                           .reason = by_wording,
                           .evidence = {.source = "model",
                                        .suggests = opinion.likeliest,
                                        .detail = std::move(detail),
                                        .confidence = opinion.confidence}});
}

}  // namespace

Classification decide(Findings findings, const ModelOpinion& opinion) {
  Classification result = begun(findings);
  if (const Finding* fact = sure_fact(findings.list)) {
    take(*fact, result);
  } else if (opinion.type != unknown) {
    const Finding* best = strongest_for(opinion.type, findings.list);
    result.type = opinion.type;
    result.reason = best != nullptr ? best->reason : by_wording;
    result.confidence = std::min(opinion.confidence, most_doubtful);
  } else if (const Finding* precise_one = precise_finding(findings.list, opinion)) {
    take(*precise_one, result);
  }
  const Finding* hint = strongest_for(opinion.likeliest, findings.list);
  lean(opinion.likeliest, hint != nullptr ? hint->reason : by_wording,
       std::min(opinion.confidence, most_doubtful), result);
  note_opinion(opinion, findings);
  move_evidence(findings, result.type, result);
  return result;
}

Classification decide(Findings findings) {
  Classification result = begun(findings);
  if (const Finding* fact = sure_fact(findings.list)) {
    take(*fact, result);
  } else {
    Scores scores = score(findings.list);
    const FailureType winner = strongest(scores);
    const double confidence = doubtful_confidence(scores, winner);
    if (of(scores, winner).score >= least_score && confidence >= least_confidence) {
      result.type = winner;
      result.reason = of(scores, winner).best->reason;
      result.confidence = confidence;
    } else if (winner != unknown) {
      lean(winner, of(scores, winner).best->reason, confidence, result);
    }
  }
  move_evidence(findings, result.type, result);
  return result;
}

}  // namespace triage::inline v0_1::detail
