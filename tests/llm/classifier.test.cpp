// SPDX-License-Identifier: MIT
// Asking a language model: what counts as an answer, and what happens otherwise.
#include "triage/llm/classifier.hpp"

#include "asking.hpp"

#include <atomic>
#include <thread>
#include <vector>

using namespace triage;
using namespace triage::test;

TEST_CASE("a model's answer over the OpenAI protocol becomes a classification", "[llm]") {
  const ScriptedServer server({openai_says(good)});
  const Classification found = ask(options(server), overloaded);
  INFO(said(found));
  CHECK(found.type == FailureType::external_fault);
  CHECK(found.reason == "by_llm");
  CHECK(found.confidence == Approx(0.9));
  REQUIRE(found.evidence.size() == 1);
  CHECK(found.evidence[0].source == "llm");
  CHECK(found.evidence[0].suggests == FailureType::external_fault);
  REQUIRE(server.requests().size() == 1);
  const ServerRequest request = server.requests()[0];
  CHECK(request.method == "POST");
  CHECK(request.path == "/v1/chat/completions");
  CHECK(request.headers.at("authorization") == std::string("Bearer ") + key);
  const Json body = Json::parse(request.body);
  CHECK(body["model"] == "test-model");
  CHECK(body["max_tokens"] == 300);
  const Json types = body["response_format"]["json_schema"]["schema"]["properties"]["type"]["enum"];
  CHECK(types.size() == failure_type_count);
  CHECK(quoted_failure(request)["text"] == overloaded.text);
}

TEST_CASE("the same over the Anthropic protocol", "[llm]") {
  const ScriptedServer server({anthropic_says(Json::parse(good))});
  const Classification found = ask(options(server, LlmProtocol::anthropic), overloaded);
  INFO(said(found));
  CHECK(found.type == FailureType::external_fault);
  REQUIRE(server.requests().size() == 1);
  const ServerRequest request = server.requests()[0];
  CHECK(request.path == "/v1/messages");
  CHECK(request.headers.at("x-api-key") == key);
  CHECK(request.headers.contains("anthropic-version"));
  CHECK_FALSE(request.headers.contains("authorization"));
  const Json body = Json::parse(request.body);
  CHECK(body["tool_choice"]["name"] == body["tools"][0]["name"]);
  CHECK(quoted_failure(request)["text"] == overloaded.text);
}

TEST_CASE("what is no answer in the form asked for is unknown, with the reason", "[llm]") {
  const std::pair<std::string, std::string> contents[] = {
      {"", "not a JSON object"},
      {"It is a timeout.", "not a JSON object"},
      {"```json\n" + good + "\n```", "not a JSON object"},
      {good + good, "not a JSON object"},
      {R"(["external_fault", 1])", "not a JSON object"},
      {R"({"confidence": 1})", "names no type"},
      {R"({"type": 3, "confidence": 1})", "names no type"},
      {R"({"type": "gremlins", "confidence": 1})", "type that does not exist"},
      {R"({"type": "External_Fault", "confidence": 1})", "type that does not exist"},
      {R"({"type": "timeout"})", "no confidence"},
      {R"({"type": "timeout", "confidence": "1"})", "no confidence"},
      {R"({"type": "timeout", "confidence": 1.01})", "not from 0 to 1"},
      {R"({"type": "timeout", "confidence": -0.1})", "not from 0 to 1"},
      {R"({"type": "timeout", "confidence": 1e999})", "not a JSON object"}};
  for (const auto& [content, why] : contents) {
    INFO(content);
    const ScriptedServer server({openai_says(content)});
    check_abstained(ask(options(server), overloaded), why);
  }
}

TEST_CASE("a model that answers unknown is believed", "[llm]") {
  const ScriptedServer server({openai_says(R"({"type": "unknown", "confidence": 0.9})")});
  const Classification found = ask(options(server), overloaded);
  CHECK(found.type == FailureType::unknown);
  CHECK(found.confidence == 0);
  CHECK_THAT(said(found), ContainsSubstring("test-model says unknown"));
}

