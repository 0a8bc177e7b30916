// SPDX-License-Identifier: MIT
// Work that must grow no faster than what it is done for. Measured in processor time of the thread,
// as the ratio of a large case to one an eighth of its size: 8 if it is linear, 64 if quadratic.
// Times are no matter for a test: scripts/torture runs this.
#include "support/kit.hpp"
#include "support/result.hpp"
#include "triage/compaction.hpp"

#include <algorithm>
#include <ctime>

using namespace triage;
using namespace triage::test;

namespace {

double processor_seconds() {
  std::timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

template <class Work>
double fastest(const Work& work, std::size_t size) {
  double best = 1e9;
  for (int i = 0; i < 3; ++i) {
    const double before = processor_seconds();
    work(size);
    best = std::min(best, processor_seconds() - before);
  }
  return best;
}

// `size`: large enough for a few milliseconds.
template <class Work>
void check_linear(const Work& work, std::size_t size) {
  const double small = fastest(work, size);
  const double large = fastest(work, 8 * size);
  INFO(small << " s, and " << large << " s for eight times as much");
  CHECK(large < 24 * small);
}

std::shared_ptr<const Json> body(Json fields) {
  return std::make_shared<const Json>(std::move(fields));
}

}  // namespace

TEST_CASE("removing a key costs the same however many there are", "[bounds][linear]") {
  Kit kit;
  check_linear(
      [&](std::size_t size) {
        const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                                  Json all = Json::object();
                                  for (std::size_t i = 0; i < size; ++i) all[std::to_string(i)] = i;
                                  attempt.update_state(std::move(all));
                                  for (std::size_t i = 0; i < size; ++i) {
                                    attempt.remove_state(std::to_string(i));
                                  }
                                  return 1;
                                },
                                FailurePolicy(), kit.bare()};
        REQUIRE_OK(agent.run("x"));
      },
      500);
}

TEST_CASE("reading a run back that went on often costs what it is long", "[bounds][linear]") {
  check_linear(
      [](std::size_t size) {
        JournalReading reading{.info = {.id = "r"}};
        const auto add = [&](RecordKind kind, Json fields) {
          reading.records.emplace_back(reading.records.size() + 1, kind, WallTime(),
                                       body(std::move(fields)));
        };
        add(RecordKind::run_started, {{"agent", "a"}});
        for (std::size_t i = 0; i < size; ++i) {
          add(RecordKind::attempt_started, {{"number", i + 1}});
          add(RecordKind::state_changed, {{"at", i}});
          const Sequence here = reading.records.size();
          add(RecordKind::suspended, {{"waiting", true}});
          add(RecordKind::resumed, {{"to", here}});
        }
        reading.info.last = reading.records.size();
        const Journal journal = Journal::fold(reading).value();
        CHECK(journal.branch().size() == size);
      },
      5'000);
}

TEST_CASE("putting few records in the place of many costs what they are", "[bounds][linear]") {
  check_linear(
      [](std::size_t size) {
        const auto store = MemoryStore::create();
        std::vector<Record> records;
        std::vector<SequenceRange> ranges;
        std::vector<Record> instead;
        for (Sequence seq = 1; seq <= size; ++seq) {
          records.emplace_back(seq, RecordKind::usage, WallTime(), body(Json::object()));
          if (seq % 2 != 0) continue;
          ranges.push_back({seq, seq});
          instead.push_back(records.back());
        }
        const Lease lease = store->start({.id = "r"}, records).value();
        REQUIRE_OK(store->replace(lease, ranges, instead));
        CHECK(store->read("r", {}).value().records.size() == size);
        CHECK_ERRC(Errc::invalid_argument, store->replace(lease, ranges, {records.data(), 1}));
      },
      5'000);
}

TEST_CASE("looking at a run's newest record costs the same however long it is",
          "[bounds][linear]") {
  check_linear(
      [](std::size_t size) {
        const auto store = MemoryStore::create();
        std::vector<Record> records;
        for (Sequence seq = 1; seq <= size; ++seq) {
          records.emplace_back(seq, RecordKind::usage, WallTime(), body(Json::object()));
        }
        REQUIRE_OK(store->start({.id = "r"}, records));
        for (Sequence seq = 1; seq <= size; ++seq) {
          CHECK(store->read("r", {seq, seq}).value().records.size() == 1);
        }
      },
      2'000);
}
