// SPDX-License-Identifier: MIT
// Guarantees of the JSON-file store only: readable lines, torn ends, segments, power loss.
#include "triage/stores/json_file.hpp"

#include "json_file/lines.hpp"
#include "stores/contract.hpp"
#include "support/catch.hpp"
#include "support/result.hpp"
#include "triage/compaction.hpp"
#include "triage/json.hpp"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <thread>

using namespace triage;
using namespace triage::test;

namespace {

struct JsonFiles {
  TempFolder folder{};
  JsonFileOptions options{};
  [[nodiscard]] std::shared_ptr<JsonFileStore> open() const {
    return JsonFileStore::open("file:" + folder.file("store"), options).value();
  }
  [[nodiscard]] std::string journal(const std::string& name) const {
    return folder.file("store/runs/" + name + ".jsonl");
  }
  [[nodiscard]] std::string text(const std::string& name = "run-1") const {
    std::ifstream file(journal(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void write(const std::string& bytes) const {
    std::ofstream(journal("run-1"), std::ios::binary | std::ios::trunc) << bytes;
  }
  // A released run of five records, the last three in one append.
  void tell() const {
    const auto store = open();
    Journal told("run-1");
    const std::vector<Record> first{started(told), step(told, "a")};
    const auto lease = store->start(run_info("run-1"), first).value();
    const std::vector<Record> batch{step(told, "b"), step(told, "c"), step(told, "d")};
    REQUIRE_OK(store->append(lease, batch, RunStatus::suspended));
  }
};

}  // namespace

TEST_CASE("every line of a journal is JSON that a person can read", "[stores][json_file]") {
  const JsonFiles in;
  in.tell();
  std::istringstream lines(in.text());
  std::vector<Json> all;
  for (std::string line; std::getline(lines, line);) all.push_back(Json::parse(line));
  REQUIRE(all.size() == 6);
  CHECK(all[0].at("triage") == "run");
  CHECK(all[0].at("agent") == "crawler");
  CHECK(all[1].at("kind") == "run_started");
  CHECK(all[1].at("body").at("task") == "fetch");
  CHECK(all[2].at("step").at("action") == "a");
  CHECK(all[5].at("status") == "suspended");
}

TEST_CASE("an owner that another host took for dead writes nothing more", "[stores][json_file]") {
  const JsonFiles in;
  const auto store = in.open();
  Journal told("run-1");
  const std::vector<Record> first{started(told)};
  const auto lease = store->start(run_info("run-1"), first).value();
  const detail::RunStand theirs{.status = RunStatus::running,
                                .epoch = lease.epoch + 1,
                                .owner = "elsewhere/1 4711 99 1",
                                .last = first.back().seq()};
  std::ofstream(in.journal("run-1"), std::ios::app) << detail::stand_line("run-1", theirs);
  const std::string before = in.text();
  const std::vector<Record> late{step(told, "late")};
  CHECK_ERRC(Errc::fenced, store->append(lease, late, RunStatus::running));
  CHECK_ERRC(Errc::fenced, store->renew(lease));
  CHECK(in.text() == before);
}

TEST_CASE("an owner whose run was replaced by one of the same length writes nothing more",
          "[stores][json_file]") {
  const JsonFiles in;
  const auto store = in.open();
  Journal told("run-1");
  const std::vector<Record> first{started(told)};
  const auto lease = store->start(run_info("run-1"), first).value();
  const std::string before = in.text();
  std::string theirs = detail::head_line({.info = run_info("run-1"), .birth = 1});
  while (theirs.size() < before.size()) {
    const detail::RunStand stand{
        .status = RunStatus::running, .epoch = 1, .owner = "elsewhere/1 4711 99 1"};
    theirs += detail::stand_line("run-1", stand);
  }
  in.write(theirs.substr(0, before.size()));
  const std::vector<Record> late{step(told, "late")};
  CHECK_ERRC(Errc::fenced, store->append(lease, late, RunStatus::running));
  CHECK(in.text() == theirs.substr(0, before.size()));
}

TEST_CASE("an owner writes nothing more once another host went on in the next file",
          "[stores][json_file]") {
  JsonFiles in;
  in.options.segment_bytes = 4096;
  const auto store = in.open();
  Journal told("run-1");
  const std::vector<Record> first{started(told)};
  const auto lease = store->start(run_info("run-1"), first).value();
  const std::vector<Record> large{step(told, std::string(5000, 'x'))};
  REQUIRE_OK(store->append(lease, large, RunStatus::running));
  const Json head = Json::parse(in.text().substr(0, in.text().find('\n')));
  const detail::RunStand theirs{.status = RunStatus::running,
                                .epoch = lease.epoch + 1,
                                .owner = "elsewhere/1 4711 99 1",
                                .last = large.back().seq()};
  std::ofstream(in.journal("run-1~2"))
      << detail::head_line({.info = run_info("run-1"),
                            .birth = head.at("birth").get<std::uint64_t>(),
                            .segment = 2})
      << detail::stand_line("run-1", theirs);
  const std::vector<Record> late{step(told, "late")};
  CHECK_ERRC(Errc::fenced, store->renew(lease));
  CHECK_ERRC(Errc::fenced, store->append(lease, late, RunStatus::running));
}

TEST_CASE("a lease in JSON files whose answer got lost does not lock the run for its own process",
          "[stores][json_file]") {
  const JsonFiles in;
  in.tell();
  const auto store = in.open();
  CHECK(store->acquire("run-1"));  // It has no owner any more.
  const auto lease = store->acquire("run-1");
  REQUIRE_OK(lease);
  CHECK_ERRC(Errc::busy, store->acquire("run-1"));
  CHECK(store->run("run-1").value().owned);
}

TEST_CASE("an append that was cut off anywhere was never there, and the next owner goes on",
          "[stores][json_file][crash]") {
  const JsonFiles in;
  in.tell();
  const std::string whole = in.text();
  std::size_t batch = 0;
  for (int line = 0; line < 3; ++line) batch = whole.find('\n', batch) + 1;
  for (std::size_t cut = batch; cut < whole.size(); ++cut) {
    in.write(whole.substr(0, cut));
    const auto store = in.open();
    const auto reading = store->read("run-1", {});
    REQUIRE_OK(reading);
    REQUIRE(reading.value().records.size() == 2);
    REQUIRE(reading.value().damaged.empty());
    REQUIRE(reading.value().info.last == 2);
    if (cut % 7 != 0) continue;
    if (cut > batch) REQUIRE(store->check().value().size() == 1);
    const auto lease = store->acquire("run-1");
    REQUIRE_OK(lease);
    CHECK(store->take_warning().empty() == (cut == batch));
    Journal told("run-1");
    static_cast<void>(started(told));
    static_cast<void>(step(told, "a"));
    const Record other = step(told, "another");
    REQUIRE_OK(store->append(lease.value(), {&other, 1}, RunStatus::running));
    CHECK(store->read("run-1", {}).value().records.size() == 3);
    CHECK(store->check().value().empty());
  }
}

TEST_CASE("every flipped bit of a journal is noticed, and no other record is lost",
          "[stores][json_file][damage]") {
  const JsonFiles in;
  in.tell();
  const std::string whole = in.text();
  const auto store = in.open();
  for (std::size_t at = 0; at < whole.size(); ++at) {
    if (whole[at] == '\n') continue;  // Two lines become one.
    std::string flipped = whole;
    flipped[at] = static_cast<char>(static_cast<unsigned char>(flipped[at]) ^ (1U << (at % 8)));
    in.write(flipped);
    const auto reading = store->read("run-1", {});
    REQUIRE_OK(reading);
    const auto& [info, records, damaged, superseded, from] = reading.value();
    INFO("byte " << at << " of " << whole.size());
    const bool in_head = at < whole.find('\n');
    REQUIRE(info.damaged == in_head);
    REQUIRE(records.size() == (in_head ? 5 : 4));
    REQUIRE(damaged.size() == (in_head ? 0 : 1));
  }
}

TEST_CASE("a long journal goes on in further files and is still one journal",
          "[stores][json_file]") {
  JsonFiles in;
  in.options.segment_bytes = 4096;
  in.options.durability = Durability::power;
  Journal told("run-1");
  const Record first = started(told);
  {
    const auto store = in.open();
    CHECK(store->capabilities().durability == Durability::power);
    const auto lease = store->start(run_info("run-1"), {&first, 1}).value();
    for (int i = 0; i < 100; ++i) {
      const Record next = step(told, "step " + std::to_string(i));
      REQUIRE_OK(store->append(lease, {&next, 1}, RunStatus::running));
    }
    REQUIRE_OK(store->release(lease));
  }
  CHECK(std::filesystem::exists(in.journal("run-1~4")));
  const auto store = in.open();
  CHECK(store->read("run-1", {}).value().records.size() == 101);
  CHECK(store->runs({}).value().size() == 1);
  REQUIRE_OK(store->acquire("run-1"));
  CHECK_ERRC(Errc::busy, in.open()->acquire("run-1"));
  const auto other = store->read("run-1", {99, 100}).value();
  CHECK(other.records.size() == 2);
}

TEST_CASE("an opening that was idle while others rewrote the keys reads them anew",
          "[stores][json_file]") {
  const JsonFiles in;
  const auto idle = in.open();
  const auto busy = in.open();
  const std::string large(100'000, 'x');
  const auto fill = [&](std::uint64_t version) {  // Until the log was rewritten.
    const auto path = in.folder.file("store/keys.jsonl");
    for (std::uintmax_t before = 0, size = 1; size > before; ++version) {
      before = std::filesystem::exists(path) ? std::filesystem::file_size(path) : 0;
      REQUIRE_OK(busy->put_if("space", "large", version, large));
      size = std::filesystem::file_size(path);
    }
    return version;
  };
  std::uint64_t large_version = fill(0);
  REQUIRE_OK(busy->put_if("space", "small", 0, "one"));
  REQUIRE(idle->get("space", "small").value()->bytes == "one");
  large_version = fill(large_version);
  REQUIRE_OK(busy->put_if("space", "small", 1, "two"));
  large_version = fill(large_version);  // A file system may now use the first file's number again.
  for (int i = 0; i < 4; ++i) REQUIRE_OK(busy->put_if("space", "large", large_version++, large));
  const auto seen = idle->get("space", "small");
  REQUIRE_OK(seen);
  REQUIRE(seen.value());
  CHECK(seen.value()->bytes == "two");
}

TEST_CASE("a reader is served however often the run is compacted meanwhile",
          "[stores][json_file]") {
  const JsonFiles in;
  const auto store = in.open();
  constexpr Sequence last = 2'000;
  Journal told("run-1");
  std::vector<Record> records{started(told)};
  while (records.size() < last) records.push_back(step(told, std::to_string(records.size())));
  const auto lease = store->start(run_info("run-1"), records).value();
  std::atomic<bool> done = false;
  std::thread compacting([&] {
    auto& runs = dynamic_cast<CompactsRuns&>(*store);
    const std::vector<SequenceRange> ranges{{2, 3}};
    const std::vector<Record> instead{records[2]};
    while (!done) static_cast<void>(runs.replace(lease, ranges, instead));
  });
  const auto reader = in.open();
  std::vector<Result<JournalReading>> readings;
  for (int i = 0; i < 10; ++i) readings.push_back(reader->read("run-1", {}));
  done = true;
  compacting.join();
  for (const auto& seen : readings) {
    REQUIRE_OK(seen);
    CHECK(seen.value().records.back().seq() == last);
  }
}

TEST_CASE("a store that is only looked at is left as it is", "[stores][json_file]") {
  JsonFiles in;
  in.tell();
  const std::string before = in.text();
  in.options.read_only = true;
  const auto store = in.open();
  CHECK(store->read("run-1", {}).value().records.size() == 5);
  CHECK_ERRC(Errc::unsupported, store->acquire("run-1"));
  CHECK_ERRC(Errc::unsupported, store->put_if("s", "k", 0, "x"));
  CHECK_ERRC(Errc::unsupported, store->erase("run-1"));
  CHECK(in.text() == before);
  CHECK_ERRC(Errc::not_found, JsonFileStore::open(in.folder.file("none"), in.options));
  CHECK_FALSE(std::filesystem::exists(in.folder.file("none")));
}

TEST_CASE("a folder whose mark says something odd is no store", "[stores][json_file]") {
  const TempFolder folder;
  for (const std::string mark :
       {R"({"triage":1})", R"({"triage":null,"format":1})", R"({"triage":["json_file"]})", "[]", "",
        R"({"triage":"json_file"})", R"({"triage":"json_file","format":-1})"}) {
    INFO(mark);
    std::ofstream(folder.file("store.json")) << mark;
    CHECK_ERRC(Errc::corrupt, JsonFileStore::open(folder.path().string()));
  }
}

TEST_CASE("somebody else's folder does not become a store", "[stores][json_file]") {
  const TempFolder folder;
  std::ofstream(folder.file("letter.txt")) << "dear reader";
  CHECK_ERRC(Errc::unsupported, JsonFileStore::open(folder.path().string()));
  CHECK_FALSE(std::filesystem::exists(folder.file("store.json")));
  CHECK_ERRC(Errc::invalid_argument, JsonFileStore::open("file:"));
  CHECK_ERRC(Errc::io, JsonFileStore::open(folder.file("letter.txt")));
  CHECK_ERRC(Errc::invalid_argument,
             JsonFileStore::open(folder.file("s"), {.lease_timeout = std::chrono::seconds(0)}));
}

TEST_CASE("a line of another run is no line of this one", "[stores][json_file][damage]") {
  const JsonFiles in;
  in.tell();
  std::filesystem::copy_file(in.journal("run-1"), in.journal("run-2"));
  const auto reading = in.open()->read("run-2", {});
  REQUIRE_OK(reading);
  CHECK(reading.value().records.empty());
  CHECK(reading.value().info.damaged);
  CHECK_ERRC(Errc::corrupt, in.open()->acquire("run-2"));
}

TEST_CASE("whatever a body holds, its line is JSON and gives back the same body",
          "[stores][json_file]") {
  const JsonFiles in;
  const auto store = in.open();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  Json odd = Json::object();
  odd[std::string("key \xFF")] = 1;
  const std::vector<Json> values{
      Json{{"whole", 1.0}, {"zero", -0.0}, {"large", 1e22}, {"small", 1.5e-7}, {"third", 1.0 / 3}},
      Json{{"least", std::numeric_limits<std::int64_t>::min()},
           {"most", std::numeric_limits<std::uint64_t>::max()},
           {"none", nullptr},
           {"yes", true},
           {"no", false}},
      Json{{"quotes", "a \"b\" \\ c/d"}, {"control", std::string("\x01\x1f\n\t\r\b\f\x7f\0z", 10)}},
      Json{{"eight plain", "12345678"}, {"then \"", "1234567\""}, {"\\", "12345678\\"}},
      Json{{"é", "日本語 😀 \xC2\x80 \xEF\xBF\xBD"},
           {"nested", {{"a", {1, {{"b", Json::array()}}}}}}},
      Json{{"overlong", "\xC0\xAF"}},
      Json{{"half", "\xED\xA0\x80"}},
      Json{{"cut", "\xE2\x82"}},
      Json{{"beyond", "\xF4\x90\x80\x80"}},
      Json{{"alone", "\x80"}},
      Json{{"number", nan}},
      odd,
      Json::object()};
  std::vector<Record> told;
  Sequence seq = 0;
  for (const Json& value : values) {
    told.emplace_back(++seq, RecordKind::state_changed, WallTime(),
                      std::make_shared<const Json>(value));
    std::string body;
    detail::encode_step(
        {.action = "act", .tool_input = value, .http_status = 503, .idempotent = true}, body);
    told.emplace_back(++seq, RecordKind::step, WallTime(),
                      std::make_shared<const std::string>(body));
    detail::encode_cbor(Json{{"a", "act"}, {"?", value}}, body = "");  // Of a later version.
    told.emplace_back(++seq, RecordKind::step, WallTime(),
                      std::make_shared<const std::string>(body));
  }
  REQUIRE_OK(store->start(run_info("run-1"), told));
  std::istringstream lines(in.text());
  for (std::string line; std::getline(lines, line);) CHECK_FALSE(Json::parse(line).is_discarded());
  const auto read = store->read("run-1", {}).value();
  CHECK(read.damaged.empty());
  REQUIRE(read.records.size() == told.size());
  for (std::size_t i = 0; i < told.size(); ++i) {
    INFO(in.text());
    std::string before;
    std::string after;
    detail::encode_cbor(told[i].body().value(), before);
    detail::encode_cbor(read.records[i].body().value(), after);
    CHECK(before == after);
  }
}
