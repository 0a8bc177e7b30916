// SPDX-License-Identifier: MIT
// Reading a corpus, fitting a model to it, and finding its thresholds.
#include "calibration.hpp"
#include "corpus.hpp"
#include "grammar.hpp"
#include "name_learner.hpp"
#include "near_duplicates.hpp"
#include "other_names.hpp"
#include "trainer.hpp"

#include "support/program.hpp"
#include "support/result.hpp"

#include <fstream>
#include <numeric>
#include <set>

using namespace triage;
using namespace triage::training;

namespace {

std::string row(const std::string& text, const std::string& origin, const std::string& label) {
  return "{\"text\": \"" + text + "\", \"origin\": \"" + origin + "\", \"label\": \"" + label +
         "\", \"reason\": \"r\", \"codes\": {}, \"kind\": \"written\"}\n";
}

// Six origins that report the same two failures in nearly the same words.
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
  CHECK_ERRC(Errc::invalid_argument, read_corpus(folder.path().string()));
  CHECK_THAT(read_corpus(folder.path().string()).error().detail, ContainsSubstring("rows.jsonl:2"));
  for (const std::string bad : {"", "[]", "{", "{\"label\": 3}", "{\"text\": []}"}) {
    INFO(bad);
    std::ofstream(path) << bad << "\n";
    CHECK_ERRC(Errc::invalid_argument, read_corpus(folder.path().string()));
  }
  CHECK_ERRC(Errc::not_found, read_corpus("/nowhere"));
}

TEST_CASE("the model learns what caused a failure, too", "[classifier][training]") {
  const test::TempFolder folder;
  std::ofstream(folder.file("rows.jsonl"))
      << R"({"text": "it broke", "origin": "a", "label": "timeout", "kind": "correction",)"
      << R"( "causes": [{"exception_type": "E", "text": "took too long"}, 3]})"
      << "\n"
      << R"({"text": "it broke", "origin": "a", "label": "timeout", "kind": "correction"})"
      << "\n";
  const auto corpus = read_corpus(folder.path().string());
  REQUIRE_OK(corpus);
  REQUIRE(corpus.value().rows.size() == 2);
  REQUIRE(corpus.value().rows[0].failure.causes.size() == 1);
  CHECK(corpus.value().rows[0].failure.causes[0].text == "took too long");
  CHECK(make_example(corpus.value().rows[0], {}, {}).features.size() >
        make_example(corpus.value().rows[1], {}, {}).features.size());
}

TEST_CASE("thresholds of one kind of text may make up for the other", "[classifier][training]") {
  std::vector<Judged> judged;
  const auto add = [&](detail::TextKind kind, double confidence, bool right) {
    detail::Posterior posterior{};
    posterior.fill((1 - confidence) / 12);
    posterior[static_cast<std::size_t>(FailureType::schema_mismatch)] = confidence;
    judged.push_back(
        {posterior, right ? FailureType::schema_mismatch : FailureType::external_fault, kind});
  };
  using enum detail::TextKind;
  for (int i = 0; i < 400; ++i) {
    add(message, 0.9, true);
    add(program, 0.9, i % 25 != 0);  // 96 %: not good enough by itself.
    add(program, 0.6, i % 2 == 0);
    add(message, 0.6, i % 10 != 0);  // 90 %: a part of it would be, all of it is not.
  }
  const Calibration calibration = calibrate(judged, {.routing_precision = 0.955});
  std::array<double, 2> said{};
  double right = 0;
  for (const Judged& row : judged) {
    const FailureType type = opinion(row.posterior, row.kind, row.rules, calibration).type;
    if (type == FailureType::unknown) continue;
    ++said[static_cast<std::size_t>(row.kind)];
    right += type == row.label ? 1 : 0;
  }
  CHECK(said == std::array<double, 2>{400, 400});
  CHECK(right == 784);
}

