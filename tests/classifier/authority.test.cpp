// SPDX-License-Identifier: MIT
// How far a failure's words count beside its reported codes: the table of docs/classification.md,
// for all pairs.
#include "triage/classifier.hpp"

#include "classifier/codes/stated_status.hpp"
#include "classifier/support.hpp"
#include "support/catch.hpp"

#include <array>
#include <string>
#include <string_view>
#include <vector>

using namespace triage;
using enum triage::FailureType;

namespace {

struct Family {
  FailureType type;
  std::array<const char*, 2> wordings;
};

constexpr std::array<Family, 9> families{{
    {external_fault,
     {"the server is busy, please try again later", "connection reset by peer while reading"}},
    {access_denied, {"unauthorized: the api key is not valid", "permission denied for this user"}},
    {timeout, {"request timed out after 30 s", "the operation took too long and was timed out"}},
    {quota_exhausted,
     {"you have exceeded your monthly quota", "your credit balance is too low, please top up"}},
    {schema_mismatch,
     {"invalid JSON in field page: expected a number", "validation error: field id is required"}},
    {wrong_tool_called, {"unknown tool: get_weather", "there is no function named get_weather"}},
    {refused, {"your prompt was flagged by our content policy", "I cannot help with that request"}},
    {context_overflow,
     {"maximum context length is 8192 tokens, however you requested 9000",
      "the prompt is too long: 210000 tokens > 200000 maximum"}},
    {crashed, {"segmentation fault (core dumped)", "the process was killed by signal 9"}},
}};

// A letter per family: the code decides (c), the words (w), or neither (-).
struct Row {
  std::optional<int> Failure::*field;
  std::optional<int> Step::*step_field;
  int code;
  FailureType type;  // Of the code alone.
  std::string_view decides;
};

constexpr auto http = &Failure::http_status;
constexpr auto step_http = &Step::http_status;
constexpr auto rpc = &Failure::json_rpc_code;
constexpr auto step_rpc = &Step::json_rpc_code;
constexpr auto grpc = &Failure::grpc_status;
constexpr auto step_grpc = &Step::grpc_status;

constexpr Row rows[] = {
    {http, step_http, 200, unknown, "wwwwwwwww"},
    {http, step_http, 400, unknown, "wwwwwwwww"},
    {http, step_http, 401, access_denied, "cccwccccc"},
    {http, step_http, 402, quota_exhausted, "ccccccccc"},
    {http, step_http, 403, access_denied, "cccwccwwc"},
    {http, step_http, 404, unknown, "-w-wwwww-"},
    {http, step_http, 405, unknown, "-w-wwwww-"},
    {http, step_http, 407, access_denied, "ccccccccc"},
    {http, step_http, 408, timeout, "ccccccccc"},
    {http, step_http, 409, unknown, "wwwwwwwww"},
    {http, step_http, 413, unknown, "-w-wwwww-"},
    {http, step_http, 422, unknown, "-w-wwwww-"},
    {http, step_http, 429, external_fault, "cccwcccwc"},
    {http, step_http, 451, access_denied, "ccccccwcc"},
    {http, step_http, 500, external_fault, "ccwcwwcww"},
    {http, step_http, 502, external_fault, "ccwcccccc"},
    {http, step_http, 503, external_fault, "ccwcccccc"},
    {http, step_http, 504, timeout, "ccccccccc"},
    {http, step_http, 529, external_fault, "ccccccccc"},
    {rpc, step_rpc, -32700, schema_mismatch, "ccccccccc"},
    {rpc, step_rpc, -32603, unknown, "wwwwwwwww"},
    {rpc, step_rpc, -32602, unknown, "-w-wwwww-"},
    {rpc, step_rpc, -32601, wrong_tool_called, "ccccccccc"},
    {rpc, step_rpc, -32600, unknown, "wwwwwwwww"},
    {rpc, step_rpc, -32000, unknown, "wwwwwwwww"},
    {grpc, step_grpc, 2, unknown, "wwwwwwwww"},
    {grpc, step_grpc, 3, unknown, "-w-wwwww-"},
    {grpc, step_grpc, 4, timeout, "ccccccccc"},
    {grpc, step_grpc, 5, unknown, "-w-wwwww-"},
    {grpc, step_grpc, 7, access_denied, "cccwccwwc"},
    {grpc, step_grpc, 8, unknown, "w--w---ww"},
    {grpc, step_grpc, 11, unknown, "-w-wwwww-"},
    {grpc, step_grpc, 12, wrong_tool_called, "ccccccccc"},
    {grpc, step_grpc, 13, unknown, "w-w-ww-ww"},
    {grpc, step_grpc, 14, external_fault, "ccwcccccc"},
    {grpc, step_grpc, 16, access_denied, "cccwccccc"},
};

Classification ask(const Failure& failure, std::vector<Step> steps = {}) {
  const Trajectory trajectory = test::trajectory_of(std::move(steps));
  return default_classifier()->classify({.failure = failure, .trajectory = trajectory});
}

// Checks one pair's answer.
void check_pair(const Row& row, char decides, FailureType by_words, const Classification& found) {
  switch (decides) {
    case 'c': CHECK(found.type == row.type); break;
    case '-': CHECK(found.type == unknown); break;
    // A model that is less sure beside a code leaves the decision to the code.
    default: CHECK((found.type == by_words || found.type == row.type)); break;
  }
}

}  // namespace

