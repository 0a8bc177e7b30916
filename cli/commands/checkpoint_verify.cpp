// SPDX-License-Identifier: MIT
// triage checkpoint verify: reads everything and reports damaged or missing records, and problems
// of the file that lookups rely on. --repair sets aside what is lost.

#include "arguments/open_store.hpp"
#include "arguments/run_argument.hpp"
#include "arguments/store_argument.hpp"
#include "command.hpp"
#include "render/output.hpp"
#include "render/timeline.hpp"
#include "run_status.hpp"
#include "triage/detail/try.hpp"
#include "triage/journal.hpp"
#include "triage/repair.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace triage::inline v0_1::cli {
namespace {

struct VerifyArguments {
  StoreArgument where{};
  std::string store{};
  std::string run{};
  bool repair = false;
  bool json = false;
};

struct Verified {
  std::size_t runs = 0;
  std::size_t damaged_runs = 0;
  std::size_t records = 0;
  std::size_t damaged = 0;
  std::size_t unread_runs = 0;
  std::optional<Error> unread{};        // Why the first of these could not be read.
  std::size_t set_aside = 0;            // Of these, set aside by a repair, now or earlier.
  Json store_problems = Json::array();  // Of the file itself.
  Json findings = Json::array();
  Json repairs = Json::array();
  std::string text{};
};

using Problems = std::vector<std::pair<Sequence, std::string>>;

// Records that are missing at the end leave no hole.
bool is_without_end(const JournalReading& reading, const Journal& journal) {
  return reading.info.status == RunStatus::finished && journal.finished().is_null();
}

// What is lost and not set aside. Intact bytes may still be invalid: the fold finds holes and
// undecodable bodies.
Problems problems_of(const JournalReading& reading, const Result<Journal>& journal,
                     Verified& verified) {
  Problems problems;
  bool lost = false;
  for (const LostRecords& one : lost_records(reading)) {
    lost = true;
    const auto number = static_cast<std::size_t>(one.last - one.first + 1);
    verified.damaged += number;
    if (one.set_aside) {
      verified.set_aside += number;
    } else {
      problems.emplace_back(one.first, one.why);
    }
  }
  if (reading.info.damaged) problems.emplace_back(0, "the run's row does not match its checksum");
  if (!journal) {
    problems.emplace_back(1, journal.error().detail);
  } else if (journal.value().broken_at() && problems.empty() && !lost) {
    problems.emplace_back(*journal.value().broken_at(), "the record is not readable");
  } else if (is_without_end(reading, journal.value()) && problems.empty() && !lost) {
    problems.emplace_back(0,
                          "the run has finished, but the record of that is missing: its result is "
                          "lost, and `triage fork` can get it again from a checkpoint");
  }
  return problems;
}

void verify_run(const JournalReading& reading, Verified& verified) {
  ++verified.runs;
  verified.records += reading.records.size() + reading.damaged.size();
  const auto journal = Journal::fold(reading);
  const Problems problems = problems_of(reading, journal, verified);
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

// "record 7 (step)", "records 8 to 9".
std::string place_of(const LostRecords& lost) {
  if (lost.first != lost.last) {
    return "records " + std::to_string(lost.first) + " to " + std::to_string(lost.last);
  }
  return "record " + std::to_string(lost.first) +
         (lost.kind ? " (" + std::string(to_string(*lost.kind)) + ")" : "");
}

// Sets aside what a run has lost, and reports that or why it failed.
void repair(CheckpointStore& store, const RunId& run, Verified& verified) {
  const auto repaired = repair_run(store, run);
  if (repaired && repaired.value().lost.empty()) return;
  verified.text += "Run " + printable(run) + ":\n";
  if (!repaired) {
    verified.text += "  Not repaired: " + printable(repaired.error().detail) + "\n";
    verified.repairs.push_back({{"run", run}, {"problem", repaired.error().detail}});
    return;
  }
  Json lost = Json::array();
  for (const LostRecords& one : repaired.value().lost) {
    verified.text += "  Set aside: " + place_of(one) + ": " + printable(one.why) + "\n";
    lost.push_back({{"first", one.first}, {"last", one.last}, {"why", one.why}});
    if (one.kind) lost.back()["kind"] = to_string(*one.kind);
  }
  const std::string newest = to_string(repaired.value().newest);
  verified.text += "  It goes on from " + printable(newest) + ".\n";
  if (repaired.value().effects_in_doubt) {
    verified.text +=
        "  The intent of an effect may be among them: effects that are not recorded are in doubt, "
        "not undone.\n";
  }
  verified.repairs.push_back({{"run", run},
                              {"set_aside", std::move(lost)},
                              {"newest_intact", newest},
                              {"effects_in_doubt", repaired.value().effects_in_doubt}});
}

bool needs_repair(const JournalReading& reading) {
  const auto lost = lost_records(reading);
  return std::any_of(lost.begin(), lost.end(),
                     [](const LostRecords& one) { return !one.set_aside; });
}

// A run that cannot be read at all, for example because its id is damaged: the others still can.
// Where the environment refuses, such as without permission, nothing is known to be damaged.
void note_unreadable(const RunInfo& run, const Error& error, Verified& verified) {
  const bool damaged = error.code == Errc::corrupt || error.code == Errc::invalid_argument;
  ++verified.runs;
  ++(damaged ? verified.damaged_runs : verified.unread_runs);
  if (!damaged && !verified.unread) verified.unread = error;
  verified.text += "Run " + printable(run.id) + " (" +
                   (damaged ? status_text(run) : std::string("not read")) + "):\n  " +
                   printable(error.detail) +
                   (damaged ? "\n  Nothing of this run can be restored.\n" : "\n");
  verified.findings.push_back({{"run", run_json(run)},
                               {"damaged", Json::array({{{"seq", 0}, {"problem", error.detail}}})},
                               {"newest_intact", nullptr}});
}

Result<void> repair_itself(CheckpointStore& store, Verified& verified) {
  const auto repaired = repair_store(store);
  if (!repaired && repaired.error().code != Errc::corrupt) return repaired.error();
  // Damage that stays is a finding of check().
  if (!repaired || repaired.value().empty()) return outcome::success();
  verified.text += "The store:\n";
  for (const std::string& one : repaired.value()) {
    verified.text += "  Set aside: " + printable(one) + "\n";
  }
  verified.repairs.push_back({{"store", repaired.value()}});
  return outcome::success();
}

Result<void> check_store(CheckpointStore& store, Verified& verified) {
  auto problems = store.check();
  if (!problems && problems.error().code != Errc::corrupt) return problems.error();
  if (!problems) problems = std::vector<std::string>{problems.error().detail};
  if (problems.value().empty()) return outcome::success();
  verified.text += "The store:\n";
  for (const std::string& problem : problems.value()) {
    verified.text += "  " + printable(problem) + "\n";
    verified.store_problems.push_back(printable(problem));
  }
  return outcome::success();
}

Result<Verified> verify(const VerifyArguments& arguments) {
  TRIAGE_TRY(store, arguments.repair ? open_store_to_change(arguments.store)
                                     : open_store_to_read(arguments.store));
  Verified verified;
  if (!arguments.run.empty()) {
    TRIAGE_TRY(reading, read_run(*store, arguments.run));
    if (arguments.repair && needs_repair(reading)) {
      repair(*store, reading.info.id, verified);
      TRIAGE_TRY(after, store->read(reading.info.id, {}));
      reading = std::move(after);
    }
    verify_run(reading, verified);
    return outcome::success(std::move(verified));
  }
  TRIAGE_TRY(runs, store->runs({.limit = 0}));
  for (const RunInfo& run : runs) {
    auto reading = store->read(run.id, {});
    if (reading && arguments.repair && needs_repair(reading.value())) {
      repair(*store, run.id, verified);
      reading = store->read(run.id, {});
    }
    if (reading) {
      verify_run(reading.value(), verified);
    } else if (reading.error().code != Errc::not_found) {  // Erased after it was listed.
      note_unreadable(run, reading.error(), verified);
    }
  }
  if (arguments.repair) {
    TRIAGE_TRYV(repair_itself(*store, verified));
  }
  TRIAGE_TRYV(check_store(*store, verified));
  return outcome::success(std::move(verified));
}

}  // namespace

std::function<ExitStatus()> checkpoint_verify(CLI::App& arguments) {
  auto given = std::make_shared<VerifyArguments>();
  declare_store(arguments, given->where);
  arguments.add_option("--run", given->run, "Only this run.")->check(not_empty());
  arguments.add_flag("--repair", given->repair,
                     "Set aside what is damaged or missing: it stays where it is, is never used, "
                     "and is not a finding any more.");
  arguments.add_flag("--json", given->json, "Print one JSON document.");
  arguments.footer(
      "Example: triage checkpoint verify --repair\n\n"
      "A repair appends one record that names what is lost. The run goes "
      "on from its newest good\ncheckpoint; effects behind it are not done "
      "again, and one whose intent may be lost is in doubt. Damaged keys of a folder "
      "of JSON files\nare moved to keys.damaged; they are then as before, or missing.");
  return [given] {
    const auto meant = meant_store(given->where);
    if (!meant) return report(meant.error());
    given->store = meant.value().store;
    const auto result = verify(*given);
    if (!result) return report(result.error());
    const Verified& verified = result.value();
    const bool damaged = verified.damaged_runs > 0 || !verified.store_problems.empty();
    const bool intact = !damaged && !verified.unread;
    if (given->json) {
      print_json(Json{{"store", without_secrets(given->store)},
                      {"intact", intact},
                      {"runs", verified.runs},
                      {"damaged_runs", verified.damaged_runs},
                      {"unread_runs", verified.unread_runs},
                      {"records", verified.records},
                      {"damaged_records", verified.damaged},
                      {"set_aside", verified.set_aside},
                      {"repairs", verified.repairs},
                      {"store_problems", verified.store_problems},
                      {"findings", verified.findings}});
    } else {
      print(verified.text);
      const std::string aside =
          verified.set_aside == 0
              ? "all intact"
              : "intact but for " + counted(verified.set_aside, "record") + " set aside";
      const std::string unread =
          verified.unread ? "; " + counted(verified.unread_runs, "run") + " could not be read" : "";
      print(counted(verified.runs, "run") + ", " + counted(verified.records, "record") + " read: " +
            (!damaged ? aside
                      : counted(verified.damaged, "damaged record") + " in " +
                            counted(verified.damaged_runs, "run") +
                            (verified.store_problems.empty()
                                 ? ""
                                 : "; " + counted(verified.store_problems.size(), "problem") +
                                       " of the store itself")) +
            unread + ".\n");
    }
    if (damaged) return ExitStatus::corrupt;
    return verified.unread ? report(*verified.unread) : ExitStatus::done;
  };
}

}  // namespace triage::inline v0_1::cli
