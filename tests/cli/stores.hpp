// SPDX-License-Identifier: MIT
#pragma once
// The stores used in the command's tests, and the command itself.

#include "support/program.hpp"
#include "support/result.hpp"
#include "triage/stores/sqlite.hpp"
#include "triage/triage.hpp"

#include <sqlite3.h>

#include <string>
#include <utility>
#include <vector>

namespace triage::test {

inline Printed triage_command(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), TRIAGE_COMMAND);
  return run_program(arguments);
}

inline Json json_of(const Printed& printed) {
  INFO(printed.out << printed.error);
  Json document = Json::parse(printed.out, nullptr, false);
  REQUIRE(document.is_object());
  return document;
}

// Two runs: "good" fails once with status 429, continues from its third step and finishes; "lost"
// is escalated with an effect in doubt.
inline void make_store(const std::string& path) {
  auto store = SqliteStore::open(path);
  REQUIRE_OK(store);
  TriageAgent agent{
      [](const std::string& task, Attempt& attempt) -> Result<std::string> {
        if (attempt.number() == 1) {
          attempt.record_step({.action = "plan", .llm_output = "first \xFF then"});
          attempt.update_state({{"plan", "caf\xE9"}});
          static_cast<void>(attempt.checkpoint("planned"));
          attempt.record_step({.action = "fetch",
                               .tool_called = "http_get",
                               .tool_input = {{"url", task}},
                               .error = "HTTP 429",
                               .http_status = 429});
          return attempt.fail({.text = "HTTP 429: too many requests", .http_status = 429});
        }
        attempt.effect("charge:42", [] { return 7; });
        attempt.record_step({.action = "fetch", .tool_called = "http_get", .http_status = 200});
        attempt.update_state({{"page", 1}});
        return std::string("done");
      },
      FailurePolicy().otherwise(rollback({.label = "planned"})),
      {.name = "crawler", .store = store.value()}};
  REQUIRE_OK(agent.run("https://example.org", {.run_id = "good", .label = "nightly"}));

  TriageAgent lost{[](const std::string&, Attempt& attempt) {
                     attempt.effect("mail:1", []() -> int { throw std::runtime_error("reset"); });
                   },
                   FailurePolicy().otherwise(escalate("Ask somebody.")),
                   {.name = "mailer", .store = store.value()}};
  CHECK_ERRC(Errc::escalated, lost.run("x", {.run_id = "lost"}));
}

// Runs SQL on the file behind the store's back.
inline void tamper(const std::string& path, const std::string& sql) {
  sqlite3* database = nullptr;
  REQUIRE(sqlite3_open(path.c_str(), &database) == SQLITE_OK);
  char* problem = nullptr;
  const int status = sqlite3_exec(database, sql.c_str(), nullptr, nullptr, &problem);
  INFO((problem != nullptr ? problem : ""));
  CHECK(status == SQLITE_OK);
  sqlite3_free(problem);
  sqlite3_close(database);
}

}  // namespace triage::test
