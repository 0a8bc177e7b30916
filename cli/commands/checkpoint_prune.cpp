// SPDX-License-Identifier: MIT
// triage checkpoint prune: removes old runs.

#include "arguments/open_store.hpp"
#include "arguments/store_argument.hpp"
#include "command.hpp"
#include "render/output.hpp"
#include "triage/detail/try.hpp"
#include "triage/policies/duration.hpp"
#include "triage/retention.hpp"

#include <charconv>
#include <cstdint>
#include <memory>
#include <utility>

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
  return Error{Errc::invalid_argument,
               std::string(option) + " is \"" + printable(text) + "\"; allowed is a whole number"};
}

Result<RetentionRule> rule_of(const CheckpointPruneArguments& given) {
  RetentionRule rule{.keep_labelled = !given.labelled, .only_ended = !given.unended};
  if (given.older_than.empty() && given.keep.empty() && given.keep_bytes.empty()) {
    return Error{Errc::invalid_argument,
                 "say what goes: --older-than, --keep, --keep-bytes, or several of them"};
  }
  if (!given.older_than.empty()) {
    const auto age = parse_duration(given.older_than);
    if (!age) return Error{age.error().code, "--older-than: " + age.error().detail};
    rule.keep_since = real_clock()->wall_now() -
                      std::chrono::duration_cast<std::chrono::milliseconds>(age.value());
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

ExitStatus tell_what_would_go(const CheckpointPruneArguments& given, const std::string& where,
                              CheckpointStore& store, const RetentionRule& rule) {
  const auto going = prunable(store, rule);
  if (!going) return report(going.error());
  if (given.json) {
    Json ids = Json::array();
    for (const RunInfo& run : going.value()) ids.push_back(run.id);
    print_json(Json{{"store", where}, {"removable", std::move(ids)}});
    return ExitStatus::done;
  }
  for (const RunInfo& run : going.value()) print(run.id + "\n");
  warn(counted(going.value().size(), "run") + " would be removed");
  return ExitStatus::done;
}

ExitStatus prune_store(const CheckpointPruneArguments& given) {
  const auto rule = rule_of(given);
  if (!rule) return report(rule.error());
  const auto meant = meant_store(given.where);
  if (!meant) return report(meant.error());
  const std::string where = without_secrets(meant.value().store);
  const auto store =
      given.dry ? open_store(meant.value().store) : open_store_to_change(meant.value().store);
  if (!store) return report(store.error());
  if (given.dry) return tell_what_would_go(given, where, *store.value(), rule.value());
  const auto gone = prune(*store.value(), rule.value());
  if (!gone) return report(gone.error());
  if (given.json) {
    print_json(Json{{"store", where}, {"removed", gone.value()}});
  } else {
    print(counted(gone.value(), "run") + (gone.value() == 1 ? " is" : " are") + " removed.\n");
  }
  return ExitStatus::done;
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
  arguments.footer(std::string("Example: triage checkpoint prune --older-than 30d\n\n"
                               "A run goes if one of the rules says so. One that a living process "
                               "holds never goes.\n\n") +
                   exit_status_help());
  return [given] { return prune_store(*given); };
}

}  // namespace triage::inline v0_1::cli
