// SPDX-License-Identifier: MIT
// The model file, and the classifier that uses the model.
#include "classifier/text/text_model.hpp"

#include "classifier/support.hpp"
#include "support/program.hpp"
#include "support/result.hpp"
#include "triage/record.hpp"

#include <cmath>
#include <cstring>
#include <fstream>
#include <numeric>
#include <thread>

using namespace triage;
using namespace triage::detail;

namespace {

const std::string built_in_file = std::string(TRIAGE_SOURCE_DIR) + "/data/model.bin";

Classification ask(const Failure& failure, std::vector<Step> steps = {},
                   const AgentContract* contract = nullptr) {
  const Trajectory trajectory = test::trajectory_of(std::move(steps));
  return default_classifier()->classify(
      {.failure = failure, .trajectory = trajectory, .contract = contract});
}

bool mentions(const Classification& found, std::string_view source) {
  for (const Evidence& evidence : found.evidence) {
    if (evidence.source == source) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("the built-in model fits the built-in lexicon, and is small", "[classifier][model]") {
  const std::string bytes = test::read_text(built_in_file);
  CHECK(bytes.size() <= TextModel::most_bytes);
  REQUIRE_OK(TextModel::parse(bytes));
}

TEST_CASE("a posterior is a distribution, whatever is asked", "[classifier][model]") {
  ModelInput input;
  const Trajectory none;
  for (const std::string text : {"", "x", "tool not found", "\xff\xff\xff"}) {
    const Failure failure{.text = text, .http_status = 404};
    collect_model_input({.failure = failure, .trajectory = none}, {}, {}, {}, input);
    const Posterior posterior = built_in_model().posterior(input);
    CHECK(std::accumulate(posterior.begin(), posterior.end(), 0.0) == Approx(1));
    for (const double share : posterior) CHECK(share >= 0);
  }
}

TEST_CASE("a model file is read back as it was written", "[classifier][model]") {
  ModelParameters parameters;
  parameters.table.assign(ModelParameters::table_rows * ModelParameters::row_size, '\0');
  parameters.bias[static_cast<std::size_t>(FailureType::refused)] = 3;
  for (auto& thresholds : parameters.thresholds) {
    thresholds[static_cast<std::size_t>(FailureType::refused)] = 0.5F;
  }
  const auto model = TextModel::parse(TextModel::serialize(parameters));
  REQUIRE_OK(model);
  const Posterior posterior = model.value().posterior({});
  CHECK(posterior[static_cast<std::size_t>(FailureType::refused)] ==
        Approx(std::exp(3) / (std::exp(3) + 12)));
  CHECK(model.value().opinion(posterior, TextKind::message, FailureType::unknown).type ==
        FailureType::refused);
}

TEST_CASE("a model file has the names that its model knows", "[classifier][model]") {
  const auto known = [](const ModelParameters& parameters, std::string_view name) {
    const auto model = TextModel::parse(TextModel::serialize(parameters));
    REQUIRE_OK(model);
    return model.value().known_names().knows(word_pairs_of(name).at(0));
  };
  ModelParameters parameters;
  parameters.table.assign(ModelParameters::table_rows * ModelParameters::row_size, '\0');
  CHECK(known(parameters, "a_b"));  // Nothing was learnt: all are read.
  parameters.known_names.assign(KnownNames::bytes, '\0');
  KnownNames::add(word_pairs_of("a_b").at(0), parameters.known_names);
  CHECK(known(parameters, "a_b"));
  CHECK_FALSE(known(parameters, "b_a"));
  CHECK(built_in_model().known_names().knows(word_pairs_of("rate_limit").at(0)));
  CHECK_FALSE(built_in_model().known_names().knows(word_pairs_of("flurb_grommet").at(0)));
}

TEST_CASE("the model abstains below a type's threshold, which each kind of text has of its own",
          "[classifier][model]") {
  ModelParameters parameters;
  parameters.table.assign(ModelParameters::table_rows * ModelParameters::row_size, '\0');
  parameters.bias[0] = 3;
  parameters.thresholds[0].fill(0.9F);
  parameters.thresholds[1].fill(0.1F);
  parameters.temperatures = {1, 2};
  const auto model = TextModel::parse(TextModel::serialize(parameters));
  REQUIRE_OK(model);
  ModelInput input;
  const Posterior message = model.value().posterior(input);
  CHECK(message[0] == Approx(std::exp(3) / (std::exp(3) + 12)));
  CHECK(model.value().opinion(message, TextKind::message, FailureType::unknown).type ==
        FailureType::unknown);
  input.features.kind = TextKind::program;
  const Posterior program = model.value().posterior(input);
  CHECK(program[0] == Approx(std::exp(1.5) / (std::exp(1.5) + 12)));
  CHECK(model.value().opinion(program, TextKind::program, FailureType::unknown).type ==
        all_failure_types[0]);
}

TEST_CASE("in texts about programs concepts count once more", "[classifier][model]") {
  const auto added_to = [](const std::string& text) {
    FeatureBuffer features;
    extract_features(text, built_in_lexicon(), {}, features);
    const auto concepts =
        std::count_if(features.features.begin(), features.features.end(), [](const Feature& one) {
          return one.group == FeatureGroup::meaning || one.group == FeatureGroup::meaning_pair;
        });
    CHECK(concepts > 0);
    const auto before = std::ssize(features.features);
    add_program_features(features);
    return std::pair(std::ssize(features.features) - before, concepts);
  };
  const auto [program, concepts] = added_to("boot.asm:1: error: invalid operand");
  CHECK(program == concepts);
  CHECK(added_to("error: invalid operand").first == 0);
}

TEST_CASE("a text that names source files or lines of a trace speaks of a program",
          "[classifier][model]") {
  const auto kind_of = [](const std::string& text) {
    FeatureBuffer features;
    extract_features(text, built_in_lexicon(), {}, features);
    return features.kind;
  };
  for (const std::string text :
       {"x.pas(29,14) Fatal: Syntax error", "boot.asm:1: error: comma expected",
        "Error\n    at run (app)", "in /srv/app/import.php on line 2", "t/limits.t line 1."}) {
    INFO(text);
    CHECK(kind_of(text) == TextKind::program);
  }
  for (const std::string text : {"config.yaml:3: bad indentation", "the answer is no JSON object",
                                 "see example.com (v20)", "No such tool: x.h("}) {
    INFO(text);
    CHECK(kind_of(text) == TextKind::message);
  }
}

TEST_CASE("a feature counts by its own row, and one that the model does not know by none",
          "[classifier][model]") {
  const std::uint32_t known = 12345;
  std::uint32_t neighbour = known + 1;  // In the same bucket.
  while (bucket_begin(neighbour) != bucket_begin(known)) ++neighbour;
  REQUIRE(feature_tag(neighbour) != feature_tag(known));
  ModelParameters parameters;
  parameters.table.assign(ModelParameters::table_rows * ModelParameters::row_size, '\0');
  parameters.group_scales.fill(1);
  parameters.weight_scales.fill(1);
  const std::size_t row = (bucket_begin(known) + 2) * ModelParameters::row_size;
  parameters.table[row + static_cast<std::size_t>(FailureType::timeout)] = 5;
  const std::uint16_t tag = feature_tag(known);
  std::memcpy(&parameters.table[row + ModelParameters::tag_place], &tag, sizeof tag);
  const auto model = TextModel::parse(TextModel::serialize(parameters));
  REQUIRE_OK(model);
  const auto likely = [&](std::uint32_t hash) {
    ModelInput input;
    input.features.add(FeatureGroup::word, hash);
    return model.value().posterior(input)[static_cast<std::size_t>(FailureType::timeout)];
  };
  CHECK(likely(known) > 0.9);
  CHECK(likely(neighbour) == Approx(1.0 / 13));
}

TEST_CASE("a damaged or foreign model file is refused", "[classifier][model]") {
  const std::string bytes = test::read_text(built_in_file);
  for (const std::size_t at :
       {std::size_t{0}, std::size_t{9}, std::size_t{30}, bytes.size() / 2, bytes.size() - 1}) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    INFO("byte " << at);
    CHECK_ERRC(Errc::corrupt, TextModel::parse(damaged));
  }
  CHECK_ERRC(Errc::corrupt, TextModel::parse(""));
  CHECK_ERRC(Errc::corrupt, TextModel::parse("no model at all"));
  CHECK_ERRC(Errc::corrupt, TextModel::parse(bytes.substr(0, 100)));
  std::string newer = bytes.substr(0, bytes.size() - 4);
  newer[8] = 9;  // The format version.
  const std::uint32_t checksum = crc32c(newer);
  newer.append(reinterpret_cast<const char*>(&checksum), sizeof checksum);
  CHECK_ERRC(Errc::unsupported, TextModel::parse(newer));
}

TEST_CASE("a refused model file is not used, and every answer says so", "[classifier][model]") {
  const test::TempFolder folder;
  std::ofstream(folder.file("bad.bin")) << "garbage";
  for (const std::string& path :
       {folder.file("bad.bin"), folder.file("none.bin"), std::string("/")}) {
    const auto classifier = EvidenceClassifier::load(path);
    REQUIRE_OK(classifier);
    CHECK_THAT(classifier.value()->refused_model(), ContainsSubstring("model file"));
    const Failure failure{.text = "Connection reset by peer"};
    const Classification found =
        classifier.value()->classify({.failure = failure, .trajectory = {}});
    CHECK(found.type == FailureType::external_fault);
    CHECK(mentions(found, "model_file"));
  }
  const auto classifier = EvidenceClassifier::load(built_in_file);
  REQUIRE_OK(classifier);
  CHECK(classifier.value()->refused_model().empty());
  CHECK_ERRC(Errc::invalid_argument, EvidenceClassifier::load(built_in_file, {.loop_window = 1}));
}

TEST_CASE("facts and the contract decide, whatever the words say", "[classifier][model]") {
  const AgentContract contract{.tools = {{.name = "search"}}};
  const Classification found = ask({.text = "HTTP 503 Service Unavailable"},
                                   {{.tool_called = "serch", .error = "503"}}, &contract);
  CHECK(found.type == FailureType::wrong_tool_called);
  CHECK(found.reason == "tool_not_in_manifest");
}

TEST_CASE("the failure's own name is kept", "[classifier][model]") {
  const Classification found = ask({.text = "timed out", .type = FailureType::crashed});
  CHECK(found.type == FailureType::crashed);
}

TEST_CASE("codes that mean one thing decide without words", "[classifier][model]") {
  CHECK(ask({.http_status = 503}).type == FailureType::external_fault);
  CHECK(ask({.http_status = 401}).type == FailureType::access_denied);
  CHECK(ask({.grpc_status = 4}).type == FailureType::timeout);
  CHECK(ask({.json_rpc_code = -32601}).type == FailureType::wrong_tool_called);
  CHECK(ask({}).type == FailureType::unknown);
  CHECK(ask({}).evidence.empty());
}

TEST_CASE("a coarse code narrows, and the words decide", "[classifier][model]") {
  CHECK(
      ask({.text = "This model's maximum context length is 8192 tokens, however you requested 9001 "
                   "tokens. Please reduce the length of the messages.",
           .http_status = 400})
          .type == FailureType::context_overflow);
  CHECK(ask({.text = "You exceeded your current quota, please check your plan and billing details.",
             .http_status = 429})
            .type == FailureType::quota_exhausted);
  CHECK(ask({.text = "Rate limit reached, please try again in 20s.", .http_status = 429}).type ==
        FailureType::external_fault);
}

TEST_CASE("one failure in the words of many is one type", "[classifier][model]") {
  for (const std::string text :
       {"Unknown tool: fetch_weather", "fetch_weather is not a valid tool, try one of [search].",
        "Tool 'fetch_weather' not found in the list of available tools"}) {
    INFO(text);
    CHECK(ask({.text = text}).type == FailureType::wrong_tool_called);
  }
}

TEST_CASE("what says nothing of a cause stays unknown", "[classifier][model]") {
  for (const std::string text :
       {"TypeError: unsupported operand type(s) for +: 'int' and 'str'",
        "Order 4411 was already shipped and cannot be changed", "something went wrong",
        "All 500 items were processed; the timeout setting is now 30 s",
        "Welcome back! Your tokens are in the drawer."}) {
    INFO(text);
    const Classification found = ask({.text = text});
    CHECK(found.type == FailureType::unknown);
    CHECK(found.confidence == 0.0);
  }
}

TEST_CASE("the error of the last step is read where the failure says little",
          "[classifier][model]") {
  const Classification found = ask({}, {{.error = "read tcp 10.0.0.1: connection reset by peer"}});
  CHECK(found.type == FailureType::external_fault);
}

TEST_CASE("the name of an exception that any failure may have changes no answer",
          "[classifier][model]") {
  for (const std::string text :
       {"host unreachable", "the upstream hung up", "read from 10.4.0.2:5432: connection reset",
        "no answer within 20 seconds", "wrong password for user ledger", "disk quota used up",
        "unknown tool: book_room", "field 'price' must be a number", "prompt has too many tokens",
        "worker died with signal 11", "the order was already shipped"}) {
    const FailureType bare = ask({.text = text}).type;
    for (const std::string name :
         {"std::runtime_error", "std::exception", "RuntimeError", "Exception", "Error",
          "java.lang.RuntimeException", "System.Exception", "*errors.errorString", "StandardError",
          "shop.errors.AgentError"}) {
      INFO(text << ", a " << name);
      CHECK(ask({.text = text, .exception_type = name}).type == bare);
    }
  }
}

TEST_CASE("one classifier serves many threads", "[classifier][model]") {
  std::vector<std::thread> threads;
  std::array<bool, 4> right{};
  for (bool& result : right) {
    threads.emplace_back([&result] {
      result = true;
      for (int i = 0; i < 200; ++i) {
        result =
            result && ask({.text = "Connection reset by peer"}).type == FailureType::external_fault;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const bool result : right) CHECK(result);
}
