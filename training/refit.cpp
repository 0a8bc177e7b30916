// SPDX-License-Identifier: MIT
#include "refit.hpp"

#include "calibration.hpp"
#include "evidence/findings.hpp"
#include "name_learner.hpp"
#include "trainer.hpp"

#include <algorithm>
#include <map>
#include <thread>
#include <utility>

namespace triage::training {
namespace {

using enum FailureType;

constexpr float correction_weight = 3;  // Corrections come from the agent that will ask.

const std::vector<std::vector<FailureType>> groups{
    {wrong_tool_called, schema_mismatch, context_overflow, plan_incomplete},
    {external_fault, timeout},
    {access_denied, quota_exhausted, refused, crashed},
    {constraint_ignored, loop_detected}};

std::size_t group_of(FailureType type) {
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (std::find(groups[i].begin(), groups[i].end(), type) != groups[i].end()) return i;
  }
  return groups.size();  // unknown
}

// The number of an origin or wording; a new one for an unknown name.
std::size_t number_of(std::map<std::string, std::size_t>& numbers, const std::string& name) {
  return numbers.try_emplace(name, numbers.size()).first->second;
}

// Rows, their examples, and the fold in which each is held out.
struct Lesson {
  Corpus corpus{};
  std::vector<Example> examples{};  // The rows' own first, then additional ones.
  std::vector<std::size_t> fold{};  // Of each origin of `corpus`.