TEST_CASE("a text says no more than the code beside it lets it", "[classifier][authority]") {
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < families.size(); ++i) {
      for (const std::string text : families[i].wordings) {
        INFO(row.code << " with \"" << text << '"');
        const FailureType by_words = ask({.text = text}).type;
        CHECK(by_words == families[i].type);
        Failure failure{.text = text};
        failure.*row.field = row.code;
        check_pair(row, row.decides[i], by_words, ask(failure));
        // The same code on the step whose error the failure repeats.
        Step step{.action = "x", .error = text};
        step.*row.step_field = row.code;
        check_pair(row, row.decides[i], by_words, ask({.text = text}, {step}));
        // A status inside the text.
        if (row.field != http || row.decides[i] != 'c') continue;
        const std::string stated = "HTTP " + std::to_string(row.code) + ": " + text;
        check_pair(row, 'c', by_words, ask({.text = stated}));
      }
    }
  }
}

TEST_CASE("the rules alone keep to the code, too", "[classifier][authority]") {
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < families.size(); ++i) {
      for (const std::string text : families[i].wordings) {
        INFO(row.code << " with \"" << text << '"');
        Failure failure{.text = text};
        failure.*row.field = row.code;
        const FailureType found = test::classify(failure).type;
        Failure silent;
        silent.*row.field = row.code;
        if (row.decides[i] == 'w') continue;
        CHECK(found == test::classify(silent).type);
      }
    }
  }
}

TEST_CASE("a spent quota is seen behind the codes that servers send for it",
          "[classifier][authority]") {
  const std::string text = "you have exceeded your monthly quota";
  for (const int status : {400, 401, 403, 429}) {
    INFO(status);
    CHECK(ask({.text = text, .http_status = status}).type == quota_exhausted);
  }
}

TEST_CASE("a 403 is a fault that heals only where the text names a rate limit",
          "[classifier][authority]") {
  CHECK(ask({.text = "API rate limit exceeded, please slow down", .http_status = 403}).type ==
        external_fault);
  CHECK(ask({.text = "the service is overloaded at the moment", .http_status = 403}).type ==
        access_denied);
}

TEST_CASE("the code that decided is the first evidence, and what it overruled is told",
          "[classifier][authority]") {
  const Classification busy =
      ask({.text = "the server is busy, please try again later", .http_status = 401});
  REQUIRE_FALSE(busy.evidence.empty());
  CHECK(busy.evidence.front().source == "http_status");
  CHECK(busy.evidence.front().detail == "http_status is 401");
  bool told = false;
  for (const Evidence& one : busy.evidence) {
    told = told || one.detail.find("rules out") != std::string::npos;
  }
  CHECK(told);
  // If the words agree, the code is the better reason.
  const Classification denied =
      ask({.text = "unauthorized: the api key is not valid", .http_status = 401});
  REQUIRE_FALSE(denied.evidence.empty());
  CHECK(denied.evidence.front().source == "http_status");
}

TEST_CASE("a status around a JSON-RPC error decides nothing", "[classifier][authority]") {
  CHECK(ask({.http_status = 500, .json_rpc_code = -32601}).type == wrong_tool_called);
  CHECK(ask({.text = "it did not work", .http_status = 500, .json_rpc_code = -32602}).type ==
        unknown);
  CHECK(ask({.text = "the server is busy, please try again later",
             .http_status = 500,
             .json_rpc_code = -32602})
            .type == unknown);
  CHECK(ask({.http_status = 503, .json_rpc_code = -32603}).type == external_fault);
}

TEST_CASE("a reported code is believed before one that a text names", "[classifier][authority]") {
  CHECK(ask({.text = "read failed: ECONNRESET", .http_status = 401}).type == access_denied);
  CHECK(ask({.text = "errno EACCES", .http_status = 503}).type == external_fault);
}

TEST_CASE("only a number that the text calls a status is one", "[classifier][authority]") {
  using detail::stated_http_status;
  for (const char* text :
       {"HTTP 503", "http/1.1 503 x", "HTTP/2 503", "status code: 503", "status=503",
        "Error code: 503 - {}", "x (http_status 503)", "upstream_status: 503", "HttpStatus: 503"}) {
    INFO(text);
    CHECK(stated_http_status(text) == 503);
  }
  for (const char* text :
       {"", "503", "order 503 is late", "HTTP", "HTTP 5030", "HTTP 503x", "HTTP 200", "status 99",
        "exit status 1", "took http 12503", "HTTP 503, then HTTP 401", "apparatus 503"}) {
    INFO(text);
    CHECK_FALSE(stated_http_status(text));
  }
  CHECK(stated_http_status("HTTP 503 and again HTTP 503") == 503);
}
