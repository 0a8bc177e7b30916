// SPDX-License-Identifier: MIT
// `triage hook`: the answers to Claude Code and Codex, and what a run records.
#include "supervise/running.hpp"
#include "triage/json.hpp"

#include "support/catch.hpp"

using namespace triage;
using namespace triage::test;

namespace {

Printed hook(const Workshop& shop, const std::string& event, const std::string& options = "") {
  std::ofstream(shop.file("event")) << event;
  return run_program(
      {"/bin/sh", "-c",
       std::string(TRIAGE_COMMAND) + " hook " + options + " < " + shop.file("event")});
}

std::string call(const std::string& tool, const std::string& command, bool codex = false) {
  Json event{{"session_id", "s"},
             {"hook_event_name", "PreToolUse"},
             {"tool_name", tool},
             {"tool_use_id", "toolu_1"},
             {"tool_input", {{"command", command}}}};
  if (codex) event["turn_id"] = "t-1";
  return event.dump();
}

std::string decision(const Printed& printed) {
  const Json answer = Json::parse(printed.out, nullptr, false);
  if (!answer.is_object()) return printed.out.empty() ? "none" : printed.out;
  return answer["hookSpecificOutput"]["permissionDecision"];
}

}  // namespace

TEST_CASE("a harmless call is not objected to, so that the program's own rules decide", "[hook]") {
  const Workshop shop;
  const Printed printed = hook(shop, call("Read", "notes.md"));
  CHECK(printed.status == 0);
  CHECK(printed.out.empty());
  CHECK(printed.error.empty());
}

TEST_CASE("a shell is no risk, what it is asked for is, and what is written to files is not",
          "[hook]") {
  const Workshop shop;
  CHECK(decision(hook(shop, call("Bash", "make test"))) == "none");
  CHECK(decision(hook(shop, call("Bash", "rm -rf /"))) == "deny");
  const Json write{{"hook_event_name", "PreToolUse"},
                   {"tool_name", "Write"},
                   {"tool_input", {{"file_path", "clean.sh"}, {"content", "rm -rf build"}}}};
  CHECK(decision(hook(shop, write.dump())) == "none");
}

TEST_CASE("a call that should happen once is judged by the guard also where no run remembers it",
          "[hook]") {
  const Workshop shop;
  const std::string risky = call("delete_account", "all of them");
  const std::string once = "--once delete_account";
  const Printed judged = hook(shop, risky, once);
  CHECK(judged.status == 0);
  CHECK(decision(judged) == decision(hook(shop, risky)));
  CHECK_THAT(judged.error, Catch::Matchers::ContainsSubstring("--once needs `triage run`"));
  CHECK(hook(shop, risky, once + " --on-error block").status == 2);
  CHECK(hook(shop, risky, once + " --guard none").out.empty());
}

TEST_CASE("a risky call is asked about, or denied where nobody can be asked", "[hook]") {
  const Workshop shop;
  const Printed claude = hook(shop, call("delete_account", "all of them"));
  CHECK(claude.status == 0);
  CHECK((decision(claude) == "ask" || decision(claude) == "deny"));
  CHECK_THAT(claude.out, ContainsSubstring("permissionDecisionReason"));
  // Codex runs calls that it is told to ask about, so they are denied.
  CHECK(decision(hook(shop, call("delete_account", "all of them", true))) == "deny");
  Json older = Json::parse(call("delete_account", "all of them"));  // Without the turn's id.
  older["model"] = "gpt";
  CHECK(decision(hook(shop, older.dump())) == "deny");
  CHECK(decision(hook(shop, call("delete_account", "all"), "--guard none")) == "none");
}

TEST_CASE("no event but a call is ever blocked, whatever goes wrong", "[hook]") {
  const Workshop shop;
  for (const char* name : {"Stop", "SubagentStop", "UserPromptSubmit", "SessionEnd", "NewOne"}) {
    const Printed printed =
        hook(shop, Json{{"hook_event_name", name}, {"stop_hook_active", true}}.dump(),
             "--on-error block --once Bash");
    CHECK(printed.status == 0);
    CHECK(printed.out.empty());
  }
  // A truncated event, and a result without a tool.
  for (const char* event : {R"({"hook_event_name": "Stop", "stop_hook)",
                            R"({"hook_event_name": "PostToolUse", "tool_response": 1})"}) {
    const Printed printed = hook(shop, event, "--on-error block");
    CHECK(printed.status == 0);
    CHECK(printed.error.starts_with("triage: "));
  }
  // PostToolUse without its supervisor.
  const std::string post = R"({"hook_event_name":"PostToolUse","tool_name":"Bash"})";
  std::ofstream(shop.file("event")) << post;
  const Printed gone = run_program({"/bin/sh", "-c",
                                    "TRIAGE_SOCKET=/nowhere " + std::string(TRIAGE_COMMAND) +
                                        " hook --on-error block < " + shop.file("event")});
  CHECK(gone.status == 0);
  CHECK(gone.error.starts_with("triage: "));
}

