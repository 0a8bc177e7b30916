// SPDX-License-Identifier: MIT
#include "classifier/undress/undress.hpp"

#include "classifier/codes/text_codes.hpp"
#include "classifier/support.hpp"
#include "support/catch.hpp"

#include <algorithm>

using namespace triage;

namespace {

std::optional<detail::Undressed> undress(std::string_view text) {
  return detail::undress(
      text, [](std::string_view name) { return detail::named_code_meaning(name).has_value(); });
}

// The content of a text without its envelope; the text itself if it has none.
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

TEST_CASE("what stands behind a placeholder or an open element of a page is read",
          "[classifier][undress]") {
  for (const std::string_view open :
       {"<path>", "<date>", "<instance>", "<RequestId>", "<timestamp>", "<style>", "<script>",
        "<svg>", "<noscript>", "<!--"}) {
    INFO(open);
    CHECK(plain("<html><body><h1>Error</h1><p>Usage: read " + std::string(open) +
                "</p><p>There is no tool with that name</p></body></html>")
              .find(words) != std::string::npos);
  }
  // Metadata is short, and hidden elements of any length.
  const std::string script = "<script>" + repeated("var a = 1;\n", 1'000) + "</script>";
  CHECK(plain("<html><body>" + script + "<Error><RequestId>4F a b</RequestId></Error><p>" +
              std::string(words) + "</p></body></html>") == words);
  CHECK(plain("<html><body><p>Where is <path> to go?</p>" + repeated("<p>one and more</p>", 200) +
              "<path>/a</path></body></html>")
            .find("one and more") != std::string::npos);
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

TEST_CASE("a line of a log is read without its head", "[classifier][undress]") {
  for (const std::string_view head :
       {"2026-03-14 09:26:53,117 ERROR app.tools - ", "[2026-03-14T09:26:53.1Z] [error] [w-3] ",
        "<34>1 2026-03-14T09:26:53.003Z host7 agentd 812 ID47 - ",
        "Mar 14 09:26:53 host7 agentd[812]: ", "E0314 09:26:53.117000       1 tools.go:88] ",
        "worker-1  | ", "ERROR:app.tools:", "2026-03-14T09:26:53.1234567Z stderr F ",
        "2026/03/14 09:26:53 [emerg] 4711#4711: ", "2026-03-14T09:26:53Z ##[error]",
        "::error file=a.py,line=3::", "[09:26:53 ERR] ",
        "2026-03-14T09:26:53.117Z ERROR 812 --- [main] c.e.Tools : ",
        "2026-03-14 09:26:53.117 | ERROR    | app.tools:call:42 - "}) {
    INFO(head);
    CHECK(plain(std::string(head) + std::string(words)) == words);
  }
  CHECK(plain("time=09:26:53 level=error msg=\"There is no tool with that name\" try=2") == words);
  CHECK(plain(R"({"level":"error","ts":1,"msg":"There is no tool with that name"})") == words);
}

TEST_CASE("a code or an exception in brackets is part of the message, not of the head",
          "[classifier][undress]") {
  for (const std::string_view head :
       {"2026-11-28T12:00:00Z ", "ERROR ", "Nov 28 12:00:00 host agent[12]: ",
        "2026-11-28 12:00:00 [main] ERROR app.tools - ", "[2026-11-28T12:00:00Z] [error] "}) {
    for (const std::string_view name :
         {"invalid_api_key", "insufficient_quota", "ECONNREFUSED", "RateLimitError",
          "openai.RateLimitError", "ContextWindowExceeded", "ToolNotFound"}) {
      for (const std::string_view mark : {" ", ": ", " - "}) {
        const std::string message = "[" + std::string(name) + "]" + std::string(mark) + "it failed";
        INFO(head << message);
        CHECK(plain(std::string(head) + message) == message);
        CHECK(test::type_of_text(std::string(head) + message) == test::type_of_text(message));
      }
    }
  }
  CHECK(test::type_of_text("2026-11-28T12:00:00Z [invalid_api_key] request failed") ==
        FailureType::access_denied);
  // What says nothing stays part of the head.
  for (const std::string_view name : {"main", "tool_runner", "c.e.AgentRunner", "w-3",
                                      "http.client", "RuntimeError", "AgentException"}) {
    INFO(name);
    const std::string head = "2026-11-28T12:00:00Z ERROR [" + std::string(name) + "] ";
    CHECK(plain(head + std::string(words)) == words);
  }
}

TEST_CASE("a warning and a note in a log stay what they are", "[classifier][undress]") {
  CHECK(plain("2026-03-14 09:26:53 WARN app.tools - slow") == "warning: slow");
  CHECK(plain("2026-03-14 09:26:53 INFO app.tools - slow") == "info: slow");
}

TEST_CASE("ids and durations behind a message are not read", "[classifier][undress]") {
  for (const std::string_view tail :
       {" (request_id=req_0a1b2c3d, duration=120ms)",
        " trace_id=0a1b2c3d4e5f span_id=0a1b attempt=2",
        " [Request ID: 0a1b2c3d-1111-4222-a333-444455556666]", " | took 1.2s", " (attempt 2/5)"}) {
    INFO(tail);
    CHECK(plain(std::string(words) + std::string(tail)) == words);
  }
  CHECK_FALSE(undress("No answer from the index (30 s)"));
  CHECK_FALSE(undress("Unknown tool (did you mean fetch?)"));
}

TEST_CASE("what was going on when it failed is not read", "[classifier][undress]") {
  for (const std::string_view prefix :
       {"Step 4 of 7 failed while sending the mail: ", "[3/7] Task mailer failed: ",
        "RuntimeError: ", "Giving up after 3 attempts: ", "Job 12 failed: "}) {
    INFO(prefix);
    CHECK(plain(std::string(prefix) + std::string(words)) == words);
  }
  CHECK_FALSE(undress("2 of 5 parts are done"));
  CHECK_FALSE(undress("Attempt 1 failed, retrying in 2 s: connection reset"));
}

TEST_CASE("a sentence broken at a margin is read as one", "[classifier][undress]") {
  CHECK(
      plain("The planner asked for a tool that is\nnot there, and nobody knows where it\nmay be") ==
      "The planner asked for a tool that is not there, and nobody knows where it may be");
  CHECK_FALSE(undress("error: no such file\nusage: cp FROM TO\nTry --help"));
}

TEST_CASE("a trace that is broken at a margin is read as one that is not",
          "[classifier][undress]") {
  constexpr std::string_view said =
      "The gardener asked for a rake, but in this shed there is only a spade and a hose";
  CHECK(plain("Traceback (most recent call last):\n  File \"/srv/garden.py\", line 7,\nin dig\n"
              "    raise RuntimeError(reply)\nRuntimeError: The gardener asked for a\n"
              "rake, but in this shed there is only a\nspade and a hose") == said);
  CHECK(
      plain(
          "java.lang.RuntimeException: step failed\n        at\ncom.garden.Agent.run(Agent.java:17)"
          "\nCaused by:\njava.lang.IllegalStateException: The\ngardener asked for a rake, but in"
          " this\nshed there is only a spade and a hose\n        at\n"
          "com.garden.Tools.call(Tools.java:58)\n        ... 12 more") == said);
  CHECK(plain("Unhandled exception. System.Exception: The gardener asked for a\nrake, but in this"
              " shed there is only a spade and a hose\n   at Garden.Agent.Run(String task) in\n"
              "/src/Agent.cs:line 117\n   at Garden.Program.Main()") == said);
  CHECK(plain("Error: java.lang.RuntimeException: step failed\nCaused by: java.lang.Exception:\n"
              "Line one.\nThen, line two is said\n    at Agent.run\n(/srv/agent.js:3:11)\n") ==
        "Line one.\nThen, line two is said");
}

TEST_CASE("lines of a trace that are whole take no other line", "[classifier][undress]") {
  const auto says = [](std::string_view text) {
    INFO(text);
    CHECK(plain(text).find(words) != std::string::npos);
    CHECK(plain(text).find("Garden") == std::string::npos);
  };
  const std::string said(words);
  says(
      "Error: step failed\n    at dig (/srv/Garden.js:3:7)\n    at <anonymous> {\n  [cause]: "
      "Error: " +
      said + "\n      at call (/srv/b.js:1:2)\n}");
  says("Error: step failed\n    at new Garden (<anonymous>)\n    at <anonymous>\nToolError: " +
       said);
  says(
      "Error: step failed\n    at dig (/srv/Garden.js:3:7)\n    at <anonymous>\nCaused by: "
      "Error: " +
      said);
  says(
      "Traceback (most recent call last):\n  File \"/Garden.py\", line 117, in dig\n"
      "    result = self.Garden.call(arguments)\nRuntimeError: {\"message\": \"" +
      said + "\"}");
  says(
      "Traceback (most recent call last):\n  File \"/Garden.py\", line 117, in dig\n"
      "    return self.Garden.receive(buffer)\nshed.absent: " +
      said);
  // Not frames.
  CHECK(plain("Errors:\n  at path /query\n  field 'query' is required").find("required") !=
        std::string::npos);
  for (const std::string_view place : {"root", "root of the tree"}) {
    CHECK(plain("Error: step failed\n    at " + std::string(place) + "\n" + said + " (rake)")
              .find(words) != std::string::npos);
  }
  // A message that is empty.
  CHECK(plain("garden.ShedError: \n\tat garden.Denied.dig(Denied.java:31)\n\tat "
              "garden.Main.run(Main.java:3)") == "garden.ShedError:");
}

TEST_CASE("a log that is broken at a margin is read by its entries", "[classifier][undress]") {
  CHECK(plain("2031-05-06 07:08:09,252 ERROR garden.agent - The gardener asked for\na rake, but in"
              " this shed there is only a spade and a hose") ==
        "The gardener asked for a rake, but in this shed there is only a spade and a hose");
  // Lines of one length are no wrapped sentence.
  std::string log;
  for (int i = 10; i < 16; ++i)
    log += "2031-05-06T07:08:" + std::to_string(i) + "Z INFO garden[4]: the bed is dug\n";
  CHECK(plain(log).find("2031") == std::string::npos);
}

TEST_CASE("what ends a trace is read without the tail of its line", "[classifier][undress]") {
  CHECK(plain("RuntimeError: There is no tool with that name\n\nThe above exception was the direct"
              " cause of the following exception:\n\nTraceback (most recent call last):\n"
              "  File \"/srv/garden.py\", line 7, in dig\n    main()\n"
              "Exception: agent run failed (request_id=4f2a9c81d3e07b56, duration=12ms)") == words);
}

TEST_CASE("a document that a page shows over several lines is read", "[classifier][undress]") {
  CHECK(plain("<html><body><h1>Something went wrong</h1><p>  {\n    \"id\": 7,\n    \"errors\": [\n"
              "      {\n        \"message\": \"There is no tool with that name\"\n      }\n    ]\n"
              "  }</p><hr><small>shed/1.2</small></body></html>") == words);
}

TEST_CASE("of a page the headline stays where its document says nothing", "[classifier][undress]") {
  CHECK(plain("<html><body><h1>500 Internal Server Error</h1><pre>\n{\n  \"id\": "
              "7\n}\n</pre></body></html>")
            .starts_with("500 Internal Server Error"));
  CHECK(plain("<html><body><pre>\n[\n]\n</pre></body></html>").find("<pre>") != std::string::npos);
  CHECK(
      plain("<html><body><p>Shed is locked</p><pre>\n{\n  dig(1);\n}\nThen }\n</pre></body></html>")
          .find("Then }") != std::string::npos);
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
        repeated("<div>", 20'000) + "x", "<html><p>" + repeated("<script>", 8'000),
        "<html><p>" + repeated("<!--", 16'000), "<html><p>" + repeated("<path>", 10'000),
        repeated("&#x", 50'000), repeated("\x1b]", 50'000), repeated("\x1b[", 50'000),
        repeated("[1;", 50'000),
        repeated("Traceback (most recent call last):\n  File \"a\", line 1\n", 5'000),
        repeated("Caused by: a.B: x\n\tat a.b(C.java:1)\n", 5'000),
        repeated("\xE2\x80\x8B", 50'000)}) {
    CHECK(plain(text + "\n" + std::string(words)).size() <= text.size() + words.size() + 1);
  }
  CHECK(plain("\x1b]0;title There is no tool with that name").find(words) != std::string::npos);
}

// Each link read the whole line again.
TEST_CASE("a line of many links of a chain takes linear time", "[classifier][undress][hostile]") {
  for (const char* link : {"fatal error: ", "Uncaught ", "Caused by: ", "panic: "}) {
    const std::string text =
        "Traceback (most recent call last)\n" + repeated(link, 4'500) + std::string(words);
    for (int i = 0; i < 100; ++i) CHECK(plain(text).find(words) != std::string::npos);
  }
  CHECK(plain("panic: panic: runtime error: index out of range\n\ngoroutine 1 [running]:\n") ==
        "panic: panic: runtime error: index out of range");
}
