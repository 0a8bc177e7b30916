// SPDX-License-Identifier: MIT
// Stores and observers behind a redactor never receive a secret.
#include "triage/stores/redacting.hpp"

#include "stores/conforming.hpp"
#include "support/catch.hpp"
#include "support/program.hpp"
#include "support/result.hpp"
#include "triage/agent.hpp"
#include "triage/journal.hpp"
#include "triage/observers/redacting.hpp"
#include "triage/policies/stop.hpp"
#include "triage/stores/memory.hpp"
#include "triage/stores/sqlite.hpp"
#include "triage/testing/conformance.hpp"

#include <filesystem>
#include <functional>

using namespace triage;
using namespace triage::test;
using namespace triage::testing;

namespace {

const std::string secret = "sk_live_4eC39HqLyjWDarjtT1zdp7dc";

using Agent = TriageAgent<std::function<Result<Json>(const Json&, Attempt&)>, Json>;

// Leaks the secret everywhere it can.
Agent careless(const std::shared_ptr<CheckpointStore>& store, AgentOptions options = {}) {
  options.store = store;
  return {
      [](const Json&, Attempt& attempt) -> Result<Json> {
        attempt.record_step({.action = "call " + secret,
                             .tool_called = "http_get",
                             .tool_input = {{"headers", {{"Authorization", secret}}}},
                             .tool_output = "you sent " + secret,
                             .llm_output = secret,
                             .error = "401 for " + secret,
                             .exception_type = "Refused " + secret,
                             .agent_id = "of " + secret,
                             .metadata = {{"password", "plain"}}});
        attempt.update_state({{"note", "the key is " + secret}, {"page", 2}});
        const auto made = attempt.effect("login", [] { return Json{{"token", secret}}; });
        if (made["token"] != secret) return attempt.fail({.text = "lost"});
        if (attempt.number() == 1) {
          return attempt.fail({.text = "HTTP 503 for https://u:" + secret + "@h/",
                               .exception_type = "Refused " + secret,
                               .type = FailureType::external_fault,
                               .reason = "no " + secret});
        }
        return Json{{"api_key", secret}, {"pages", 2}};
      },
      FailurePolicy().otherwise(Strategy(
          "again", [](const FailureContext&) { return RecoveryAction::retry("try " + secret); })),
      std::move(options)};
}

std::string everything_of(CheckpointStore& store) {
  std::string text;
  const std::vector<RunInfo> runs = store.runs({.limit = 0}).value();
  for (const RunInfo& run : runs) {
    const JournalReading reading = store.read(run.id, {}).value();
    for (const Record& record : reading.records) {
      text += show(record.body().value()) + "\n";
    }
  }
  return text;
}

std::shared_ptr<RedactingStore> around(const std::shared_ptr<CheckpointStore>& store,
                                       const RedactionScope& scope = {}) {
  return RedactingStore::around(store, common_secrets(), scope).value();
}

}  // namespace

TEST_CASE("a store behind a redactor is told no secret, and the run goes on with it",
          "[redaction][stores]") {
  const auto inner = MemoryStore::create();
  const auto result = careless(around(inner)).run(Json{{"url", "https://u:" + secret + "@h/"}});
  REQUIRE_OK(result);
  CHECK(result.value()["api_key"] == secret);  // The value in memory is unchanged.
  const std::string stored = everything_of(*inner);
  INFO(stored);
  CHECK(stored.find(secret) == std::string::npos);
  CHECK(stored.find("plain") == std::string::npos);
  CHECK_THAT(stored, ContainsSubstring("call [redacted]"));
  CHECK_THAT(stored, ContainsSubstring("\"page\":2"));
  CHECK_THAT(stored, ContainsSubstring("https://u:[redacted]@h/"));
  CHECK_THAT(stored, ContainsSubstring("login"));
}

