// SPDX-License-Identifier: MIT
#include "triage/stores/interchange.hpp"

#include "stores/contract.hpp"
#include "support/catch.hpp"
#include "support/result.hpp"
#include "support/temp_folder.hpp"
#include "triage/stores/json_file.hpp"
#include "triage/stores/memory.hpp"
#include "triage/stores/open_store.hpp"
#include "triage/testing/flaky_store.hpp"
#include "triage/triage.hpp"

#include <sstream>

using namespace triage;
using namespace triage::test;

namespace {

// Runs of all kinds: one that failed and finished, one that waits for a decision and has a label,
// one that was only started, and one with bytes that are not UTF-8.
void fill(const std::shared_ptr<CheckpointStore>& store) {
  TriageAgent agent{[](const std::string& task, Attempt& attempt) -> Result<std::string> {
                      attempt.record_step({.action = "plan", .llm_output = "first \xFF then"});
                      attempt.update_state({{"page", 1}, {"plan", "caf\xE9"}});
                      attempt.effect("charge:42", [] { return 7; });
                      if (attempt.number() == 1) return attempt.fail({.text = "HTTP 503"});
                      return task;
                    },
                    FailurePolicy().otherwise(retry({.max_attempts = 3})),
                    {.name = "crawler", .store = store}};
  REQUIRE_OK(agent.run("https://example.org", {.run_id = "good", .label = "nightly"}));
  TriageAgent asks{[](const std::string&, Attempt& attempt) -> Result<std::string> {
                     attempt.record_step({.action = "ask"});
                     return attempt.fail({.text = "who knows"});
                   },
                   FailurePolicy().otherwise(suspend()),
                   {.name = "asks", .store = store}};
  CHECK_ERRC(Errc::suspended, asks.run("task", {.run_id = "waits"}));
  REQUIRE_OK(asks.signal("waits", "answer", 42));
  const auto lease = store->start({.id = "empty", .agent = "none", .started = WallTime()}, {});
  REQUIRE_OK(lease);
  REQUIRE_OK(store->release(lease.value()));
}

std::string exported(CheckpointStore& store, std::vector<RunId> runs = {}) {
  std::ostringstream out;
  REQUIRE_OK(export_runs(store, runs, out));
  return out.str();
}

std::string body_of(const Record& record) {
  std::string body;
  record.encode_body(body);
  return body;
}

void check_same(CheckpointStore& a, CheckpointStore& b) {
  const auto runs = a.runs({.limit = 0}).value();
  REQUIRE(b.runs({.limit = 0}).value().size() == runs.size());
  for (const RunInfo& info : runs) {
    INFO(info.id);
    const JournalReading one = a.read(info.id, {}).value();
    const JournalReading other = b.read(info.id, {}).value();
    CHECK(one.info.agent == other.info.agent);
    CHECK(one.info.label == other.info.label);
    CHECK(one.info.parent == other.info.parent);
    CHECK(one.info.status == other.info.status);
    CHECK(one.info.started == other.info.started);
    CHECK(one.info.updated == other.info.updated);
    CHECK(one.info.last == other.info.last);
    CHECK_FALSE(other.info.owned);
    REQUIRE(one.records.size() == other.records.size());
    for (std::size_t i = 0; i < one.records.size(); ++i) {
      CHECK(one.records[i].seq() == other.records[i].seq());
      CHECK(one.records[i].kind() == other.records[i].kind());
      CHECK(one.records[i].time() == other.records[i].time());
      CHECK(body_of(one.records[i]) == body_of(other.records[i]));
    }
  }
}

}  // namespace

TEST_CASE("runs go from any store to any other and lose nothing", "[stores][interchange]") {
  const TempFolder folder;
  const std::string from = GENERATE("sqlite:", "file:", "memory:");
  const std::string to = GENERATE("sqlite:", "file:", "memory:");
  INFO(from << " to " << to);
  const auto place = [&](const std::string& scheme, const char* name) {
    return scheme == "memory:" ? scheme : scheme + folder.file(name);
  };
  const auto source = open_store(place(from, "a")).value();
  const auto target = open_store(place(to, "b")).value();
  fill(source);
  std::istringstream in(exported(*source));
  const auto done = import_runs(*target, in);
  REQUIRE_OK(done);
  CHECK(done.value().runs.size() == 3);
  check_same(*source, *target);
  // Exporting again gives the same file.
  CHECK(exported(*target, {"good", "waits"}) == exported(*source, {"good", "waits"}));
}

