// SPDX-License-Identifier: MIT
#include "classifier/undress/undress.hpp"

#include "classifier/support.hpp"
#include "support/catch.hpp"

#include <algorithm>

using namespace triage;
using detail::undress;

namespace {

// What is read of a text; the text itself if it wears nothing.
std::string plain(std::string_view text) {
  const auto undressed = undress(text);
  return undressed ? undressed->text : std::string(text);
}

std::string repeated(std::string_view part, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += part;
  return text;
}

constexpr std::string_view words = "There is no tool with that name";

}  // namespace

TEST_CASE("terminal colours, links and invisible characters are not read",
          "[classifier][undress]") {
  CHECK(plain("\x1b[31;1mThere is no \x1b[4mtool\x1b[0m with that name\x1b[K") == words);
  CHECK(plain("\x1b]8;;https://x.example\x07There is no tool\x1b]8;;\x1b\\ with that name") ==
        words);
  CHECK(plain("\\u001b[31mThere is no tool with that name\\u001b[0m") == words);
  CHECK(plain("[31mThere is no tool with that name[0m") == words);
  CHECK(plain("There is no to\u200Bol wi\u00ADth that na\u202Eme\u202C") == words);
  CHECK(plain("There is no tool with that name\x1b[3") == words);
}

TEST_CASE("a message is read without the JSON around it", "[classifier][undress]") {
  CHECK(plain(R"({"error": {"message": "There is no tool with that name", "code": null}})") ==
        words);
  CHECK(plain(R"({"errors": [{"message": "There is no tool with that name", "path": ["a"]}]})") ==
        words);
  CHECK(plain(R"({"body": "{\"detail\": \"There is no tool with that name\"}", "status": 500})") ==
        words);
  CHECK(plain(R"("{\"error\": \"There is no tool with that name\"}")") == words);
  CHECK(plain("Error code: 400 - {'error': {'message': 'There is no tool with that name'}}") ==
        words);
  CHECK(plain("{\"error\": {\"message\": \"There is no tool with that name\", \"tra") == words);
  CHECK(plain("event: error\ndata: {\"message\": \"There is no tool with that name\"}\n\n") ==
        words);
}

TEST_CASE("codes of an envelope stay, unless any failure has them", "[classifier][undress]") {
  CHECK(plain(R"({"error": {"message": "No more", "type": "insufficient_quota"}})") ==
        "No more\ninsufficient_quota");
  CHECK(plain(R"({"error": {"message": "No more", "code": 429, "type": "api_error"}})") ==
        "No more\nstatus 429");
  CHECK(plain(R"({"status": 500, "message": "No more"})") == "No more");
}

TEST_CASE("braces in a sentence are no envelope", "[classifier][undress]") {
  for (const std::string_view text :
       {"Expected one of {'a', 'b'}", "The body {\"error\": \"x\"} was shown to the user",
        "use of {name} in a template", "must be one of [\"low\", \"high\"]", "{", "[[[", "{\"",
        "{\"a\": 1}"}) {
    CHECK_FALSE(undress(text));
  }
}

TEST_CASE("a page of HTML is read as it is shown", "[classifier][undress]") {
  CHECK(plain("<html><head><title>Error</title><style>p{}</style></head><body><h1>Error</h1>"
              "<p>There is no <b>tool</b> with that name</p><hr>nginx/1.22.1</body></html>") ==
        words);
  CHECK(plain("<Error><Code>NoSuchTool</Code><RequestId>4F</RequestId></Error>") == "NoSuchTool");
  CHECK_FALSE(undress("expected a < b and c > d"));
}

TEST_CASE("of a stack trace the exceptions are read", "[classifier][undress]") {
  CHECK(plain("Traceback (most recent call last):\n  File \"/a.py\", line 3, in f\n    g(x)\n"
              "    ^^^^\nRuntimeError: There is no tool with that name") == words);
  CHECK(plain("Exception in thread \"main\" java.lang.RuntimeException: step failed\n"
              "\tat a.B.c(D.java:1)\nCaused by: x.AgentException: There is no tool with that name\n"
              "\t... 3 more") == words);
  CHECK(plain("Error: There is no tool with that name\n    at f (/a.js:1:2)\n    at async g") ==
        words);
  CHECK(plain("panic: There is no tool with that name\n\ngoroutine 1 [running]:\nmain.main()\n"
              "\t/a.go:8 +0x1d\nexit status 2") == words);
  CHECK(plain("thread 'main' panicked at 'There is no tool with that name', src/a.rs:2:5") ==
        words);
  CHECK(plain("Unhandled exception. System.Exception: There is no tool with that name\n"
              "   at A.B() in /a.cs:line 3") == words);
  CHECK(
      plain(
          "a.rb:3:in `f': There is no tool with that name (RuntimeError)\n\tfrom a.rb:5:in `g'") ==
      words);
  CHECK(plain("PHP Fatal error:  Uncaught Exception: There is no tool with that name in /a.php:3\n"
              "Stack trace:\n#0 {main}\n  thrown in /a.php on line 3") == words);
  CHECK(plain("  + Exception Group Traceback (most recent call last):\n"
              "  |   File \"/a.py\", line 3, in f\n  | ExceptionGroup: unhandled errors (1 "
              "sub-exception)\n"
              "  +-+---------------- 1 ----------------\n    | Traceback (most recent call last):\n"
              "    |   File \"/a.py\", line 9, in g\n    | ValueError: There is no tool with that "
              "name\n"
              "    +------------------------------------") == words);
}

TEST_CASE("an exception whose name says something keeps it", "[classifier][undress]") {
  CHECK(plain("Traceback (most recent call last):\n  File \"/a.py\", line 3\nKeyError: 'x'") ==
        "KeyError: 'x'");
}

TEST_CASE(
    "a failure is classified alike in whatever it comes in, and the evidence says what was read",
    "[classifier][undress]") {
  const std::string bare = "Tool 'fetch_page' not found. Available tools: search, click";
  const FailureType type = test::type_of_text(bare);
  CHECK(type == FailureType::wrong_tool_called);
  const std::string trace =
      "Traceback (most recent call last):\n  File \"/a.py\", line 3, in f\n"
      "    g(x)\nRuntimeError: " +
      bare;
  const Json dressed = {{"error", {{"message", "\x1b[31m" + trace + "\x1b[0m"}}}};
  const Classification found = test::classify({.text = dressed.dump()});
  CHECK(found.type == type);
  const bool told =
      std::any_of(found.evidence.begin(), found.evidence.end(), [](const Evidence& e) {
        return e.detail.find("Read without terminal escapes, an envelope, a stack trace: Tool") ==
               0;
      });
  CHECK(told);
}

TEST_CASE("what only pretends to be structure takes linear time and nothing away",
          "[classifier][undress][hostile]") {
  for (const std::string& text :
       {repeated("{\"a\":", 100'000), repeated("[", 200'000),
        "{\"message\":\"" + repeated("\\\"{", 50'000), repeated("<p", 100'000),
        repeated("<div>", 20'000) + "x", repeated("&#x", 50'000), repeated("\x1b]", 50'000),
        repeated("\x1b[", 50'000), repeated("[1;", 50'000),
        repeated("Traceback (most recent call last):\n  File \"a\", line 1\n", 5'000),
        repeated("Caused by: a.B: x\n\tat a.b(C.java:1)\n", 5'000),
        repeated("\xE2\x80\x8B", 50'000)}) {
    CHECK(plain(text + "\n" + std::string(words)).size() <= text.size() + words.size() + 1);
  }
  CHECK(plain("\x1b]0;title There is no tool with that name").find(words) != std::string::npos);
}