TEST_CASE("what the library finds again by its value is stored as it is", "[redaction][stores]") {
  const auto store = around(MemoryStore::create());
  const std::string key = "mail " + secret;  // A name with the look of a secret.
  const TriageAgent agent{[&](const Json&, Attempt& attempt) -> Result<Json> {
                            attempt.effect(key, [] { return 1; });
                            return attempt.fail({.text = "stopped"});
                          },
                          FailurePolicy().otherwise(escalate("Look.")),
                          {.store = store}};
  CHECK_ERRC(Errc::escalated, agent.run(Json(1), {.run_id = "r"}));
  const auto journal = Journal::fold(store->read("r", {}).value());
  REQUIRE_OK(journal);
  CHECK(journal.value().effect(key).status == EffectState::Status::completed);
}

TEST_CASE("the name of a step's files is no secret", "[redaction][stores]") {
  const std::string files(40, 'a');
  const auto secrets = common_secrets({.known = {files, "a secret", "text"}});
  const auto store = RedactingStore::around(MemoryStore::create(), secrets).value();
  const TriageAgent agent{
      [&](const Json&, Attempt& attempt) -> Result<Json> {
        attempt.record_step(
            {.action = "a",
             .metadata = {{"triage/files", files}, {"value", files}, {"other", "text"}}});
        attempt.record_step({.action = "b", .metadata = {{"triage/files", "a secret"}}});
        return Json(1);
      },
      FailurePolicy(),
      {.store = store}};
  REQUIRE_OK(agent.run(Json(1), {.run_id = "r"}));
  std::vector<Json> kept;
  const JournalReading reading = store->read("r", {}).value();
  for (const Record& record : reading.records) {
    if (record.kind() == RecordKind::step) kept.push_back(record.body().value()["m"]);
  }
  REQUIRE(kept.size() == 2);
  CHECK(kept[0].value("triage/files", "") == files);
  CHECK(show(kept[0]).find("text") == std::string::npos);
  CHECK(kept[0].value("value", "") != files);
  CHECK(show(kept[1]).find("a secret") == std::string::npos);
}

TEST_CASE("what a later process needs may be left out", "[redaction][stores]") {
  const auto inner = MemoryStore::create();
  const auto store = around(inner, {.tasks = false, .state = false, .results = false});
  const Json task{{"token", secret}};
  REQUIRE_OK(careless(store).run(task, {.run_id = "r"}));
  CHECK(careless(store).run(task, {.run_id = "r"}).value()["api_key"] == secret);
  const std::string stored = everything_of(*inner);
  CHECK_THAT(stored, ContainsSubstring("the key is " + secret));
  CHECK(stored.find("call " + secret) == std::string::npos);
}

TEST_CASE("signals are redacted on their way", "[redaction][stores]") {
  const auto inner = MemoryStore::create();
  const Agent agent = careless(around(inner));
  REQUIRE_OK(agent.signal("r", "go", Json{{"password", secret}, {"ok", true}}));
  const auto kept = inner->get("triage/signals", inner->list("triage/signals", "").value().at(0));
  CHECK(kept.value()->bytes.find(secret) == std::string::npos);
  REQUIRE_OK(agent.signal("r", "plain", Json("yes")));
  REQUIRE_OK(agent.signal("r", "plain", Json("yes")));
}

// The library itself cuts texts: messages, evidence, values that do not fit a schema.
TEST_CASE("no half of a long known secret is stored", "[redaction][stores]") {
  std::string key;
  for (int i = 10; i < 60; ++i) key += "K9x7" + std::to_string(i);
  const auto inner = MemoryStore::create();
  const auto store = RedactingStore::around(inner, common_secrets({.known = {key}})).value();
  const AgentContract contract{
      .tools = {
          {.name = "pay",
           .input_schema = Json::parse(R"({"properties": {"account": {"type": "integer"}}})")}}};
  const TriageAgent agent{
      [&](const Json&, Attempt& attempt) -> Result<Json> {
        attempt.record_step(
            {.action = "pay", .tool_called = "pay", .tool_input = {{"account", key}}});
        return attempt.fail({.text = "\x1b[31msent " + key + " and it was refused\x1b[0m"});
      },
      FailurePolicy().otherwise(escalate()),
      {.store = store, .contract = contract}};
  CHECK_ERRC(Errc::escalated, agent.run(Json(1)));
  const std::string stored = everything_of(*inner);
  INFO(stored);
  CHECK_THAT(stored, ContainsSubstring("sent [redacted]"));
  CHECK(stored.find("K9x7") == std::string::npos);
}