TEST_CASE("responses of another shape are no answer", "[llm]") {
  const std::string deep(100'000, '[');
  for (const std::string& body :
       {std::string(), std::string("<html>"), std::string("[]"), std::string("{}"),
        std::string(R"({"choices": []})"), std::string(R"({"choices": [{"message": 3}]})"),
        std::string(R"({"choices": [{"message": {"content": null, "refusal": "no"}}]})"),
        std::string(R"({"content": [{"type": "text", "text": "{}"}]})"), deep}) {
    INFO(body.substr(0, 80));
    const ScriptedServer server({ServerAnswer{.body = body}});
    for (const LlmProtocol protocol : {LlmProtocol::openai, LlmProtocol::anthropic}) {
      check_abstained(ask(options(server, protocol), overloaded), "gave no answer");
    }
  }
}

TEST_CASE("HTTP errors, broken and endless responses are no answer", "[llm]") {
  for (const int status : {301, 401, 429, 500}) {
    const ScriptedServer server({ServerAnswer{.status = status, .body = openai_says(good).body}});
    check_abstained(ask(options(server), overloaded), "HTTP status " + std::to_string(status));
  }
  ServerAnswer broken = openai_says(good);
  broken.how = ServerAnswer::How::half;
  const ScriptedServer half({broken});
  check_abstained(ask(options(half), overloaded), "gave no answer");
  const ScriptedServer endless({ServerAnswer{.body = std::string(200'000, ' ') + "{}"}});
  LlmOptions narrow = options(endless);
  narrow.max_response_bytes = 100'000;
  check_abstained(ask(narrow, overloaded), "longer than 100000 bytes");
  std::string closed;
  {
    const ScriptedServer gone({openai_says(good)});
    closed = gone.url();
  }
  check_abstained(ask({.base_url = closed, .model = "m"}, overloaded), "gave no answer");
}

TEST_CASE("a model that never answers costs no more than the time it was given", "[llm]") {
  const ScriptedServer server({ServerAnswer{.how = ServerAnswer::How::never}});
  LlmOptions patient = options(server);
  patient.timeout = std::chrono::milliseconds(30);
  check_abstained(ask(patient, overloaded), "no answer within 30 ms");
  patient.timeout = std::chrono::seconds(30);
  check_abstained(ask(patient, overloaded, std::chrono::milliseconds(20)),
                  "no answer within 20 ms");
  CHECK(server.requests().size() == 2);
  check_abstained(ask(patient, overloaded, Duration(0)), "no time is left");
  CHECK(server.requests().size() == 2);
}

TEST_CASE("a cancelled run does not wait for the model", "[llm]") {
  std::stop_source stop;
  // The stop arrives during the call.
  const ScriptedServer server([&](const ServerRequest&) {
    stop.request_stop();
    return ServerAnswer{.how = ServerAnswer::How::never};
  });
  LlmOptions patient = options(server);
  patient.timeout = std::chrono::seconds(30);
  SECTION("by the run's token") {
    check_abstained(ask(patient, overloaded, {}, stop.get_token()), "cancelled");
  }
  SECTION("by the classifier's own") {
    patient.stop_token = stop.get_token();
    check_abstained(ask(patient, overloaded), "cancelled");
  }
  CHECK(server.requests().size() == 1);
  // From now on nothing is sent.
  patient.stop_token = stop.get_token();
  check_abstained(ask(patient, overloaded), "cancelled");
  CHECK(server.requests().size() == 1);
}

TEST_CASE("calls, tokens and money are reserved before a call and booked after it", "[llm]") {
  const ScriptedServer server({openai_says(good)});
  LlmOptions paid = options(server);
  REQUIRE_OK(paid.prices.set("test-model", {.input = 10, .output = 100}));
  SECTION("calls") {
    paid.budget = Budget::create({.max_calls = 2}).value();
    const auto classifier = LlmClassifier::create(paid).value();
    const Trajectory none;
    const ClassifierInput input{.failure = overloaded, .trajectory = none};
    CHECK(classifier->classify(input).type == FailureType::external_fault);
    CHECK(classifier->classify(input).type == FailureType::external_fault);
    check_abstained(classifier->classify(input), "was not asked");
    CHECK(server.requests().size() == 2);
    const Usage spent = paid.budget->spent();
    CHECK(spent.calls == 2);
    CHECK(spent.input_tokens == 1400);
    CHECK(spent.output_tokens == 40);
    CHECK(spent.cost_usd == Approx(2 * (700 * 10 + 20 * 100) / 1e6));
  }
  SECTION("tokens") {
    paid.budget = Budget::create({.max_tokens = 500}).value();
    check_abstained(ask(paid, overloaded), "was not asked");
    CHECK(server.requests().empty());
    CHECK(paid.budget->spent().calls == 0);
  }
  SECTION("the tokens that the request really asks for") {
    paid.budget = Budget::create({.max_tokens = 20'000}).value();
    paid.extra = {{"max_tokens", nullptr}, {"max_completion_tokens", 20'000}};
    check_abstained(ask(paid, overloaded), "was not asked");
    CHECK(server.requests().empty());
  }
  SECTION("another model than the one that is priced") {
    paid.budget = Budget::create({.max_calls = 2}).value();
    paid.extra = {{"model", "dearer"}};
    CHECK_ERRC(Errc::invalid_argument, LlmClassifier::create(paid));
  }
  SECTION("money") {
    paid.budget = Budget::create({.max_cost_usd = 0.01}).value();
    check_abstained(ask(paid, overloaded), "was not asked");
    CHECK(server.requests().empty());
  }
}

TEST_CASE("a call that may have been served is booked as estimated, a refused one as a call",
          "[llm]") {
  LlmOptions paid{.model = "m", .budget = Budget::create({.max_calls = 9}).value()};
  paid.prices.unknown_is_free();
  const auto spent_on = [&](ServerAnswer answer) {
    const ScriptedServer server({std::move(answer)});
    paid.base_url = server.url();
    paid.budget = Budget::create({.max_calls = 9}).value();
    paid.timeout = std::chrono::milliseconds(50);
    CHECK(ask(paid, overloaded).type == FailureType::unknown);
    CHECK(paid.budget->spent().calls == 1);
    return paid.budget->spent().tokens();
  };
  CHECK(spent_on({.how = ServerAnswer::How::never}) > 300);
  CHECK(spent_on({.status = 200, .body = "{}"}) > 300);
  CHECK(spent_on({.status = 429}) == 0);
  // Implausible usage is ignored.
  CHECK(spent_on({.body = R"({"usage": {"prompt_tokens": -5, "completion_tokens": 1e30}})"}) > 300);
}

TEST_CASE("bad options are refused with what is allowed, and never show the key", "[llm]") {
  const auto refused = [](auto change, const std::string& why) {
    LlmOptions chosen{
        .base_url = "https://example.org/v1", .model = "m", .api_key = "sk-very-secret"};
    change(chosen);
    const auto made = LlmClassifier::create(chosen);
    CHECK_ERRC(Errc::invalid_argument, made);
    if (made) return;
    CHECK_THAT(made.error().detail, ContainsSubstring(why));
    CHECK_THAT(made.error().detail, !ContainsSubstring("secret"));
  };
  for (const char* url :
       {"", "example.org", "ftp://x", "https://", "https:///v1", "http://a b",
        "https://x/?key=secret", "https://u:secret@x", "https://x/#f", "https://x\r\nHost: y"}) {
    INFO(url);
    refused([&](LlmOptions& o) { o.base_url = url; }, "base_url is");
  }
  refused([](LlmOptions& o) { o.base_url = "http://example.org"; }, "key_over_http");
  refused([](LlmOptions& o) { o.base_url = "http://127.0.0.1.evil.example"; }, "key_over_http");
  refused([](LlmOptions& o) { o.api_key = "sk-very-secret\r\nX: y"; }, "api_key is");
  refused([](LlmOptions& o) { o.api_key = std::string(5000, 'k'); }, "api_key is");
  refused([](LlmOptions& o) { o.model = ""; }, "model is 0 bytes");
  refused([](LlmOptions& o) { o.timeout = Duration(0); }, "timeout is 0 ns");
  refused([](LlmOptions& o) { o.timeout = std::chrono::hours(1); }, "timeout is");
  refused([](LlmOptions& o) { o.max_text_bytes = 1; }, "max_text_bytes is 1");
  refused([](LlmOptions& o) { o.max_response_bytes = 1U << 30U; }, "max_response_bytes is");
  refused([](LlmOptions& o) { o.max_output_tokens = 0; }, "max_output_tokens is 0");
  refused([](LlmOptions& o) { o.extra = Json::array(); }, "extra is of type array");
  refused([](LlmOptions& o) { o.budget = Budget::create({.max_calls = 1}).value(); },
          "no price is known");
  REQUIRE_OK(LlmClassifier::create({.base_url = "http://x/v1", .model = "m"}));
  REQUIRE_OK(LlmClassifier::create(
      {.base_url = "http://x/v1", .model = "m", .api_key = "k", .key_over_http = true}));
}

TEST_CASE("who has named the type is not second-guessed, and several threads may ask", "[llm]") {
  const ScriptedServer server({openai_says(good)});
  CHECK(ask(options(server), {.text = "x", .type = FailureType::refused}).type ==
        FailureType::refused);
  CHECK(server.requests().empty());
  const auto classifier = LlmClassifier::create(options(server)).value();
  std::atomic<int> right = 0;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      const Trajectory none;
      const Classification found =
          classifier->classify({.failure = overloaded, .trajectory = none});
      right += found.type == FailureType::external_fault ? 1 : 0;
    });
  }
  threads.clear();
  CHECK(right == 4);
}

TEST_CASE("a failure whose error code throws when it is asked for its meaning is unknown",
          "[llm]") {
  struct Speechless final : std::error_category {
    [[nodiscard]] const char* name() const noexcept override { return "speechless"; }
    [[nodiscard]] std::string message(int) const override { throw 42; }
  };
  static const Speechless category;
  const ScriptedServer server({openai_says(good)});
  const Classification found = ask(options(server), {.text = "it failed", .code = {1, category}});
  CHECK(found.type == FailureType::unknown);
}
