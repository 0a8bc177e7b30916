// SPDX-License-Identifier: MIT
// Secrets in the output, reports and arguments of supervised programs.
#include "supervise/spec/redaction.hpp"

#include "supervise/running.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <fstream>

using namespace triage;
using namespace triage::supervise;
using namespace triage::test;

namespace {

// Made up; split so that nobody takes them for real ones.
const std::string token = std::string("ghp_") + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8";
const std::string plain = "correct-horse-battery-17";  // Does not look like a secret.

// Whether the text occurs anywhere in the store's files.
bool is_stored(const Workshop& shop, const std::string& text) {
  const auto files = std::filesystem::directory_iterator(shop.file("."));
  return std::any_of(begin(files), end(files), [&](const auto& file) {
    return file.path().filename().string().starts_with("runs.db") &&
           read_text(file.path()).find(text) != std::string::npos;
  });
}

// Sets a variable for child processes until the end of the scope.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    ::setenv(name, value.c_str(), 1);
  }
  ~Variable() { ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

}  // namespace

TEST_CASE("a secret that a program prints or reports is neither stored nor told", "[redaction]") {
  const Workshop shop;
  const Variable given("SHOP_API_TOKEN", plain);
  const std::string program =
      shop.script("p", "echo '{\"step\": {\"action\": \"call\", \"tool_input\": {\"header\": \"" +
                           token + "\"}, \"error\": \"refused: " + plain +
                           "\"}}' >&$TRIAGE_FD\n"
                           "echo 'HTTP 401 Unauthorized: the key " +
                           token + " (' $SHOP_API_TOKEN ') is not valid' >&2\nexit 3");
  const bool json = GENERATE(false, true);
  const Printed ran = shop.run(json ? std::vector<std::string>{"--run", "r", "--json"}
                                    : std::vector<std::string>{"--run", "r"},
                               {program});
  CHECK(ran.status == 3);
  CHECK_THAT(ran.error, ContainsSubstring("the key " + token));  // The program's own output.
  const std::string told = ran.error.substr(ran.error.find(json ? "{\"" : "triage: "));
  CHECK_THAT(told, ContainsSubstring("401"));
  CHECK_THAT(told, ContainsSubstring("[redacted]"));
  for (const std::string& secret : {token, plain}) {
    CHECK(told.find(secret) == std::string::npos);
    CHECK_FALSE(is_stored(shop, secret));
  }
  CHECK(is_stored(shop, "[redacted]"));
  const Json shown = Json::parse(shop.triage({"checkpoint", "show", "r", "--json"}).out);
  CHECK(shown["steps"][0]["tool_input"]["header"] == "[redacted]");
}

// A schema's breach quotes the value it found, cut.
TEST_CASE("a contract that judges a step stores no half of its secrets", "[redaction]") {
  const Workshop shop;
  std::string key;
  for (int i = 10; i < 60; ++i) key += "K9x7" + std::to_string(i);
  const Variable given("SHOP_API_TOKEN", key);
  std::ofstream(shop.file("contract.json"))
      << R"({"tools": [{"name": "pay", "input_schema": {"properties":)"
         R"( {"account": {"type": "integer"}}}}]})";
  const std::string program = shop.script(
      "p",
      "echo '{\"step\": {\"action\": \"pay\", \"tool_called\": \"pay\", \"tool_input\": "
      "{\"account\": \"'$SHOP_API_TOKEN'\"}}}' >&$TRIAGE_FD\necho 'bad account' >&2\nexit 1");
  const Printed ran = shop.run({"--run", "r", "--contract", shop.file("contract.json")}, {program});
  CHECK(ran.status == 1);
  CHECK(ran.error.find("K9x7") == std::string::npos);
  CHECK_FALSE(is_stored(shop, "K9x7"));
}

TEST_CASE("a secret of the environment is found as a number, as a name and with a newline behind",
          "[redaction]") {
  const Workshop shop;
  const Variable number("SHOP_API_TOKEN", "4711081512");
  const Variable spaced("SHOP_PASSWORD", plain + "\n");
  const std::string program = shop.script(
      "p",
      "echo '{\"step\": {\"action\": \"pay\", \"tool_input\": {\"account\": 4711081512, \"by\": "
      "{\"4711081512\": 1}}}}' >&$TRIAGE_FD\necho 'login with " +
          plain + " refused' >&2\nexit 1");
  CHECK(shop.run({"--run", "r"}, {program}).status == 1);
  CHECK_FALSE(is_stored(shop, "4711081512"));
  CHECK_FALSE(is_stored(shop, plain));
}

