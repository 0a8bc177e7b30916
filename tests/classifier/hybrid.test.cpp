// SPDX-License-Identifier: MIT
// A second opinion: when it is requested, when it counts, and how much harm a bad one can do.
#include "triage/hybrid_classifier.hpp"

#include "support/result.hpp"
#include "triage/json.hpp"

#include <fstream>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

using namespace triage;

namespace {

// Gives prepared answers and counts how often it is asked.
class Scripted final : public Classifier {
 public:
  using Script = std::function<Classification(const ClassifierInput&)>;

  explicit Scripted(Script script) : script_(std::move(script)) {}
  Classification classify(const ClassifierInput& input) override {
    ++calls;
    return script_(input);
  }
  int calls = 0;

 private:
  Script script_;
};

std::shared_ptr<Scripted> scripted(Scripted::Script script) {
  return std::make_shared<Scripted>(std::move(script));
}

Classification opinion(FailureType type, double confidence) {
  return {.type = type,
          .reason = "by_llm",
          .confidence = confidence,
          .evidence = {{.source = "llm", .suggests = type, .confidence = confidence}}};
}

Classification leaning(FailureType type, double confidence) {
  return {.evidence = {{.source = "model", .suggests = type, .confidence = confidence}},
          .critical_step = 3,
          .retry_after = std::chrono::seconds(7),
          .leaning = {.type = type, .reason = "overloaded", .confidence = confidence}};
}

Classification ask(const std::shared_ptr<Classifier>& base,
                   const std::shared_ptr<Classifier>& second, const HybridBand& band = {}) {
  const auto hybrid = HybridClassifier::create(base, second, band);
  REQUIRE_OK(hybrid);
  const Failure failure{.text = "x"};
  const Trajectory none;
  return hybrid.value()->classify({.failure = failure, .trajectory = none});
}

// Rows written after the built-in model and never used to train it.
struct FreshRow {
  Failure failure{};
  FailureType label = FailureType::unknown;
};

std::vector<FreshRow> fresh_rows() {
  std::ifstream file(TRIAGE_SOURCE_DIR "/evaluation/held_out/fresh.jsonl");
  std::vector<FreshRow> rows;
  for (std::string line; std::getline(file, line);) {
    const Json json = Json::parse(line);
    const Json codes = json.value("codes", Json::object());
    FreshRow row{
        .failure = {.text = json.at("text"), .exception_type = codes.value("exception_type", "")},
        .label = parse_failure_type(json.at("label").get<std::string>()).value()};
    const auto code = [&](const char* name) {
      return codes.contains(name) ? std::optional(codes[name].get<int>()) : std::nullopt;
    };
    row.failure.http_status = code("http_status");
    row.failure.json_rpc_code = code("json_rpc_code");
    row.failure.grpc_status = code("grpc_status");
    rows.push_back(std::move(row));
  }
  return rows;
}

// EvidenceClassifier's results on the fresh rows, alone or with a second opinion, in percent.
struct Score {
  double recall = 0;     // Of the failures.
  double misrouted = 0;  // Of all rows, with a wrong type.
};

template <class Answer>
Score score(const std::vector<FreshRow>& rows, const Answer& answer) {
  double failures = 0;
  double right = 0;
  double wrong = 0;
  for (const FreshRow& row : rows) {
    const FailureType type = answer(row);
    failures += row.label != FailureType::unknown ? 1 : 0;
    if (type == FailureType::unknown) continue;
    (type == row.label ? right : wrong) += 1;
  }
  return {.recall = 100 * right / failures,
          .misrouted = 100 * wrong / static_cast<double>(rows.size())};
}

}  // namespace

TEST_CASE("the second opinion decides where the base leans and it says the same", "[hybrid]") {
  const auto base = scripted([](const auto&) { return leaning(FailureType::external_fault, 0.8); });
  const auto second =
      scripted([](const auto&) { return opinion(FailureType::external_fault, 0.99); });
  const Classification found = ask(base, second, {.least_leaning = 0.8});
  CHECK(found.type == FailureType::external_fault);
  CHECK(found.reason == "overloaded");
  // 0.8 and a second opinion that counts 0.9: 0.72 / (0.72 + 0.02).
  CHECK(found.confidence == Approx(0.72 / 0.74));
  CHECK(found.critical_step == 3);
  CHECK(found.retry_after == std::chrono::seconds(7));
  CHECK(found.leaning == Leaning{});
  REQUIRE(found.evidence.size() == 2);
  CHECK(found.evidence[0].source == "llm");
}

TEST_CASE("a base that is sure, or has nothing to go by, asks nobody", "[hybrid]") {
  const auto second = scripted([](const auto&) { return opinion(FailureType::timeout, 0.99); });
  const auto sure = scripted([](const auto&) {
    Classification answer = leaning(FailureType::timeout, 0.9);
    answer.type = FailureType::crashed;
    answer.confidence = 0.6;
    return answer;
  });
  CHECK(ask(sure, second).type == FailureType::crashed);
  for (const double confidence : {0.0, 0.3, 0.49}) {
    const auto vague =
        scripted([&](const auto&) { return leaning(FailureType::timeout, confidence); });
    CHECK(ask(vague, second) == leaning(FailureType::timeout, confidence));
  }
  const auto ignorant = scripted([](const auto&) { return Classification{}; });
  CHECK(ask(ignorant, second) == Classification{});
  CHECK(second->calls == 0);
  const auto barely = scripted([](const auto&) { return leaning(FailureType::timeout, 0.62); });
  CHECK(ask(barely, second, {.least_leaning = 0.62}).type == FailureType::timeout);
  CHECK(second->calls == 1);
}