TEST_CASE("numbers and names of the library's own records stay as they are",
          "[redaction][stores]") {
  class Digits final : public Redactor {
   public:
    [[nodiscard]] std::string text(std::string_view text) const override {
      const bool number = text.find_first_not_of("0123456789") == std::string_view::npos;
      return number || text == "type" || text == "kind" ? "[redacted]" : std::string(text);
    }
  };
  const auto inner = MemoryStore::create();
  const auto store = RedactingStore::around(inner, std::make_shared<Digits>()).value();
  const TriageAgent agent{
      [](const Json&, Attempt& attempt) -> Result<Json> {
        attempt.record_step({.action = "a", .tool_input = {{"card", 4111111111111111}}});
        attempt.update_state({{"note", {{"card", 4111111111111111}}}});
        return attempt.fail({.text = "stopped"});
      },
      FailurePolicy().otherwise(suspend({.until = WallTime(std::chrono::hours(600'000))})),
      {.store = store}};
  CHECK_ERRC(Errc::suspended, agent.run(Json{{"card", 4111111111111111}}, {.run_id = "r"}));
  REQUIRE_OK(Journal::fold(store->read("r", {}).value()));
  const std::string stored = everything_of(*inner);
  INFO(stored);
  CHECK(stored.find("4111111111111111") == std::string::npos);
  CHECK_THAT(stored, ContainsSubstring(std::to_string(600'000LL * 3'600'000)));
}

TEST_CASE("an observer behind a redactor is told no secret", "[redaction]") {
  std::string told;
  const auto listens = observe([&told](const Event& event) {
    told += std::string(event.text) + "\n";
    if (event.error != nullptr) told += event.error->detail + "\n";
    if (event.action != nullptr) told += describe(*event.action) + "\n";
    if (event.step != nullptr) {
      told += event.step->exception_type.value_or("") + event.step->agent_id.value_or("");
      told += event.step->action + show(event.step->tool_input) + event.step->error.value_or("");
    }
    if (event.failure == nullptr) return;
    told += event.failure->text + event.failure->task;
    for (const Evidence& one : event.failure->classification.evidence) told += one.detail;
    for (const Step& step : event.failure->trajectory) told += show(step.tool_output);
    told += event.failure->classification.reason + event.failure->exception_type +
            event.failure->classification.leaning.reason +
            event.failure->incomplete_subgoal.value_or("");
    for (const HistoryEntry& one : event.failure->history) told += one.reason;
  });
  REQUIRE_OK(careless(nullptr, {.observer = redacted(listens, common_secrets())})
                 .run(Json{{"url", "https://u:" + secret + "@h/"}}));
  INFO(told);
  CHECK(told.find(secret) == std::string::npos);
  CHECK_THAT(told, ContainsSubstring("you sent [redacted]"));
  CHECK_THAT(told, ContainsSubstring("try [redacted]"));
}

TEST_CASE("a redactor that throws keeps the record from being stored", "[redaction][stores]") {
  class Throwing final : public Redactor {
   public:
    [[nodiscard]] std::string text(std::string_view) const override {
      throw std::runtime_error("no");
    }
  };
  const auto store =
      RedactingStore::around(MemoryStore::create(), std::make_shared<Throwing>()).value();
  CHECK_FALSE(careless(store, {.on_store_error = OnStoreError::fail}).run(Json("x")));
  CHECK_ERRC(Errc::invalid_argument, RedactingStore::around(nullptr, common_secrets()));
  CHECK_ERRC(Errc::invalid_argument, RedactingStore::around(MemoryStore::create(), nullptr));
}

TEST_CASE("a redacting store does all that a store does", "[redaction][stores][conformance]") {
  const ConformanceReport report = conformance(
      [](const std::filesystem::path& folder) -> Result<std::shared_ptr<CheckpointStore>> {
        auto store = SqliteStore::open((folder / "store.db").string());
        if (!store) return store.error();
        return std::shared_ptr<CheckpointStore>(around(store.value()));
      },
      {.name = "redacting SQLite"});
  expect_full(report);
}
