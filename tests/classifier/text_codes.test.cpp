// SPDX-License-Identifier: MIT
#include "classifier/codes/text_codes.hpp"

#include "support/catch.hpp"

#include <string>

using namespace triage;
using namespace triage::detail;

namespace {

// The meaning of a text's first code; "" without one.
std::string first_of(std::string_view text) {
  std::vector<TextCode> codes;
  find_text_codes(text, codes);
  if (codes.empty()) return "";
  return std::string(to_string(codes[0].meaning.type)) + " " + std::string(codes[0].meaning.reason);
}

}  // namespace

TEST_CASE("names of codes are read wherever they stand", "[classifier][codes]") {
  CHECK(first_of("connect ECONNREFUSED 10.0.0.1:443") == "external_fault connection_refused");
  CHECK(first_of("{\"code\":\"EAI_AGAIN\"}") == "external_fault dns_failed");
  CHECK(first_of("status = DEADLINE_EXCEEDED") == "timeout deadline_exceeded");
  CHECK(first_of("'code': 'context_length_exceeded'") == "context_overflow context_length");
  CHECK(first_of("type=insufficient_quota") == "quota_exhausted insufficient_funds");
  CHECK(first_of("received SIGSEGV") == "crashed signal");
  CHECK(first_of("MY_ECONNREFUSED_TEST, econnrefused, context_length_exceeded_handler").empty());
}

TEST_CASE("an SQLSTATE is read by state and by class", "[classifier][codes]") {
  CHECK(first_of("SQLSTATE: 40P01") == "external_fault conflict");
  CHECK(first_of("ERROR (SQLSTATE 42501)") == "access_denied permission_denied");
  CHECK(first_of("SQLSTATE[28000] [1045]") == "access_denied bad_credentials");
  CHECK(first_of("[SQLSTATE=08006]") == "external_fault connection_lost");
  CHECK(first_of("SQLSTATE[HY000]").empty());
  CHECK(first_of("SQLSTATE 4").empty());
  CHECK(first_of("SQLSTATE").empty());
}

TEST_CASE("an exit status is read behind the word", "[classifier][codes]") {
  CHECK(first_of("process exited with code 137") == "crashed killed");
  CHECK(first_of("exit status 139") == "crashed signal");
  CHECK(first_of("exit code: 127") == "wrong_tool_called command_not_found");
  CHECK(first_of("exit code 124") == "timeout time_limit");
  CHECK(first_of("exit code 1").empty());
  CHECK(first_of("exit code 13799").empty());
  CHECK(first_of("the exit is at row 137").empty());
  CHECK(first_of("exit code").empty());
}

TEST_CASE("each code counts once, and there is a limit", "[classifier][codes]") {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "EPIPE ECONNRESET ";
  std::vector<TextCode> codes;
  find_text_codes(text, codes);
  CHECK(codes.size() == 2);
}