TEST_CASE("a command with a secret in it goes on unchanged, and is shown without", "[redaction]") {
  const Workshop shop;
  const std::string program =
      shop.script("p",
                  "if [ $TRIAGE_ATTEMPT = 1 ]; then\n"
                  "  echo 'HTTP 429 Too Many Requests, retry after 0.01 seconds' >&2; exit 1\nfi\n"
                  "echo \"$*\" > $W/arguments");
  const std::vector<std::string> command{program, "--token", plain, "--url",
                                         "https://app:" + plain + "@db.example/x"};
  CHECK(shop.run({"--run", "r", "--max-wait", "1ms", "--quiet"}, command).status == 75);
  CHECK(shop.run({"--run", "r", "--max-wait", "1ms", "--quiet"}, command).status != 1);
  static_cast<void>(shop.triage({"resume", "r", "--quiet"}));
  CHECK_THAT(read_text(shop.file("arguments")), ContainsSubstring("--token " + plain));
  for (const std::vector<std::string>& look : {std::vector<std::string>{"runs"},
                                               {"runs", "--json"},
                                               {"explain", "r"},
                                               {"explain", "r", "--json"},
                                               {"checkpoint", "show", "r"},
                                               {"checkpoint", "show", "r", "--json"}}) {
    const Printed shown = shop.triage(look);
    CHECK(shown.status == 0);
    CHECK(shown.out.find(plain) == std::string::npos);
  }
  CHECK_THAT(shop.triage({"explain", "r", "--json"}).out, ContainsSubstring("--token"));
}

TEST_CASE("what an effect printed and what a program keeps comes back as it was", "[redaction]") {
  const Workshop shop;
  const std::string program = shop.script(
      "p", "TRIAGE='" TRIAGE_COMMAND "'\n$TRIAGE effect login -- echo 'token=" + token +
               "' > $W/out$TRIAGE_ATTEMPT\n"
               "if [ $TRIAGE_ATTEMPT = 1 ]; then\n"
               "  $TRIAGE state set session=" +
               token +
               "\n  echo 'HTTP 429 Too Many Requests, retry after 0.01 seconds' >&2; exit 1\nfi\n"
               "$TRIAGE state get session > $W/session");
  CHECK(shop.run({"--run", "r", "--max-wait", "1ms", "--quiet"}, {program}).status == 75);
  CHECK(shop.triage({"resume", "r", "--quiet"}).status == 0);
  CHECK(read_text(shop.file("out2")) == "token=" + token + "\n");
  CHECK_THAT(read_text(shop.file("session")), ContainsSubstring(token));
  CHECK(shop.triage({"checkpoint", "show", "r"}).out.find(token) == std::string::npos);
  const Json shown = Json::parse(shop.triage({"checkpoint", "show", "r", "--json"}).out);
  CHECK(show(shown).find(token) == std::string::npos);
}

TEST_CASE("what an operator settles, edits and sends is shown without its secrets", "[redaction]") {
  const Workshop shop;
  const std::string value = R"("password=hunter2secret")";
  const std::string pays =
      shop.script("pays", "[ -e $W/dead ] || '" TRIAGE_COMMAND
                          "' effect pay -- sh -c \"touch $W/dead; kill -KILL \\$PPID\"");
  CHECK(shop.run({"--run", "settled", "--max-attempts", "1", "--quiet"}, {pays}).status != 0);
  CHECK(shop.triage({"settle", "settled", "pay", "done", value}).status == 0);
  CHECK(shop.triage({"fork", "settled@3", "--run", "edited", "--set", "session=" + value}).status ==
        0);
  std::vector<std::string> runs{"settled", "edited"};
  if (has_python()) {
    std::ofstream(shop.file("waits.py")) << R"(import sys, time
sys.path.insert(0, sys.argv[1])
import triage_client
triage_client.Supervisor().wait("approved", time.time() + 3600))";
    CHECK(shop.run({"--run", "sent", "--max-wait", "1ms", "--quiet"},
                   {"python3", shop.file("waits.py"), TRIAGE_SOURCE_DIR "/clients"})
              .status == 75);
    CHECK(shop.triage({"signal", "send", "sent", "approved", value}).status == 0);
    CHECK(shop.triage({"resume", "--due", "--quiet"}).status == 0);
    runs.emplace_back("sent");
  }
  REQUIRE(is_stored(shop, "hunter2secret"));
  for (const std::string& run : runs) {
    for (const std::vector<std::string>& look : {std::vector<std::string>{"explain", run},
                                                 {"explain", run, "--json"},
                                                 {"checkpoint", "show", run},
                                                 {"checkpoint", "show", run, "--json"}}) {
      const Printed shown = shop.triage(look);
      CHECK(shown.status == 0);
      CHECK_THAT(shown.out, !ContainsSubstring("hunter2secret"));
    }
    CHECK_THAT(shop.triage({"explain", run, "--json"}).out, ContainsSubstring("[redacted]"));
  }
}

TEST_CASE("what a program says is stored as it is with --redact none, also when the run goes on",
          "[redaction]") {
  const Workshop shop;
  const std::string program =
      shop.script("p", "echo 'HTTP 429 with " + token + ", retry after 0.01 seconds' >&2\nexit 1");
  CHECK(shop.run({"--redact", "none", "--run", "r", "--max-wait", "1ms", "--quiet"}, {program})
            .status == 75);
  CHECK(is_stored(shop, token));
  const Printed other = shop.run({"--run", "r"}, {program});
  CHECK(other.status == 2);
  CHECK_THAT(other.error, ContainsSubstring(", redact;"));
}