TEST_CASE("a failure of triage lets the call pass unless it is to block", "[hook]") {
  const Workshop shop;
  for (const std::string& bad :
       {std::string("no JSON"), std::string("[]"), std::string("{}"),
        std::string(R"({"hook_event_name": "", "tool_name": "Bash"})"),
        std::string(R"({"hook_event_name": null, "tool_name": "Bash"})"),
        std::string(R"({"tool_name": "a", "tool_input": {"hook_event_name": "Stop"}})"),
        std::string(R"({"hook_event_name": ["Stop"], "tool_name": "Bash")")}) {
    const Printed passed = hook(shop, bad);
    CHECK(passed.status == 0);
    CHECK(passed.out.empty());
    CHECK(passed.error.starts_with("triage: "));
    CHECK(hook(shop, bad, "--on-error block").status == 2);
  }
}

TEST_CASE("a verdict that cannot be written is a failure of triage", "[hook]") {
  const Workshop shop;
  for (const std::string where : {">/dev/full", ">&-"}) {
    const Printed passed = hook(shop, call("Bash", "rm -rf /"), where);
    CHECK(passed.status == 0);
    CHECK(passed.error.starts_with("triage: the output could not be written"));
    CHECK(hook(shop, call("Bash", "rm -rf /"), "--on-error block " + where).status == 2);
    CHECK(hook(shop, call("Read", "notes.md"), "--on-error block " + where).status == 0);
    CHECK(hook(shop, R"({"hook_event_name": "Stop"})", "--on-error block " + where).status == 0);
  }
}

TEST_CASE("no characters in its input bring a call past the guard", "[hook]") {
  const Workshop shop;
  const std::string begin =
      R"({"hook_event_name": "PreToolUse", "tool_name": "delete_all", "tool_input": {"x": ")";
  const std::string end = R"("}, "turn_id": "t-1"})";
  for (const char* text : {"a", R"(\ud800)", R"(\udc00\ud800)", "caf\351", "\xED\xA0\x80"}) {
    const Printed printed = hook(shop, begin + text + end);
    CHECK(decision(printed) == "deny");
    CHECK(printed.error.empty());
    CHECK(decision(hook(shop, begin + text + R"("}})")) == "ask");
  }
  const Printed shell = hook(shop, R"({"hook_event_name": "PreToolUse", "tool_name": "Bash",
                                       "tool_input": {"command": "rm -rf / #\ud800"}})");
  CHECK(decision(shell) == "deny");
}

TEST_CASE("a call that cannot be read is asked about, or denied where nobody can be asked",
          "[hook]") {
  const Workshop shop;
  for (const std::string begin : {R"({"hook_event_name": "PreToolUse", "tool_name": 5)",
                                  R"({"hook_event_name": "PreToolUse", "tool_name": "x", "y)"}) {
    const Printed asked = hook(shop, begin + "}");
    CHECK(asked.status == 0);
    CHECK(decision(asked) == "ask");
    CHECK(asked.error.starts_with("triage: "));
    CHECK(decision(hook(shop, begin + R"(, "turn_id": "t-1"})")) == "deny");
    CHECK(decision(hook(shop, begin + "}", "--guard none")) == "none");
    const Printed blocked = hook(shop, begin + "}", "--on-error block");
    CHECK(blocked.status == 2);
    CHECK(blocked.out.empty());
  }
}

