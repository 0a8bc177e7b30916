// SPDX-License-Identifier: MIT
#include "evidence/codes.hpp"

#include "classifier/support.hpp"
#include "support/catch.hpp"
#include "triage/exit_status.hpp"

#include <array>

using namespace triage;
using enum triage::FailureType;

namespace {

struct Expected {
  int code;
  FailureType type;  // Of the code with an uninformative text.
};

// Words that no rule knows, so the code decides alone.
constexpr std::array<const char*, 3> texts{"", "it did not work", "Order 500 rejected"};

void check(std::optional<int> Failure::*field, std::optional<int> Step::*step_field,
           const std::vector<Expected>& codes) {
  for (const Expected& expected : codes) {
    for (const char* text : texts) {
      INFO(expected.code << " with \"" << text << '"');
      Failure failure{.text = text};
      Step step{.error = text};
      step.*step_field = expected.code;
      CHECK(test::classify(failure, {step}).type == expected.type);
      failure.*field = expected.code;
      CHECK(test::classify(failure).type == expected.type);
    }
  }
}

}  // namespace

TEST_CASE("HTTP statuses decide, narrow or say nothing", "[classifier][codes]") {
  check(&Failure::http_status, &Step::http_status,
        {{200, unknown},         {302, unknown},        {400, unknown}, {401, access_denied},
         {402, quota_exhausted}, {403, access_denied},  {404, unknown}, {405, unknown},
         {407, access_denied},   {408, timeout},        {409, unknown}, {410, unknown},
         {413, unknown},         {418, unknown},        {422, unknown}, {425, external_fault},
         {428, unknown},         {429, external_fault}, {430, unknown}, {451, access_denied},
         {499, unknown},         {500, external_fault}, {501, unknown}, {502, external_fault},
         {503, external_fault},  {504, timeout},        {505, unknown}, {507, external_fault},
         {520, external_fault},  {521, external_fault}, {522, timeout}, {523, external_fault},
         {524, timeout},         {529, external_fault}, {-1, unknown},  {0, unknown},
         {999999, unknown}});
}

TEST_CASE("JSON-RPC codes that servers reuse say nothing", "[classifier][codes]") {
  check(&Failure::json_rpc_code, &Step::json_rpc_code,
        {{-32700, schema_mismatch},
         {-32699, unknown},
         {-32601, wrong_tool_called},
         {-32603, external_fault},
         {-32604, unknown},
         {-32602, unknown},
         {-32600, unknown},
         {-32000, unknown},
         {-32050, unknown},
         {-32099, unknown},
         {32601, unknown}});
}

TEST_CASE("gRPC statuses decide, narrow or say nothing", "[classifier][codes]") {
  check(&Failure::grpc_status, &Step::grpc_status,
        {{0, unknown},
         {1, unknown},
         {2, unknown},
         {3, unknown},
         {4, timeout},
         {5, unknown},
         {6, unknown},
         {7, access_denied},
         {8, external_fault},
         {9, unknown},
         {10, unknown},
         {11, unknown},
         {12, wrong_tool_called},
         {13, external_fault},
         {14, external_fault},
         {15, unknown},
         {16, access_denied},
         {17, unknown},
         {-14, unknown}});
}

TEST_CASE("the system's error codes are understood in both categories", "[classifier][codes]") {
  const std::pair<std::errc, FailureType> rows[] = {
      {std::errc::timed_out, timeout},
      {std::errc::connection_refused, external_fault},
      {std::errc::connection_reset, external_fault},
      {std::errc::broken_pipe, external_fault},
      {std::errc::host_unreachable, external_fault},
      {std::errc::too_many_files_open, external_fault},
      {std::errc::permission_denied, access_denied},
      {std::errc::operation_not_permitted, access_denied},
      {std::errc::no_such_file_or_directory, unknown},
      {std::errc::invalid_argument, unknown},
      {std::errc::bad_message, unknown}};
  for (const auto& [code, type] : rows) {
    INFO(std::make_error_code(code).message());
    CHECK(test::classify({.code = std::make_error_code(code)}).type == type);
    const std::error_code system(static_cast<int>(code), std::system_category());
    CHECK(test::classify({.code = system}).type == type);
  }
}

TEST_CASE("codes of unknown categories say nothing", "[classifier][codes]") {
  CHECK_FALSE(detail::error_code_meaning({}));
  CHECK_FALSE(detail::error_code_meaning(make_error_code(Errc::not_found)));
}

TEST_CASE("the status of a program that a shell or the kernel gave says why it ended",
          "[classifier][codes]") {
  const auto type_of = [](const std::string& text, int status) {
    const Failure failure{.text = text, .code = exit_status(status)};
    const Trajectory none;
    const ClassifierInput input{.failure = failure, .trajectory = none};
    return default_classifier()->classify(input).type;
  };
  for (const char* text : {"", "it did not work"}) {
    CHECK(type_of(text, 127) == wrong_tool_called);
    CHECK(type_of(text, 137) == crashed);
    CHECK(type_of(text, 139) == crashed);
    for (const int status : {0, 1, 2, 64, 77, 128, 255}) CHECK(type_of(text, status) == unknown);
  }
  // The program's own words are the better reason.
  CHECK(type_of("connection refused", 139) == external_fault);
  CHECK(exit_status(3).message() == "exited with status 3");
  CHECK_FALSE(exit_status(0));
}

TEST_CASE("a code that came without words decides as surely as its row says",
          "[classifier][codes]") {
  const Trajectory none;
  for (const auto& [status, type] :
       {std::pair{503, external_fault}, std::pair{402, quota_exhausted},
        std::pair{401, access_denied}, std::pair{504, timeout}}) {
    INFO(status);
    const Failure failure{.http_status = status};
    const auto found = default_classifier()->classify({.failure = failure, .trajectory = none});
    CHECK(found.type == type);
    CHECK(found.confidence == detail::http_rule(status)->meaning.confidence);
    REQUIRE(found.evidence.size() == 1);  // No evidence about wording, because there is none.
    CHECK(found.evidence.front().source == "http_status");
  }
  // A code that means nothing by itself still goes through every check.
  const Failure vague{.http_status = 400};
  CHECK(default_classifier()->classify({.failure = vague, .trajectory = none}).type == unknown);
}
