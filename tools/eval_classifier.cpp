// SPDX-License-Identifier: MIT
// Asks rules, codes, the model and the whole classifier about every row of a corpus, with a model
// fitted without the row's origin. scripts/eval_classifier makes tables of the answers.

#include "calibration.hpp"
#include "evidence/findings.hpp"
#include "trainer.hpp"
#include "triage/classifier.hpp"
#include "triage/json.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

using namespace triage;
using namespace triage::training;

namespace {

constexpr const char* usage =
    "usage: eval_classifier CORPUS_FOLDER [FOLDS]\n"
    "Prints one line of JSON for every row of CORPUS_FOLDER/*.jsonl: its label, and what each part "
    "of\n"
    "the classifier says. FOLDS: how many groups of origins are left out in turn; by default each\n"
    "origin by itself. For the model with text only 20 groups are enough.\n";
constexpr std::size_t most_text_folds = 20;  // For comparison only, and as costly as the rest.

struct Answer {
  FailureType type = FailureType::unknown;
  double confidence = 0;
  FailureType likeliest = FailureType::unknown;  // Before abstention.
  double likeliest_confidence = 0;
};

Json to_json(const Answer& answer) {
  return {{"type", to_string(answer.type)},
          {"confidence", answer.confidence},
          {"likeliest", to_string(answer.likeliest)},
          {"likeliest_confidence", answer.likeliest_confidence}};
}

Answer from(const Classification& found) {
  return {found.type, found.confidence, found.type, found.confidence};
}

Answer ask_rules(const Failure& failure) {
  const Trajectory none;
  return from(RulesClassifier().classify({.failure = failure, .trajectory = none}));
}

Failure codes_only(Failure failure) {
  failure.text.clear();
  failure.causes.clear();
  return failure;
}

// The model's answers to rows whose origin it has not seen. Thresholds and temperature for one
// group of origins are found on the rows of the others.
class LeftOut {
 public:
  LeftOut(const Corpus& corpus, const detail::ModelInputParts& parts, std::size_t folds)
      : corpus_(corpus) {
    const std::vector<Example> examples = make_examples(corpus, parts);
    std::transform(examples.begin(), examples.end(), std::back_inserter(kinds_),
                   [](const Example& example) { return example.kind; });
    std::transform(examples.begin(), examples.end(), std::back_inserter(rules_),
                   [](const Example& example) { return example.rules; });
    endings_ = make_ending_examples(corpus, parts);
    posteriors_ = leave_origins_out(examples, corpus.rows.size(), corpus.written_origins, folds,
                                    std::max(1U, std::thread::hardware_concurrency()), endings_);
    for (std::size_t group = 0; group < groups; ++group) {
      calibrations_[group] = calibration_without(group);
    }
  }

  [[nodiscard]] detail::ModelOpinion opinion(std::size_t row) const {
    const Calibration& calibration = calibrations_[corpus_.rows[row].origin % groups];
    const auto whole = training::opinion(posteriors_[row], kinds_[row], rules_[row], calibration);
    if (whole.type != FailureType::unknown) return whole;
    for (std::size_t i = 0; i < endings_.size(); ++i) {
      if (endings_[i].row != row) continue;
      const Example& ending = endings_[i].example;
      const auto heard = training::opinion(posteriors_[corpus_.rows.size() + i], ending.kind,
                                           ending.rules, calibration);
      if (detail::may_say_by_ending(heard.type, ending.rules, endings_[i].of)) return heard;
    }
    return whole;
  }

 private:
  static constexpr std::size_t groups = 10;

  [[nodiscard]] Calibration calibration_without(std::size_t group) const {
    std::vector<Judged> judged;
    for (std::size_t i = 0; i < corpus_.rows.size(); ++i) {
      const Row& row = corpus_.rows[i];
      if (row.origin % groups == group || row.kind == RowKind::paraphrase) continue;
      judged.push_back({posteriors_[i], row.label, kinds_[i], rules_[i]});
    }
    return calibrate(judged);
  }

  const Corpus& corpus_;
  std::vector<detail::TextKind> kinds_{};
  std::vector<FailureType> rules_{};
  std::vector<EndingExample> endings_{};
  std::vector<detail::Posterior> posteriors_{};  // Of the rows, then of the endings.
  std::array<Calibration, groups> calibrations_{};
};

Answer from(const detail::ModelOpinion& opinion) {
  return {opinion.type, opinion.type == FailureType::unknown ? 0 : opinion.confidence,
          opinion.likeliest, opinion.confidence};
}

Answer ask_all(const Failure& failure, const detail::ModelOpinion& opinion) {
  const Trajectory none;
  const ClassifierInput input{.failure = failure, .trajectory = none};
  detail::Findings findings;
  detail::find_hints(input, findings);
  Answer answer = from(detail::decide(std::move(findings), opinion));
  answer.likeliest = opinion.likeliest;
  answer.likeliest_confidence = opinion.confidence;
  return answer;
}

void evaluate(const Corpus& corpus, std::size_t folds) {
  const LeftOut model(corpus, {.text = true, .codes = false, .hints = false},
                      std::min(folds, most_text_folds));
  const LeftOut all(corpus, {}, folds);
  for (std::size_t i = 0; i < corpus.rows.size(); ++i) {
    const Row& row = corpus.rows[i];
    if (row.kind == RowKind::paraphrase) continue;
    const Json line{{"place", row.place},
                    {"origin", corpus.origins[row.origin]},
                    {"label", to_string(row.label)},
                    {"kind", row.kind == RowKind::provoked ? "provoked" : "written"},
                    {"lang", row.lang},
                    {"rules", to_json(ask_rules(row.failure))},
                    {"codes", to_json(ask_rules(codes_only(row.failure)))},
                    {"model", to_json(from(model.opinion(i)))},
                    {"all", to_json(ask_all(row.failure, all.opinion(i)))}};
    std::puts(show(line).c_str());
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3 || std::strcmp(argv[1], "--help") == 0) {
    std::fputs(usage, argc == 2 ? stdout : stderr);
    return argc == 2 ? 0 : 2;
  }
  const auto corpus = read_corpus(argv[1]);
  if (!corpus) {
    std::fprintf(stderr, "eval_classifier: %s\n", corpus.error().detail.c_str());
    return 4;
  }
  const int folds = argc == 3 ? std::atoi(argv[2]) : 0;
  evaluate(corpus.value(),
           folds > 1 ? static_cast<std::size_t>(folds) : corpus.value().written_origins);
  return 0;
}