TEST_CASE("a pattern stands for its wordings", "[classifier][training]") {
  const std::string grammar =
      "# tools\n"
      "tool = tool|func[tion|]\n"
      "timeout\ttimed_out\tthe <tool> \\[x\\] took [too|very] long\\n[|again]\n";
  const auto wordings = expand_grammar(grammar, "a.grammar", 100);
  REQUIRE_OK(wordings);
  std::set<std::string> texts;
  for (const Wording& wording : wordings.value()) {
    CHECK(wording.label == FailureType::timeout);
    CHECK(wording.reason == "timed_out");
    CHECK(wording.line == 3);
    texts.insert(wording.text);
  }
  CHECK(texts.size() == wordings.value().size());
  CHECK(texts.count("the tool [x] took too long\n") == 1);
  CHECK(texts.count("the function [x] took very long\nagain") == 1);
  CHECK(texts.size() <= 12);
  CHECK(expand_grammar(grammar, "a.grammar", 3).value().size() == 3);
}

TEST_CASE("a grammar that is no grammar is refused with its line", "[classifier][training]") {
  const auto [grammar, problem] = GENERATE(table<std::string, std::string>({
      {"\n\nno idea\n", "a:3: is neither"},
      {"none\tr\tx\n", "a:1: has the unknown label \"none\""},
      {"timeout\tr\t[a|b\n", "a:1: has a [ without its ]"},
      {"timeout\tr\ta]\n", "a:1: has a ] without its ["},
      {"timeout\tr\t<who>\n", "a:1: uses <who>, which is no macro"},
      {"w = x <w>\ntimeout\tr\t<w>\n", "a:2: uses <w>, which uses itself"},
  }));
  INFO(grammar);
  const auto wordings = expand_grammar(grammar, "a", 2);
  CHECK_ERRC(Errc::invalid_argument, wordings);
  CHECK_THAT(wordings.error().detail, ContainsSubstring(problem));
}

TEST_CASE("wordings of a grammar teach, and are never asked about", "[classifier][training]") {
  const test::TempFolder folder;
  const std::string path = folder.file("rows.jsonl");
  std::ofstream(path) << small_corpus();
  std::ofstream(folder.file("more.grammar"))
      << "timeout\ttimed_out\t[one|two|three|four] [minutes|hours|days|weeks] [and more|] "
         "[went|passed] by\n";
  const auto corpus = read_corpus(folder.path().string());
  REQUIRE_OK(corpus);
  CHECK(corpus.value().written_origins == 6);
  CHECK(corpus.value().origins.size() == 7);
  REQUIRE(corpus.value().rows.size() == 18 + wordings_a_pattern);
  CHECK(corpus.value().rows.back().kind == RowKind::paraphrase);
  CHECK(corpus.value().rows.back().place == "more.grammar:1");
  const std::vector<Example> examples = make_examples(corpus.value(), {});
  const auto posteriors = leave_origins_out(examples, examples.size(), 6, 2, 1);
  for (std::size_t i = 0; i < examples.size(); ++i) {
    const double sum = std::accumulate(posteriors[i].begin(), posteriors[i].end(), 0.0);
    CHECK((sum > 0.5) == !examples[i].only_teaches);
  }
  std::ofstream(folder.file("more.grammar")) << "what\n";
  CHECK_ERRC(Errc::invalid_argument, read_corpus(folder.path().string()));
}

TEST_CASE("names get other names, the same wherever they occur", "[classifier][training]") {
  OtherNames names;
  const std::string text = names.give("tool fetch_orders (no fetch_orders among a_b, \"a_b\")");
  INFO(text);
  const std::size_t end = text.find(" (no ");
  REQUIRE(text.starts_with("tool "));
  REQUIRE(end != std::string::npos);
  const std::string name = text.substr(5, end - 5);
  CHECK(name != "fetch_orders");
  CHECK_FALSE(name.empty());
  CHECK(text.find(" (no " + name + " among ") == end);
  CHECK(text.find("a_b") == std::string::npos);
  CHECK(OtherNames().give("the tool fetch_orders") == OtherNames().give("the tool fetch_orders"));
}

TEST_CASE("what is no name stays", "[classifier][training]") {
  const auto text = GENERATE(as<std::string>(), "", "no such tool: refund (code 3)", "max_turns=3",
                             "{\"stop_reason\":1}", "MAX_TURNS", "_x", "x_", "3_d", "__init__");
  CHECK(OtherNames().give(text) == text);
}