  [[nodiscard]] std::size_t fold_of(const Example& example) const { return fold[example.origin]; }
};

using Posteriors = std::vector<detail::Posterior>;

// Posteriors of models that have not seen the rows.
struct Opinions {
  Posteriors corpus{};
  Posteriors corrections{};
};

struct Course {
  Lesson corpus{};
  Lesson corrections{};  // Wordings act as origins: a word in several of them is not a name.
  std::vector<std::size_t> origin_of_correction{};  // Of each wording.
  std::size_t folds = 0;
  unsigned threads = 1;
};

void ask(const detail::TextModel& model, const Lesson& lesson, std::size_t fold,
         Posteriors& posteriors) {
  detail::ModelInput input;
  for (std::size_t i = 0; i < lesson.corpus.rows.size(); ++i) {
    const Example& example = lesson.examples[i];
    if (example.only_teaches || lesson.fold_of(example) != fold) continue;
    input.features.features = example.features;
    input.features.kind = example.kind;
    input.hints = example.hints;
    posteriors[i] = model.posterior(input);
  }
}

// Holds out one fold at a time. taught: whether corrections are used for training.
Opinions leave_out(const Course& course, bool taught) {
  Opinions opinions{.corpus = Posteriors(course.corpus.corpus.rows.size()),
                    .corrections = Posteriors(course.corrections.corpus.rows.size())};
  const auto work = [&](std::size_t first) {
    for (std::size_t fold = first; fold < course.folds; fold += course.threads) {
      std::vector<const Example*> teaching;
      for (const Lesson* lesson : {&course.corpus, &course.corrections}) {
        if (lesson == &course.corrections && !taught) continue;
        for (const Example& example : lesson->examples) {
          if (example.only_teaches || lesson->fold_of(example) != fold) {
            teaching.push_back(&example);
          }
        }
      }
      const auto model = detail::TextModel::parse(detail::TextModel::serialize(fit(teaching)));
      ask(model.value(), course.corpus, fold, opinions.corpus);
      ask(model.value(), course.corrections, fold, opinions.corrections);
    }
  };
  std::vector<std::thread> workers;
  for (unsigned i = 0; i < course.threads; ++i) workers.emplace_back(work, i);
  for (std::thread& worker : workers) worker.join();
  return opinions;
}

void judge(const Lesson& lesson, const Posteriors& posteriors, std::size_t fold_left_out,
           std::vector<Judged>& judged) {
  for (std::size_t i = 0; i < lesson.corpus.rows.size(); ++i) {
    const Row& row = lesson.corpus.rows[i];
    if (row.kind == RowKind::paraphrase) continue;
    if (lesson.fold_of(lesson.examples[i]) == fold_left_out) continue;
    judged.push_back({posteriors[i], row.label, lesson.examples[i].kind, lesson.examples[i].rules});
  }
}

// Thresholds fitted on rows of the other folds; rows in no fold use all rows.
Calibration calibration_without(const Course& course, const Opinions& opinions, bool taught,
                                std::size_t fold) {
  std::vector<Judged> judged;
  judge(course.corpus, opinions.corpus, fold, judged);
  if (taught) judge(course.corrections, opinions.corrections, fold, judged);
  return calibrate(judged);
}

// What the classifier would answer: the model, codes where it abstains.
FailureType answer(const Failure& failure, const detail::Posterior& posterior,
                   const Example& example, const Calibration& calibration) {
  const Trajectory none;
  detail::Findings findings;
  detail::find_hints({.failure = failure, .trajectory = none}, findings);
  return detail::decide(std::move(findings),
                        opinion(posterior, example.kind, example.rules, calibration))
      .type;
}

std::vector<FailureType> answers(const Lesson& lesson, const Posteriors& posteriors,
                                 const std::vector<Calibration>& calibrations) {
  std::vector<FailureType> all;
  for (std::size_t i = 0; i < lesson.corpus.rows.size(); ++i) {
    if (lesson.examples[i].only_teaches) {
      all.push_back(unknown);  // Not asked.
      continue;
    }
    all.push_back(answer(lesson.corpus.rows[i].failure, posteriors[i], lesson.examples[i],
                         calibrations[lesson.fold_of(lesson.examples[i])]));
  }
  return all;
}

struct Answers {
  std::vector<FailureType> corpus{};
  std::vector<FailureType> corrections{};
};

Answers examine(const Course& course, const Opinions& opinions, bool taught) {
  std::vector<Calibration> calibrations;
  for (std::size_t fold = 0; fold < course.folds; ++fold) {
    calibrations.push_back(calibration_without(course, opinions, taught, fold));
  }
  return {.corpus = answers(course.corpus, opinions.corpus, calibrations),
          .corrections = answers(course.corrections, opinions.corrections, calibrations)};
}

Score score_of(const Lesson& lesson, const std::vector<FailureType>& said) {
  Score score;
  for (std::size_t i = 0; i < said.size(); ++i) score.add(lesson.corpus.rows[i].label, said[i]);
  return score;
}

Score score_of_corpus(const Lesson& lesson, const std::vector<FailureType>& said,
                      std::vector<Score>& by_group) {
  Score score;
  for (std::size_t i = 0; i < said.size(); ++i) {
    const Row& row = lesson.corpus.rows[i];
    if (row.kind == RowKind::paraphrase) continue;
    score.add(row.label, said[i]);
    for (std::size_t group = 0; group < groups.size(); ++group) {
      // A row counts for its own group and for the one it was assigned to.
      if (group_of(row.label) == group || group_of(said[i]) == group) {
        Score& own = by_group[group];
        own.rows += 1;
        own.failures += group_of(row.label) == group ? 1U : 0U;
        own.said += group_of(said[i]) == group ? 1U : 0U;
        own.right += row.label == said[i] ? 1U : 0U;
      }
    }
  }
  return score;
}

Row row_of(const Correction& correction, std::size_t wording) {
  return {.failure = correction.failure,
          .label = correction.type,
          .reason = correction.reason,
          .origin = wording,
          .kind = RowKind::correction,
          .lang = "en",
          .place = {}};
}

Course prepare(const Corpus& corpus, const std::vector<Correction>& corrections,
               const RefitOptions& options, std::vector<std::size_t>& by_wording) {
  Course course;
  course.corpus.corpus = corpus;
  std::map<std::string, std::size_t> origins;
  for (std::size_t i = 0; i < corpus.written_origins; ++i) number_of(origins, corpus.origins[i]);
  std::map<std::string, std::size_t> wordings;
  for (const Correction& correction : corrections) {
    const std::size_t origin = number_of(origins, correction.origin);
    const std::size_t wording =
        number_of(wordings, correction.origin + '\n' + wording_of(correction.failure));
    if (wording == course.origin_of_correction.size())
      course.origin_of_correction.push_back(origin);
    course.corrections.corpus.rows.push_back(row_of(correction, wording));
  }
  // Names that several corrections have in common are read like those of the corpus. The scores
  // before learning are of a model that knows these names, too.
  NameLearner names;
  for (const Row& row : course.corrections.corpus.rows) names.read(row.failure, row.origin);
  names.teach(course.corpus.corpus.known_names);
  course.corrections.corpus.known_names = course.corpus.corpus.known_names;
  course.corpus.examples = make_examples(course.corpus.corpus, {});
  // Wordings are numbered after the corpus's origins, as if each were one.
  course.corrections.examples = make_examples(course.corrections.corpus, {});
  course.folds = options.folds == 0 ? origins.size() : std::min(options.folds, origins.size());
  course.threads = std::max(1U, options.threads);
  const std::vector<std::size_t> fold = shuffled_folds(origins.size(), course.folds);
  course.corpus.fold.assign(fold.begin(),
                            fold.begin() + static_cast<std::ptrdiff_t>(corpus.written_origins));
  course.corpus.fold.resize(corpus.origins.size(), 0);  // Patterns of grammars are never held out.
  for (const std::size_t origin : course.origin_of_correction) {
    course.corrections.fold.push_back(fold[origin]);
  }
  by_wording = shuffled_folds(course.origin_of_correction.size(), course.folds);
  const std::size_t first = corpus.origins.size();
  for (Example& example : course.corrections.examples) {
    example.weight *= correction_weight;
    example.origin += first;
  }
  const auto shift = [&](std::vector<std::size_t>& folds) {
    folds.insert(folds.begin(), first, 0);  // Numbers below these are the corpus's.
  };
  shift(course.corrections.fold);
  shift(by_wording);
  return course;
}

std::string final_model(const Course& course, const Calibration& calibration) {
  std::vector<const Example*> teaching;
  for (const Lesson* lesson : {&course.corpus, &course.corrections}) {
    for (const Example& example : lesson->examples) teaching.push_back(&example);
  }
  detail::ModelParameters parameters = fit(teaching);
  parameters.known_names = course.corpus.corpus.known_names;
  apply(calibration, parameters);
  return detail::TextModel::serialize(parameters);
}

}  // namespace

