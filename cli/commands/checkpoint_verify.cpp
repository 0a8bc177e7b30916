// SPDX-License-Identifier: MIT
// triage checkpoint verify: reads everything and says which records are damaged or missing, and
// what is wrong with the file that lookups rely on.

#include "command.hpp"
#include "open_store.hpp"
#include "render/narrative.hpp"
#include "render/output.hpp"
#include "store_argument.hpp"
#include "triage/detail/try.hpp"
#include "triage/journal.hpp"

#include <memory>
#include <utility>

namespace triage::inline v0_1::cli {
namespace {

struct VerifyArguments {
  StoreArgument where{};
  std::string store{};
  std::string run{};
  bool json = false;
};

struct Verified {
  std::size_t runs = 0;
  std::size_t damaged_runs = 0;
  std::size_t records = 0;
  std::size_t damaged = 0;
  Json store_problems = Json::array();  // Of the file itself.
  Json findings = Json::array();
  std::string text{};
};

// Bytes can be right and yet make no sense: the fold finds holes and bodies that do not decode.
void verify_run(const JournalReading& reading, Verified& verified) {
  ++verified.runs;
  verified.records += reading.records.size() + reading.damaged.size();
  verified.damaged += reading.damaged.size();
  std::vector<std::pair<Sequence, std::string>> problems;
  for (const DamagedRecord& damaged : reading.damaged) {
    problems.emplace_back(damaged.seq, damaged.error.detail);
  }
  for (const SequenceRange& range : missing_records(reading)) {
    verified.damaged += range.last - range.first + 1;
    problems.emplace_back(range.first, range.first == range.last
                                           ? "the record is missing"
                                           : "the records from here to " +
                                                 std::to_string(range.last) + " are missing");
  }
  if (reading.info.damaged) problems.emplace_back(0, "the run's row does not match its checksum");
  const auto journal = Journal::fold(reading);
  if (!journal) {
    problems.emplace_back(1, journal.error().detail);
  } else if (journal.value().broken_at() && problems.empty()) {
    problems.emplace_back(*journal.value().broken_at(), "the record is not readable");
  }
  if (problems.empty()) return;
  ++verified.damaged_runs;
  Json entries = Json::array();
  verified.text += "Run " + printable(reading.info.id) + " (" + status_text(reading.info) + "):\n";
  for (const auto& [seq, why] : problems) {
    entries.push_back({{"seq", seq}, {"problem", why}});
    verified.text +=
        "  " + (seq == 0 ? "" : "record " + std::to_string(seq) + ": ") + printable(why) + "\n";
  }
  Json newest = nullptr;
  if (journal) {
    newest = to_string(journal.value().latest().info.id);
    verified.text += "  The newest position that can be restored is " +
                     printable(newest.get<std::string>()) + ".\n";
  } else {
    verified.text += "  Nothing of this run can be restored.\n";
  }
  verified.findings.push_back({{"run", run_json(reading.info)},
                               {"damaged", std::move(entries)},
                               {"newest_intact", std::move(newest)}});
}

// A run that cannot be read at all, for example because its id is damaged: the others still can.
void note_unreadable(const RunInfo& run, const Error& error, Verified& verified) {
  ++verified.runs;
  ++verified.damaged_runs;
  verified.text += "Run " + printable(run.id) + " (" + status_text(run) + "):\n  " +
                   printable(error.detail) + "\n  Nothing of this run can be restored.\n";
  verified.findings.push_back({{"run", run_json(run)},
                               {"damaged", Json::array({{{"seq", 0}, {"problem", error.detail}}})},
                               {"newest_intact", nullptr}});
}

void check_store(CheckpointStore& store, Verified& verified) {
  auto problems = store.check();
  if (!problems) problems = std::vector<std::string>{problems.error().detail};
  if (problems.value().empty()) return;
  verified.text += "The store:\n";
  for (const std::string& problem : problems.value()) {
    verified.text += "  " + printable(problem) + "\n";
    verified.store_problems.push_back(printable(problem));
  }
}

Result<Verified> verify(const VerifyArguments& arguments) {
  TRIAGE_TRY(store, open_store(arguments.store));
  Verified verified;
  if (!arguments.run.empty()) {
    TRIAGE_TRY(reading, read_run(*store, arguments.run));
    verify_run(reading, verified);
    return outcome::success(std::move(verified));
  }
  TRIAGE_TRY(runs, store->runs({.limit = 0}));
  for (const RunInfo& run : runs) {
    auto reading = store->read(run.id, {});
    if (reading) {
      verify_run(reading.value(), verified);
    } else if (reading.error().code != Errc::not_found) {  // Erased since it was listed.
      note_unreadable(run, reading.error(), verified);
    }
  }
  check_store(*store, verified);
  return outcome::success(std::move(verified));
}

}  // namespace

std::function<ExitStatus()> checkpoint_verify(CLI::App& arguments) {
  auto given = std::make_shared<VerifyArguments>();
  declare_store(arguments, given->where);
  arguments.add_option("--run", given->run, "Only this run.");
  arguments.add_flag("--json", given->json, "Print one JSON document.");
  return [given] {
    const auto meant = meant_store(given->where);
    if (!meant) return report(meant.error());
    given->store = meant.value().store;
    const auto result = verify(*given);
    if (!result) return report(result.error());
    const Verified& verified = result.value();
    const bool intact = verified.damaged_runs == 0 && verified.store_problems.empty();
    if (given->json) {
      print_json(Json{{"store", without_secrets(given->store)},
                      {"intact", intact},
                      {"runs", verified.runs},
                      {"damaged_runs", verified.damaged_runs},
                      {"records", verified.records},
                      {"damaged_records", verified.damaged},
                      {"store_problems", verified.store_problems},
                      {"findings", verified.findings}});
    } else {
      print(verified.text);
      print(count(verified.runs, "run") + ", " + count(verified.records, "record") + " read: " +
            (intact ? "all intact.\n"
                    : count(verified.damaged, "damaged record") + " in " +
                          count(verified.damaged_runs, "run") +
                          (verified.store_problems.empty()
                               ? ".\n"
                               : "; " + count(verified.store_problems.size(), "problem") +
                                     " of the store itself.\n")));
    }
    return intact ? ExitStatus::done : ExitStatus::corrupt;
  };
}

}  // namespace triage::inline v0_1::cli