TEST_CASE("a suspended run can be decided where it was imported", "[stores][interchange]") {
  const auto source = MemoryStore::create();
  const auto target = MemoryStore::create();
  const auto make = [](const std::shared_ptr<CheckpointStore>& store) {
    return TriageAgent{[](const std::string&, Attempt& attempt) -> Result<std::string> {
                         if (attempt.number() == 1) return attempt.fail({.text = "who knows"});
                         return std::string("done");
                       },
                       FailurePolicy().otherwise(suspend()),
                       {.name = "asks", .store = store}};
  };
  const auto suspended = make(source).run("task", {.run_id = "waits"});
  CHECK_ERRC(Errc::suspended, suspended);
  const std::string token = suspended.error().suspension()->token;
  std::istringstream in(exported(*source));
  REQUIRE_OK(import_runs(*target, in));
  CHECK(make(target).decide(token, RecoveryAction::retry()).value() == "done");
  CHECK_ERRC(Errc::not_found, make(target).decide(token, RecoveryAction::retry()));
}

TEST_CASE("an export that is cut anywhere, or changed, is refused and nothing is written",
          "[stores][interchange]") {
  const auto source = MemoryStore::create();
  fill(source);
  const std::string whole = exported(*source);
  const auto refused = [&](const std::string& text) {
    const auto target = MemoryStore::create();
    std::istringstream in(text);
    const auto done = import_runs(*target, in);
    CHECK_ERRC(Errc::corrupt, done);
    CHECK(target->runs({}).value().empty());
    CHECK(target->list("triage/signals", "").value().empty());
  };
  for (std::size_t size = 0; size < whole.size(); size += 97) refused(whole.substr(0, size));
  refused(whole.substr(0, whole.size() - 1));
  for (std::size_t at = 0; at < whole.size(); at += 61) {
    std::string changed = whole;
    changed[at] = changed[at] == 'x' ? 'y' : 'x';
    refused(changed);
  }
  refused(whole + "{}\n");
  std::string newer = whole;
  newer.replace(newer.find("\"format\":1"), 10, "\"format\":9");
  std::istringstream in(newer);
  CHECK_ERRC(Errc::unsupported, import_runs(*MemoryStore::create(), in));
}

TEST_CASE("a run that is there already is not written over", "[stores][interchange]") {
  const auto source = MemoryStore::create();
  fill(source);
  const auto target = MemoryStore::create();
  const auto lease = target->start({.id = "waits", .agent = "other"}, {});
  REQUIRE_OK(lease);
  std::istringstream in(exported(*source));
  CHECK_ERRC(Errc::conflict, import_runs(*target, in, {.leave_same = true}));
  CHECK(target->runs({}).value().size() == 1);
  REQUIRE_OK(target->release(lease.value()));
  REQUIRE_OK(target->erase("waits"));
  std::istringstream first(exported(*source));
  REQUIRE_OK(import_runs(*target, first));
  std::istringstream again(exported(*source));
  const auto done = import_runs(*target, again, {.leave_same = true});
  REQUIRE_OK(done);
  CHECK(done.value().left_out == 3);
  CHECK(done.value().runs.empty());
  check_same(*source, *target);
}

TEST_CASE("an import that the store cannot finish leaves nothing behind", "[stores][interchange]") {
  const auto source = MemoryStore::create();
  fill(source);
  const std::string whole = exported(*source);
  int failed = 0;
  for (std::uint64_t n = 1;; ++n) {
    const auto inner = MemoryStore::create();
    const auto flaky = testing::FlakyStore::around(inner);
    flaky->fail_nth(n);
    std::istringstream in(whole);
    const auto done = import_runs(*flaky, in);
    if (flaky->failures() == 0) break;
    // A failure without consequences: the request is repeated.
    if (done) continue;
    ++failed;
    CHECK_ERRC(Errc::io, done);
    CHECK(inner->runs({}).value().empty());
  }
  CHECK(failed > 10);
}

TEST_CASE("an export whose values are nested without end is refused and ends nobody",
          "[stores][interchange]") {
  const std::size_t depth = GENERATE(1'000U, 1'000'000U);
  std::string deep(depth, '[');
  deep.append(depth, ']');
  std::string text =
      "{\"triage\":\"export\",\"format\":1}\n"
      "{\"run\":\"deep\",\"agent\":\"a\",\"label\":\"\",\"parent\":\"\",\"status\":\"finished\","
      "\"started_ms\":1,\"updated_ms\":1,\"last\":1}\n"
      "{\"seq\":1,\"kind\":\"state_changed\",\"time_ms\":1,\"body\":{\"page\":" +
      deep + "}}\n";
  text += "{\"runs\":1,\"records\":1,\"crc32c\":" + std::to_string(detail::crc32c(text)) + "}\n";
  const auto target = MemoryStore::create();
  std::istringstream in(text);
  CHECK_ERRC(Errc::corrupt, import_runs(*target, in));
  CHECK(target->runs({}).value().empty());
}