void Score::add(FailureType label, FailureType answer) noexcept {
  rows += 1;
  failures += label != unknown ? 1 : 0;
  said += answer != unknown ? 1 : 0;
  right += label != unknown && answer == label ? 1 : 0;
  overridden += label == unknown && answer != unknown ? 1 : 0;
}

const std::vector<std::string>& group_names() {
  static const std::vector<std::string> names{"routing-sensitive", "self-healing", "never retry",
                                              "the others"};
  return names;
}

std::string wording_of(const Failure& failure) {
  std::string wording = failure.exception_type + '\n';
  char quote = '\0';
  bool number = false;
  for (const char c : failure.text) {
    if (quote != '\0') {
      if (c == quote || c == '\n') quote = '\0';
      continue;
    }
    if (c == '"' || c == '\'' || c == '`') quote = c;
    const bool digit = c >= '0' && c <= '9';
    if (!digit || !number) wording += digit ? '0' : c;
    number = digit;
  }
  return wording;
}

Result<Refit> refit(const Corpus& corpus, const std::vector<Correction>& corrections,
                    const RefitOptions& options) {
  if (corrections.empty()) {
    return Error{Errc::invalid_argument, "there is no correction to learn from"};
  }
  std::vector<std::size_t> by_wording;
  Course course = prepare(corpus, corrections, options, by_wording);
  if (course.folds < 2) {
    return Error{Errc::invalid_argument,
                 "corpus and corrections have " + std::to_string(course.folds) +
                     " fold of origins; leaving origins out needs at least 2"};
  }
  const Opinions before = leave_out(course, false);
  const Opinions after = leave_out(course, true);
  const Answers said_before = examine(course, before, false);
  const Answers said_after = examine(course, after, true);

  const auto asked = std::count_if(corpus.rows.begin(), corpus.rows.end(),
                                   [](const Row& row) { return row.kind != RowKind::paraphrase; });
  RefitReport report{.corpus_rows = static_cast<std::size_t>(asked),
                     .corrections = corrections.size(),
                     .wordings = course.origin_of_correction.size(),
                     .folds = course.folds};
  std::map<std::string, std::size_t> origins;
  for (std::size_t i = 0; i < corpus.written_origins; ++i) number_of(origins, corpus.origins[i]);
  for (const Correction& correction : corrections) number_of(origins, correction.origin);
  report.origins = origins.size();
  std::vector<Score> groups_before(groups.size());
  std::vector<Score> groups_after(groups.size());
  report.corpus = {score_of_corpus(course.corpus, said_before.corpus, groups_before),
                   score_of_corpus(course.corpus, said_after.corpus, groups_after)};
  for (std::size_t i = 0; i < groups.size(); ++i) {
    report.groups.push_back({groups_before[i], groups_after[i]});
  }
  report.corrections_by_origin = {score_of(course.corrections, said_before.corrections),
                                  score_of(course.corrections, said_after.corrections)};

  course.corrections.fold = std::move(by_wording);
  Opinions wordings = leave_out(course, true);
  const Answers said_of_wordings = examine(course, wordings, true);
  report.corrections_by_wording = {report.corrections_by_origin.before,
                                   score_of(course.corrections, said_of_wordings.corrections)};
  // Corrections come from the agent that will be classified: new wordings, but a known origin.
  wordings.corpus = after.corpus;
  const Calibration calibration = calibration_without(course, wordings, true, course.folds);
  return outcome::success(
      Refit{.model = final_model(course, calibration), .report = std::move(report)});
}

}  // namespace triage::training