TEST_CASE("a call that is nested too deep for a hook is asked about", "[hook]") {
  const Workshop shop;
  const std::string deep = R"({"hook_event_name": "PreToolUse", "tool_name": "x", "tool_input": )" +
                           std::string(300'000, '[') + std::string(300'000, ']') + "}";
  CHECK(hook(shop, deep).status == 0);
  CHECK(decision(hook(shop, deep)) == "ask");
  CHECK(hook(shop, deep, "--on-error block").status == 2);
}

TEST_CASE("wrong arguments of a hook do not mean that a call is blocked", "[hook]") {
  const Workshop shop;
  CHECK(hook(shop, call("Read", "x"), "--onerror block").status == 1);
  CHECK(hook(shop, call("Read", "x"), "--on-error maybe").status == 1);
}

TEST_CASE("a call that is made once is denied the second time, with its result", "[hook]") {
  const Workshop shop;
  std::ofstream(shop.file("pre")) << call("Send", "mail to 42");
  Json post = Json::parse(call("Send", "mail to 42"));
  post["hook_event_name"] = "PostToolUse";
  post["tool_response"] = {{"id", "receipt-7"}};
  std::ofstream(shop.file("post")) << post.dump();
  const std::string command = std::string(TRIAGE_COMMAND) + " hook --guard none --once Send";
  const Printed printed = shop.run(
      {"--run", "hook.once"},
      {shop.script("a", command + " < $W/pre > $W/first || exit 9\n" + command +
                            " < $W/pre > $W/meanwhile || exit 9\n" + command +
                            " < $W/post || exit 9\n" + command + " < $W/pre > $W/second\n")});
  INFO(printed.error);
  CHECK(printed.status == 0);
  CHECK(read_text(shop.file("first")).empty());
  CHECK_THAT(read_text(shop.file("meanwhile")), ContainsSubstring("nobody knows"));
  CHECK_THAT(read_text(shop.file("second")), ContainsSubstring("\"deny\""));
  CHECK_THAT(read_text(shop.file("second")), ContainsSubstring("receipt-7"));
}

TEST_CASE("a call that the guard asks about is made once, too", "[hook]") {
  const Workshop shop;
  const std::string tool = "mcp__mail__send";
  std::ofstream(shop.file("pre")) << call(tool, "mail to 42");
  std::ofstream(shop.file("codex")) << call(tool, "mail to 43", true);
  Json post = Json::parse(call(tool, "mail to 42"));
  post["hook_event_name"] = "PostToolUse";
  post["tool_response"] = {{"id", "receipt-7"}};
  std::ofstream(shop.file("post")) << post.dump();
  const std::string command = std::string(TRIAGE_COMMAND) + " hook --once " + tool;
  const Printed printed = shop.run(
      {"--run", "hook.asked"},
      {shop.script("a", command + " < $W/pre > $W/first || exit 9\n" + command +
                            " < $W/post || exit 9\n" + command + " < $W/pre > $W/second\n" +
                            command + " < $W/codex > $W/denied\n" + command +
                            " < $W/codex > $W/again\n")});
  INFO(printed.error);
  CHECK(printed.status == 0);
  CHECK_THAT(read_text(shop.file("first")), ContainsSubstring("\"ask\""));
  CHECK_THAT(read_text(shop.file("second")), ContainsSubstring("\"deny\""));
  CHECK_THAT(read_text(shop.file("second")), ContainsSubstring("receipt-7"));
  // What is denied has not begun.
  CHECK_THAT(read_text(shop.file("denied")), ContainsSubstring("somebody has to be asked"));
  CHECK(read_text(shop.file("denied")) == read_text(shop.file("again")));
}

TEST_CASE("a call that was cut off is asked about in the next attempt", "[hook]") {
  const Workshop shop;
  std::ofstream(shop.file("pre")) << call("Send", "mail to 42");
  const std::string command =
      std::string(TRIAGE_COMMAND) + " hook --guard none --once Send < $W/pre > $W/$TRIAGE_ATTEMPT";
  const Printed printed =
      shop.run({"--run", "hook.cut"},
               {shop.script("a", command + "\n[ $TRIAGE_ATTEMPT -gt 1 ] || kill -KILL $$")});
  CHECK(printed.status == 0);
  CHECK(read_text(shop.file("1")).empty());
  CHECK_THAT(read_text(shop.file("2")), ContainsSubstring("\"ask\""));
}

TEST_CASE("results of calls become steps, without the events of a print mode's end", "[hook]") {
  const Workshop shop;
  Json post = Json::parse(call("Bash", "make test"));
  post["hook_event_name"] = "PostToolUse";
  post["tool_response"] = {{"stdout", "ok"}};
  std::ofstream(shop.file("post")) << post.dump();
  const std::string command = std::string(TRIAGE_COMMAND) + " hook < $W/post";
  REQUIRE(shop.run({"--run", "hook.steps"}, {shop.script("a", command + "\n" + command)}).status ==
          0);
  auto store = SqliteStore::open(shop.store()).value();
  const auto records = store->read("hook.steps", {}).value().records;
  CHECK(std::count_if(records.begin(), records.end(),
                      [](const Record& record) { return record.kind() == RecordKind::step; }) == 2);
}

TEST_CASE("a call that failed becomes a step, and may have happened", "[hook]") {
  const Workshop shop;
  std::ofstream(shop.file("pre")) << call("Send", "mail to 42");
  Json failed = Json::parse(call("Send", "mail to 42"));
  failed["hook_event_name"] = "PostToolUseFailure";
  failed["error"] = "the connection was lost";
  std::ofstream(shop.file("failed")) << failed.dump();
  const std::string command = std::string(TRIAGE_COMMAND) + " hook --guard none --once Send";
  const Printed printed =
      shop.run({"--run", "hook.failed"},
               {shop.script("a", command + " < $W/pre\n" + command + " < $W/failed || exit 9\n" +
                                     command + " < $W/pre > $W/second\n")});
  INFO(printed.error);
  CHECK(printed.status == 0);
  CHECK_THAT(read_text(shop.file("second")), ContainsSubstring("nobody knows"));
  auto store = SqliteStore::open(shop.store()).value();
  const auto records = store->read("hook.failed", {}).value().records;
  const auto step = std::find_if(records.begin(), records.end(), [](const Record& record) {
    return record.kind() == RecordKind::step;
  });
  REQUIRE(step != records.end());
  CHECK_THAT(show(step->body().value()), ContainsSubstring("the connection was lost"));
}
