// SPDX-License-Identifier: MIT
// triage checkpoint prune: removes old runs.

#include "arguments/duration_argument.hpp"
#include "arguments/open_store.hpp"
#include "arguments/store_argument.hpp"
#include "arguments/store_place.hpp"
#include "command.hpp"
#include "programs/run_session.hpp"
#include "render/output.hpp"
#include "supervise/workspace/forget.hpp"
#include "triage/detail/try.hpp"
#include "triage/retention.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace triage::inline v0_1::cli {
namespace {

struct CheckpointPruneArguments {
  StoreArgument where{};
  std::string older_than{};
  std::string keep{};
  std::string keep_bytes{};
  bool labelled = false;
  bool unended = false;
  bool dry = false;
  bool json = false;
};

Result<std::uint64_t> number_of(const std::string& text, const char* option) {
  std::uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  if (read.ec == std::errc() && read.ptr == end) return outcome::success(number);
  return Error{Errc::invalid_argument, std::string(option) + " is \"" + printable(text) +
                                           "\"; allowed is a whole number, 0 or more"};
}

Result<RetentionRule> rule_of(const CheckpointPruneArguments& given) {
  RetentionRule rule{.keep_labelled = !given.labelled, .only_ended = !given.unended};
  if (given.older_than.empty() && given.keep.empty() && given.keep_bytes.empty()) {
    return Error{Errc::invalid_argument,
                 "say what goes: --older-than, --keep, --keep-bytes, or several of them"};
  }
  if (!given.older_than.empty()) {
    TRIAGE_TRY(age, duration_argument("--older-than", given.older_than));
    rule.keep_since =
        real_clock()->wall_now() - std::chrono::duration_cast<std::chrono::milliseconds>(age);
  }
  if (!given.keep.empty()) {
    TRIAGE_TRY(number, number_of(given.keep, "--keep"));
    rule.keep_newest = number;
  }
  if (!given.keep_bytes.empty()) {
    TRIAGE_TRY(number, number_of(given.keep_bytes, "--keep-bytes"));
    rule.keep_bytes = number;
  }
  return outcome::success(rule);
}

// Says of each run that cannot be read at all, for example because its id is damaged, that it
// stays.
ExitStatus tell_unreadable(CheckpointStore& store, const std::vector<RunInfo>& runs) {
  ExitStatus status = ExitStatus::done;
  for (const RunInfo& run : runs) {
    if (!run.damaged) continue;
    const auto read = store.run(run.id);
    if (read || read.error().code == Errc::not_found) continue;
    warn("run \"" + printable(run.id) + "\" is damaged and stays: " + read.error().detail);
    status = ExitStatus::corrupt;
  }
  return status;
}

ExitStatus tell_what_would_go(const CheckpointPruneArguments& given, const std::string& where,
                              CheckpointStore& store, const RetentionRule& rule) {
  const auto going = prunable(store, rule);
  if (!going) return report(going.error());
  const auto all = store.runs({.limit = 0});
  if (!all) return report(all.error());
  const ExitStatus status = tell_unreadable(store, all.value());
  if (given.json) {
    Json ids = Json::array();
    for (const RunInfo& run : going.value()) ids.push_back(run.id);
    print_json(Json{{"store", where}, {"removable", std::move(ids)}});
    return status;
  }
  for (const RunInfo& run : going.value()) print(run.id + "\n");
  warn(counted(going.value().size(), "run") + " would be removed");
  return status;
}

std::set<RunId> ids_of(const std::vector<RunInfo>& runs) {
  std::set<RunId> ids;
  for (const RunInfo& run : runs) ids.insert(run.id);
  return ids;
}

// Removes what the workspaces of runs that are gone kept, and returns of how many. Whether that
// works is no matter of the store.
std::size_t forget_files_of(const std::vector<RunId>& gone, const std::string& store_url,
                            CheckpointStore& store) {
  const auto forgotten =
      supervise::forget_files({.shadows = shadow_folder(),
                               .store = store_place(store_url),
                               .runs = gone,
                               .is_gone = [&store](const RunId& run) {
                                 const auto found = store.run(run);
                                 return !found && found.error().code == Errc::not_found;
                               }});
  for (const Error& problem : forgotten.problems) {
    warn("the files that removed runs have kept are not all removed: " + problem.detail);
  }
  return forgotten.runs.size();
}

ExitStatus prune_store(const CheckpointPruneArguments& given) {
  const auto rule = rule_of(given);
  if (!rule) return report(rule.error());
  const auto meant = meant_store(given.where);
  if (!meant) return report(meant.error());
  const std::string where = without_secrets(meant.value().store);
  const auto store = given.dry ? open_store_to_read(meant.value().store)
                               : open_store_to_change(meant.value().store);
  if (!store) return report(store.error());
  if (given.dry) return tell_what_would_go(given, where, *store.value(), rule.value());
  const auto listed = store.value()->runs({.limit = 0});
  if (!listed) return report(listed.error());
  const std::set<RunId> before = ids_of(listed.value());
  const ExitStatus status = tell_unreadable(*store.value(), listed.value());
  const auto removed = prune(*store.value(), rule.value());
  std::vector<RunId> gone;  // Also of a removal that stopped halfway.
  if (const auto still = store.value()->runs({.limit = 0}); still) {
    const std::set<RunId> after = ids_of(still.value());
    std::set_difference(before.begin(), before.end(), after.begin(), after.end(),
                        std::back_inserter(gone));
  }
  const std::size_t with_files = forget_files_of(gone, meant.value().store, *store.value());
  if (!removed) return report(removed.error());
  if (given.json) {
    print_json(Json{{"store", where}, {"removed", removed.value()}, {"files_removed", with_files}});
    return status;
  }
  print(counted(removed.value(), "run") + (removed.value() == 1 ? " is" : " are") + " removed" +
        (with_files > 0 ? ", with the files of " + std::to_string(with_files) : "") + ".\n");
  return status;
}

}  // namespace

std::function<ExitStatus()> checkpoint_prune(CLI::App& arguments) {
  auto given = std::make_shared<CheckpointPruneArguments>();
  declare_store(arguments, given->where);
  arguments
      .add_option("--older-than", given->older_than,
                  "Runs that nothing was recorded of for so long, such as 30d.")
      ->check(not_empty());
  arguments.add_option("--keep", given->keep, "All but the newest N runs of each agent.")
      ->check(not_empty());
  arguments
      .add_option("--keep-bytes", given->keep_bytes,
                  "All but the newest runs whose records take no more than N bytes together.")
      ->check(not_empty());
  arguments.add_flag("--labelled", given->labelled, "Runs with a label may go as well.");
  arguments.add_flag("--unended", given->unended,
                     "Runs that wait, or whose process died, may go as well.");
  arguments.add_flag("--dry-run", given->dry, "Only say which runs would go.");
  arguments.add_flag("--json", given->json, "Print one JSON document.");
  arguments.footer(
      "Example: triage checkpoint prune --older-than 30d\n\n"
      "A run goes if one of the rules says so. One that a living process "
      "holds never goes. What it kept of its --workspace goes "
      "with it.");
  return [given] { return prune_store(*given); };
}

}  // namespace triage::inline v0_1::cli
