// SPDX-License-Identifier: MIT
// Learning from corrections, and the reported benefit.
#include "refit.hpp"

#include "classifier/text/text_model.hpp"
#include "support/catch.hpp"
#include "support/result.hpp"

using namespace triage;
using namespace triage::training;

namespace {

void add(Corpus& corpus, std::size_t origin, const std::string& text, FailureType label) {
  corpus.rows.push_back({.failure = {.text = text}, .label = label, .origin = origin});
}

// Eight origins that report the same two failures in nearly the same words.
Corpus small_corpus() {
  Corpus corpus;
  for (std::size_t i = 0; i < 8; ++i) {
    const std::string name(1, static_cast<char>('a' + i));
    corpus.origins.push_back(name);
    add(corpus, i, "peer " + name + " reset the connection", FailureType::external_fault);
    add(corpus, i, "the request to " + name + " timed out", FailureType::timeout);
    add(corpus, i, "nothing to say of " + name, FailureType::unknown);
    add(corpus, i, "the flurb of order " + name + " was shipped", FailureType::unknown);
  }
  corpus.written_origins = corpus.origins.size();
  return corpus;
}

std::vector<Correction> flurbs() {
  std::vector<Correction> all;
  for (const std::string what : {"order", "basket", "route", "plan", "table", "letter", "window",
                                 "garden", "lamp", "bottle", "ticket", "bridge"}) {
    all.push_back({.failure = {.text = "flurb grommet refuses the " + what},
                   .type = FailureType::refused,
                   .origin = "mine"});
  }
  return all;
}

}  // namespace

TEST_CASE("a code that several corrections have in common is read", "[classifier][training]") {
  Corpus corpus = small_corpus();
  corpus.known_names.assign(detail::KnownNames::bytes, '\0');
  std::vector<Correction> corrections;
  for (const std::string what : {"order", "basket", "route", "plan", "table", "letter"}) {
    corrections.push_back({.failure = {.text = "flurb_grommet at the " + what + ", own_" + what},
                           .type = FailureType::refused,
                           .origin = "mine"});
  }
  const auto learned = refit(corpus, corrections, {.folds = 4, .threads = 2});
  REQUIRE_OK(learned);
  const auto model = detail::TextModel::parse(learned.value().model);
  REQUIRE_OK(model);
  const auto knows = [&](std::string_view name) {
    return model.value().known_names().knows(detail::word_pairs_of(name).at(0));
  };
  CHECK(knows("flurb_grommet"));
  CHECK_FALSE(knows("own_order"));
}

TEST_CASE("corrections teach words that no origin of the corpus has", "[classifier][training]") {
  const auto learned = refit(small_corpus(), flurbs(), {.folds = 4, .threads = 2});
  REQUIRE_OK(learned);
  const RefitReport& report = learned.value().report;
  CHECK(report.corpus_rows == 32);
  CHECK(report.corrections == 12);
  CHECK(report.wordings == 12);
  CHECK(report.origins == 9);
  CHECK(report.folds == 4);
  CHECK(report.corrections_by_origin.before.failures == 12);
  CHECK(report.corrections_by_origin.before.right == 0);
  CHECK(report.corrections_by_origin.after.right == 0);  // Left out together.
  CHECK(report.corrections_by_wording.before.right == 0);
  CHECK(report.corrections_by_wording.after.right >= 10);
  CHECK(report.corpus.before.rows == 32);
  CHECK(report.corpus.after.overridden == 0);
  REQUIRE(report.groups.size() == group_names().size());
  CHECK(report.groups[1].before.failures == 16);  // Self-healing.
  CHECK(report.groups[0].before.rows == 0);       // Routing-sensitive.
}

TEST_CASE("the same rows give the same model, with any number of threads",
          "[classifier][training]") {
  const auto one = refit(small_corpus(), flurbs(), {.folds = 3, .threads = 1});
  const auto three = refit(small_corpus(), flurbs(), {.folds = 3, .threads = 3});
  REQUIRE_OK(one);
  REQUIRE_OK(three);
  CHECK(one.value().model == three.value().model);
  CHECK(one.value().report.corpus.after.right == three.value().report.corpus.after.right);
}

TEST_CASE("without corrections, or with one origin, there is nothing to learn",
          "[classifier][training]") {
  CHECK_ERRC(Errc::invalid_argument, refit(small_corpus(), {}));
  Corpus empty;
  CHECK_ERRC(Errc::invalid_argument, refit(empty, flurbs()));
  CHECK_ERRC(Errc::invalid_argument, refit(small_corpus(), flurbs(), {.folds = 1}));
}

TEST_CASE("a wording is what stays when names and numbers are taken out",
          "[classifier][training]") {
  const auto wording = [](const std::string& text) { return wording_of({.text = text}); };
  CHECK(wording("job 17 of 'x' failed") == wording("job 4 of 'long name' failed"));
  CHECK(wording("job 17 failed") != wording("task 17 failed"));
  CHECK(wording("it didn't\nfail 1") == wording("it didn't\nfail 2"));
  CHECK(wording_of({.exception_type = "A"}) != wording_of({.exception_type = "B"}));
}

TEST_CASE("patterns of a grammar teach with corrections, and are not counted",
          "[classifier][training]") {
  Corpus corpus = small_corpus();
  const auto without = refit(corpus, flurbs(), {.folds = 4, .threads = 1});
  corpus.origins.emplace_back("more.grammar:1");
  for (const std::string what : {"minutes", "hours", "days"}) {
    corpus.rows.push_back({.failure = {.text = what + " of waiting went by"},
                           .label = FailureType::timeout,
                           .origin = 8,
                           .kind = RowKind::paraphrase});
  }
  const auto with = refit(corpus, flurbs(), {.folds = 4, .threads = 1});
  REQUIRE_OK(without);
  REQUIRE_OK(with);
  CHECK(with.value().report.corpus_rows == 32);
  CHECK(with.value().report.origins == 9);
  CHECK(with.value().report.corpus.before.rows == 32);
  CHECK(with.value().model != without.value().model);
}