TEST_CASE("an opinion of another type, or a half-hearted one, changes nothing", "[hybrid]") {
  const auto base = scripted([](const auto&) { return leaning(FailureType::timeout, 0.9); });
  for (const FailureType type : all_failure_types) {
    if (type == FailureType::timeout) continue;
    const auto second = scripted([&](const auto&) { return opinion(type, 1.0); });
    const Classification found = ask(base, second);
    CHECK(found.type == FailureType::unknown);
    CHECK(found.confidence == 0);
    CHECK(found.leaning.type == FailureType::timeout);
    CHECK(found.evidence[0].source == "model");
    CHECK(found.evidence.size() == (type == FailureType::unknown ? 2 : 3));
    CHECK(second->calls == 1);
  }
  const auto shy = scripted([](const auto&) { return opinion(FailureType::timeout, 0.4); });
  CHECK(ask(base, shy).type == FailureType::unknown);
  CHECK(ask(base, shy, {.least_agreement = 0.4}).type == FailureType::timeout);
  // A less confident second opinion counts less.
  CHECK(ask(base, shy, {.least_agreement = 0.4}).confidence < 0.9);
}

TEST_CASE("a second opinion that throws is evidence, and the base's answer stands", "[hybrid]") {
  const auto base = scripted([](const auto&) { return leaning(FailureType::timeout, 0.9); });
  const auto broken = scripted(
      [](const auto&) -> Classification { throw std::runtime_error("the cable is unplugged"); });
  const Classification found = ask(base, broken);
  CHECK(found.type == FailureType::unknown);
  CHECK_THAT(found.evidence.back().detail, ContainsSubstring("the cable is unplugged"));
  const auto odd = scripted([](const auto&) -> Classification { throw 42; });
  CHECK(ask(base, odd).evidence.back().source == "hybrid");
}

TEST_CASE("null classifiers and bands out of range are refused", "[hybrid]") {
  const auto some = scripted([](const auto&) { return Classification{}; });
  CHECK_ERRC(Errc::invalid_argument, HybridClassifier::create(nullptr, some));
  CHECK_ERRC(Errc::invalid_argument, HybridClassifier::create(some, nullptr));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double value : {-0.1, 0.49, 1.01, nan}) {
    const auto made = HybridClassifier::create(some, some, {.least_leaning = value});
    CHECK_ERRC(Errc::invalid_argument, made);
    CHECK_THAT(made.error().detail, ContainsSubstring("least_leaning"));
  }
  for (const double value : {-0.1, 1.01, nan}) {
    CHECK_ERRC(Errc::invalid_argument,
               HybridClassifier::create(some, some, {.least_agreement = value}));
  }
}

TEST_CASE("on rows written after the model, an oracle helps and a liar hardly harms", "[hybrid]") {
  const std::vector<FreshRow> rows = fresh_rows();
  REQUIRE(rows.size() >= 300);
  const auto& base = default_classifier();
  const Trajectory none;
  FailureType said = FailureType::unknown;
  const auto second = scripted([&](const auto&) { return opinion(said, 0.99); });
  const auto hybrid = HybridClassifier::create(base, second).value();
  const auto with = [&](const FreshRow& row, FailureType answer) {
    said = answer;
    return hybrid->classify({.failure = row.failure, .trajectory = none}).type;
  };
  int sure = 0;
  const Score alone = score(rows, [&](const FreshRow& row) {
    const Classification found = base->classify({.failure = row.failure, .trajectory = none});
    if (found.type != FailureType::unknown) {
      // If the base is confident, the second is not asked and the base's answer stands.
      const int before = second->calls;
      CHECK(with(row, FailureType::crashed) == found.type);
      CHECK(second->calls == before);
      ++sure;
    }
    return found.type;
  });
  const Score oracle = score(rows, [&](const FreshRow& row) { return with(row, row.label); });
  // The worst wrong answer for every row.
  const Score liar = score(rows, [&](const FreshRow& row) {
    for (const FailureType type : all_failure_types) {
      if (type == row.label || type == FailureType::unknown) continue;
      if (const FailureType found = with(row, type); found == type) return found;
    }
    return with(row, FailureType::unknown);
  });
  INFO("alone: recall " << alone.recall << ", misrouted " << alone.misrouted);
  INFO("oracle: recall " << oracle.recall << ", misrouted " << oracle.misrouted);
  INFO("liar: recall " << liar.recall << ", misrouted " << liar.misrouted);
  CHECK(sure > 50);
  CHECK(oracle.recall >= alone.recall + 1);
  CHECK(oracle.misrouted <= alone.misrouted);
  CHECK(liar.misrouted <= alone.misrouted + 3);
  CHECK(liar.recall == alone.recall);
}
