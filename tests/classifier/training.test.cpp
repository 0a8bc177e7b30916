// SPDX-License-Identifier: MIT
// Reading a corpus, fitting a model to it, and finding its thresholds.
#include "calibration.hpp"
#include "corpus.hpp"
#include "trainer.hpp"

#include "support/program.hpp"
#include "support/result.hpp"

#include <fstream>

using namespace triage;
using namespace triage::training;

namespace {

std::string row(const std::string& text, const std::string& origin, const std::string& label) {
  return "{\"text\": \"" + text + "\", \"origin\": \"" + origin + "\", \"label\": \"" + label +
         "\", \"reason\": \"r\", \"codes\": {}, \"kind\": \"written\"}\n";
}

// Six origins that say the same two things in nearly the same words.
std::string small_corpus() {
  std::string rows;
  for (const std::string origin : {"a", "b", "c", "d", "e", "f"}) {
    rows += row("the tool " + origin + " does not exist", origin, "wrong_tool_called");
    rows += row("peer " + origin + " reset the connection", origin, "external_fault");
    rows += row("nothing to say of " + origin, origin, "unknown");
  }
  return rows;
}

std::vector<const Example*> pointers(const std::vector<Example>& examples) {
  std::vector<const Example*> all;
  for (const Example& example : examples) all.push_back(&example);
  return all;
}

}  // namespace

TEST_CASE("a corpus row without a label is refused with its place", "[classifier][training]") {
  const test::TempFolder folder;
  const std::string path = folder.file("rows.jsonl");
  std::ofstream(path) << row("x", "a", "crashed") << row("x", "a", "none");
  CHECK_ERRC(Errc::invalid_argument, read_corpus(path.substr(0, path.rfind('/'))));
  CHECK_THAT(read_corpus(path.substr(0, path.rfind('/'))).error().detail,
             ContainsSubstring("rows.jsonl:2"));
  for (const std::string bad : {"", "[]", "{", "{\"label\": 3}", "{\"text\": []}"}) {
    INFO(bad);
    std::ofstream(path) << bad << "\n";
    CHECK_ERRC(Errc::invalid_argument, read_corpus(path.substr(0, path.rfind('/'))));
  }
  CHECK_ERRC(Errc::not_found, read_corpus("/nowhere"));
}

TEST_CASE("the same corpus gives the same bytes, and a model that knows it",
          "[classifier][training]") {
  const test::TempFolder folder;
  const std::string path = folder.file("rows.jsonl");
  std::ofstream(path) << small_corpus();
  const auto corpus = read_corpus(path.substr(0, path.rfind('/')));
  REQUIRE_OK(corpus);
  CHECK(corpus.value().origins.size() == 6);
  const std::vector<Example> examples = make_examples(corpus.value(), {});
  const std::string bytes = detail::TextModel::serialize(fit(pointers(examples)));
  CHECK(bytes == detail::TextModel::serialize(fit(pointers(examples))));
  const auto posteriors = leave_origins_out(examples, corpus.value().rows.size(), 6, 6, 2);
  CHECK(posteriors == leave_origins_out(examples, corpus.value().rows.size(), 6, 6, 1));
  for (std::size_t i = 0; i < posteriors.size(); ++i) {
    INFO(corpus.value().rows[i].failure.text);
    CHECK(posteriors[i][static_cast<std::size_t>(corpus.value().rows[i].label)] > 0.5);
  }
}

TEST_CASE("thresholds are where the goals are reached", "[classifier][training]") {
  std::vector<Judged> judged;
  const auto add = [&](FailureType said, double confidence, FailureType label) {
    detail::Posterior posterior{};
    posterior.fill((1 - confidence) / 12);
    posterior[static_cast<std::size_t>(said)] = confidence;
    judged.push_back({posterior, label});
  };
  for (int i = 0; i < 100; ++i) {
    add(FailureType::schema_mismatch, 0.9, FailureType::schema_mismatch);
    add(FailureType::schema_mismatch, 0.6,
        i % 2 == 0 ? FailureType::schema_mismatch : FailureType::unknown);
    add(FailureType::timeout, 0.6, FailureType::timeout);
    add(FailureType::unknown, 0.9, FailureType::unknown);
  }
  const Calibration calibration = calibrate(judged);
  std::size_t right = 0;
  for (const Judged& row : judged) {
    const FailureType said = decide(row.posterior, calibration);
    CHECK((said == FailureType::unknown || said == row.label));
    if (said == row.label && said != FailureType::unknown) ++right;
  }
  CHECK(right == 200);
}