TEST_CASE("a grammar's patterns are read without macros and comments", "[classifier][training]") {
  const auto texts = texts_between_macros(
      "# x_y\n# timeout\tr\tx_y\ntool = get_sum\n"
      "timeout\tr\ta [get_a|no_b] <tool> sum_of\nrefused\tr\t\\[x\\|y\\]\\nz 1<2\n",
      "a.grammar");
  REQUIRE_OK(texts);
  CHECK(texts.value() == std::vector<std::string>{"a  get_a", "no_b  ", " sum_of", "[x|y]\nz 1<2"});
  const auto bad = texts_between_macros("timeout\tr\tx\nodd\tr\tx\n", "a.grammar");
  REQUIRE_FALSE(bad);
  CHECK_THAT(bad.error().detail, ContainsSubstring("a.grammar:2: has the unknown label"));
}

TEST_CASE("words that stand together in names of two programs are known",
          "[classifier][training]") {
  NameLearner learner;
  learner.read("hit rate_limit here", 0);
  learner.read("a rate limit again", 1);  // Anywhere.
  learner.read("own_code and own_code and plain words", 0);
  learner.read("plain words", 1);
  learner.read("ownCode", 0);
  learner.read(Failure{.text = "x", .causes = {{.text = "hit pool_drain"}}}, 0);
  learner.read(Failure{.text = "pool drain"}, 1);
  learner.read("no_sum sum_of", 2);
  learner.read("no sum, sum of", 3);
  std::string filter(detail::KnownNames::bytes, '\0');
  learner.teach(filter);
  const detail::KnownNames known(filter);
  const auto knows = [&](std::string_view name) {
    return known.knows(detail::word_pairs_of(name).at(0));
  };
  CHECK(knows("rate_limit"));
  CHECK(knows("no_sum"));
  CHECK(knows("sum_of"));
  CHECK(knows("pool_drain"));
  CHECK_FALSE(knows("own_code"));
  CHECK_FALSE(knows("plain_words"));  // In no name.
}

TEST_CASE("every second wording of a grammar has other names", "[classifier][training]") {
  const test::TempFolder folder;
  std::ofstream(folder.file("rows.jsonl")) << small_corpus();
  std::ofstream(folder.file("more.grammar"))
      << "timeout\ttimed_out\tset_lamp waited [1|2|3|4|5|6|7|8] [seconds|hours|days|weeks] for "
         "it\n";
  const auto corpus = read_corpus(folder.path().string());
  REQUIRE_OK(corpus);
  std::size_t kept = 0;
  for (const Row& row : corpus.value().rows)
    kept += row.failure.text.starts_with("set_lamp waited") ? 1U : 0U;
  CHECK(kept == wordings_a_pattern / 2);
}

namespace {

double share_of_timeout(const std::vector<Example>& examples,
                        const std::vector<detail::Feature>& features) {
  const auto model =
      detail::TextModel::parse(detail::TextModel::serialize(fit(pointers(examples))));
  REQUIRE_OK(model);
  detail::ModelInput input;
  input.features.features = features;
  return model.value().posterior(input)[static_cast<std::size_t>(FailureType::timeout)];
}

}  // namespace

TEST_CASE("where the table has no room, the features that say most stay",
          "[classifier][training]") {
  constexpr std::uint32_t telling = 1'000'000;
  std::vector<std::uint32_t> crowd;  // In its bucket, with smaller hashes.
  for (std::uint32_t hash = 1; crowd.size() < 12; ++hash) {
    if (detail::bucket_begin(hash) == detail::bucket_begin(telling)) crowd.push_back(hash);
  }
  REQUIRE(crowd.back() < telling);
  std::vector<Example> examples;
  for (std::size_t origin = 0; origin < 40; ++origin) {
    Example example{.origin = origin};
    for (const std::uint32_t hash : crowd) example.features.push_back({.hash = hash});
    if (origin % 4 == 0) {  // In fewer origins than the others.
      example.features.push_back({.hash = telling});
      example.label = FailureType::timeout;
    }
    examples.push_back(example);
  }
  CHECK(share_of_timeout(examples, examples[0].features) > 0.5);
  CHECK(share_of_timeout(examples, examples[1].features) < 0.2);
}