TEST_CASE("a pattern of one's own holds for the whole run, whoever goes on with it",
          "[redaction]") {
  const Workshop shop;
  const std::string program =
      shop.script("p",
                  "echo \"HTTP 429 for member 4711$TRIAGE_ATTEMPT, retry after 0.01 seconds\" >&2\n"
                  "[ $TRIAGE_ATTEMPT = 3 ]");
  CHECK(
      shop.run({"--redact-pattern", "member (\\d+)", "--run", "r", "--max-wait", "1ms", "--quiet"},
               {program})
          .status == 75);
  static_cast<void>(shop.triage({"resume", "r", "--quiet", "--max-wait", "1ms"}));
  CHECK_FALSE(is_stored(shop, "47111"));
  CHECK_FALSE(is_stored(shop, "47112"));
  CHECK(is_stored(shop, "for member [redacted], retry"));
}

TEST_CASE("a pattern that is none ends the command before anything runs", "[redaction]") {
  const Workshop shop;
  // Directly before "--" it takes nothing of the command.
  CHECK(shop.run({"--run", "s", "--redact-pattern", "member (\\d+)"}, {"sh", "-c", "exit 0"})
            .status == 0);
  const Printed refused = shop.run({"--redact-pattern", "(a"}, {"echo", "ran"});
  CHECK(refused.status == 2);
  CHECK(refused.out.empty());
  CHECK_THAT(refused.error, ContainsSubstring("RE2"));
}

TEST_CASE("no evidence quotes the beginning of a secret", "[redaction]") {
  const Workshop shop;
  // The text without its log head is quoted, up to a length that lies within the token.
  const std::string program = shop.script(
      "p", "echo '2026-11-20T10:00:00Z ERROR worker: HTTP 403 Forbidden for " +
               std::string(GENERATE(105U, 110U, 115U), '.') + " at " + token + "' >&2\nexit 1");
  CHECK(shop.run({"--max-attempts", "1", "--quiet"}, {program}).status == 1);
  CHECK(is_stored(shop, "Read without"));
  CHECK_FALSE(is_stored(shop, token.substr(0, 6)));
}

TEST_CASE("a secret whose beginning is lost with its line is lost, too", "[redaction]") {
  const Workshop shop;
  // The tail begins in the middle of the first line.
  const std::string program = shop.script(
      "p", "head -c 300 /dev/zero | tr '\\0' ' ' >&2\necho 'password=" + plain +
               "' >&2\nhead -c 16330 /dev/zero | tr '\\0' '.' >&2\necho >&2\necho broken >&2\n"
               "exit 1");
  CHECK(shop.run({"--max-attempts", "1", "--quiet"}, {program}).status == 1);
  CHECK(is_stored(shop, "broken"));
  CHECK_FALSE(is_stored(shop, plain.substr(4)));
}

TEST_CASE("only secrets of the environment are known by their values", "[redaction]") {
  const Variable secret("SOME_PASSWORD", plain);
  const Variable path("SSH_AUTH", "/tmp/ssh-x/agent.1");
  const std::string in_base_64 = "/kH8xTQ0aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY";
  const Variable slash("SOME_SECRET_KEY", in_base_64);
  const Variable brief("BASIC_AUTH", "true");
  const auto known = secrets_of_environment();
  CHECK(std::count(known.begin(), known.end(), plain) == 1);
  CHECK(std::count(known.begin(), known.end(), in_base_64) == 1);
  CHECK(std::count(known.begin(), known.end(), "/tmp/ssh-x/agent.1") == 0);
  CHECK(std::count(known.begin(), known.end(), "true") == 0);
}

TEST_CASE("a word is a secret by the option in front of it", "[redaction]") {
  const RunRedactor redactor{std::vector<std::string>{}};
  CHECK(without_secrets(std::vector<std::string>{"p", "--token", "x1y2z3", "--page", "7"},
                        redactor) ==
        std::vector<std::string>{"p", "--token", "[redacted]", "--page", "7"});
  CHECK(without_secrets(std::vector<std::string>{"curl", "-u", "me:x1y2z3"}, redactor).back() !=
        "me:x1y2z3");
}

TEST_CASE("a program whose effect is in doubt gets no secret of the store", "[run][redaction]") {
  const Workshop shop;
  const std::string store = "sqlite://" + shop.file("u:" + plain + "@runs.db");
  const std::string twice = shop.script("twice", "T='" TRIAGE_COMMAND R"('
for time in 1 2; do $T effect mail -- sh -c 'kill -KILL $PPID' 2> $W/said; done)");
  const Printed done =
      run_program({TRIAGE_COMMAND, "run", "--store", store, "--max-attempts", "1", "--", twice});
  const std::string said = read_text(shop.file("said"));
  CHECK_THAT(said, ContainsSubstring(" --store ") && ContainsSubstring("@runs.db") &&
                       !ContainsSubstring(plain));
  CHECK_THAT(done.error, !ContainsSubstring(plain));
}