TEST_CASE("what a single origin says is a name and teaches nothing", "[classifier][training]") {
  constexpr std::uint32_t name = 5;
  constexpr std::uint32_t word = 6;
  std::vector<Example> examples;
  for (std::size_t i = 0; i < 20; ++i) {
    examples.push_back({.features = {{.hash = name}}, .label = FailureType::timeout, .origin = 0});
    examples.push_back({.features = {{.hash = word}}, .label = FailureType::crashed, .origin = i});
  }
  CHECK(share_of_timeout(examples, {{.hash = name}}) == share_of_timeout(examples, {}));
  CHECK(share_of_timeout(examples, {{.hash = word}}) < share_of_timeout(examples, {}));
}

TEST_CASE("a wording that a row says already is not used", "[classifier][training]") {
  NearDuplicates known;
  known.add("tool 'web_search' is not in the list of 12 tools");
  CHECK(known.largest_share("tool \"fetch\" is not in the list of 7 tools") == Approx(1));
  CHECK(known.largest_share("tool 'fetch' is not in the list of tools, try again") > 0.5);
  CHECK(known.largest_share("no one here ever heard of a tool called fetch") == 0.0);
  CHECK(known.largest_share("") == 0.0);
  CHECK(NearDuplicates().largest_share("tool") == 0.0);

  const test::TempFolder folder;
  const std::string path = folder.file("rows.jsonl");
  std::ofstream(path) << small_corpus();
  std::ofstream(folder.file("more.grammar"))
      << "wrong_tool_called\tr\t[why|how]: the tool a does not exist\n"
         "timeout\tr\twaited too long for it\n";
  const auto corpus = read_corpus(folder.path().string());
  REQUIRE_OK(corpus);
  CHECK(corpus.value().rows.size() == 19);
  CHECK(corpus.value().rows.back().label == FailureType::timeout);
}

TEST_CASE("the same corpus gives the same bytes, and a model that knows it",
          "[classifier][training]") {
  const test::TempFolder folder;
  const std::string path = folder.file("rows.jsonl");
  std::ofstream(path) << small_corpus();
  const auto corpus = read_corpus(folder.path().string());
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

TEST_CASE("the corpus that is shipped is read, grammars and all", "[classifier][training]") {
  const auto corpus = read_corpus(std::string(TRIAGE_SOURCE_DIR) + "/data/failures");
  REQUIRE_OK(corpus);
  std::size_t rows = 0;
  std::size_t unknown = 0;
  std::size_t wordings = 0;
  for (const Row& row : corpus.value().rows) {
    if (row.kind == RowKind::paraphrase) {
      ++wordings;
      continue;
    }
    ++rows;
    unknown += row.label == FailureType::unknown ? 1U : 0U;
  }
  CHECK(rows >= 4000);
  CHECK(4 * unknown >= rows);
  CHECK(corpus.value().written_origins >= 120);
  CHECK(wordings > rows);
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
    const FailureType said = opinion(row.posterior, row.kind, row.rules, calibration).type;
    CHECK((said == FailureType::unknown || said == row.label));
    if (said == row.label && said != FailureType::unknown) ++right;
  }
  CHECK(right == 200);
}

TEST_CASE("where the rules back a type, less likelihood is enough, as far as they were right",
          "[classifier][training]") {
  using enum FailureType;
  std::vector<Judged> judged;
  const auto add = [&](FailureType likeliest, FailureType rules, double confidence,
                       FailureType label) {
    detail::Posterior posterior{};
    posterior.fill((1 - confidence) / 12);
    posterior[static_cast<std::size_t>(likeliest)] = confidence;
    judged.push_back({posterior, label, detail::TextKind::message, rules});
  };
  for (int i = 0; i < 200; ++i) {
    const bool half = i % 2 == 0;
    add(timeout, unknown, 0.6, half ? timeout : unknown);  // Alone the model is half wrong,
    add(timeout, timeout, 0.6, timeout);                   // with the rules it is right.
    add(crashed, unknown, 0.6, half ? crashed : unknown);
    add(crashed, crashed, 0.6, half ? crashed : unknown);  // Here they do not help.
  }
  const Calibration calibration = calibrate(judged);
  const auto said = [&](std::size_t row) {
    return opinion(judged[row].posterior, judged[row].kind, judged[row].rules, calibration);
  };
  CHECK(said(0).type == unknown);
  CHECK(said(1).type == timeout);
  CHECK(said(1).confidence > 0.9);
  CHECK(said(2).type == unknown);
  CHECK(said(3).type == unknown);
}
