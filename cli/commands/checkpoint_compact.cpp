// SPDX-License-Identifier: MIT
// triage checkpoint compact: removes checkpoints of a run, and the records they needed.

#include "arguments/duration_argument.hpp"
#include "arguments/open_store.hpp"
#include "arguments/run_argument.hpp"
#include "arguments/store_argument.hpp"
#include "command.hpp"
#include "render/output.hpp"
#include "triage/compaction.hpp"
#include "triage/detail/try.hpp"

#include <limits>
#include <memory>
#include <utility>

namespace triage::inline v0_1::cli {
namespace {

struct CheckpointCompactArguments {
  StoreArgument where{};
  std::size_t keep = 100;
  std::uint64_t bytes = 0;
  std::string younger_than{};
  bool json = false;
};

Result<CompactionRule> compaction_rule_of(const CheckpointCompactArguments& given) {
  CompactionRule rule{
      .max_checkpoints = given.keep, .max_bytes = given.bytes, .only_smaller = true};
  if (given.younger_than.empty()) return outcome::success(rule);
  TRIAGE_TRY(age, duration_argument("--younger-than", given.younger_than));
  rule.keep_since =
      real_clock()->wall_now() - std::chrono::duration_cast<std::chrono::milliseconds>(age);
  return outcome::success(rule);
}

// meant: its run is named in full afterwards.
Result<Compaction> compact(const CheckpointCompactArguments& given, StoreAndRun& meant) {
  TRIAGE_TRY(rule, compaction_rule_of(given));
  TRIAGE_TRY(store, open_store_to_change(meant.store));
  TRIAGE_TRY(run, in_full(*store, meant.run));
  meant.run = std::move(run);
  return compact_run(*store, meant.run, rule);
}

ExitStatus compact_and_tell(const CheckpointCompactArguments& given) {
  auto meant = meant_run(given.where);
  if (!meant) return report(meant.error());
  const auto done = compact(given, meant.value());
  if (!done) return report(done.error());
  const Compaction& all = done.value();
  if (given.json) {
    print_json(Json{{"store", without_secrets(meant.value().store)},
                    {"run", meant.value().run},
                    {"checkpoints", {{"before", all.checkpoints_before}, {"now", all.checkpoints}}},
                    {"records", {{"before", all.records_before}, {"now", all.records}}},
                    {"bytes", {{"before", all.bytes_before}, {"now", all.bytes}}}});
    return ExitStatus::done;
  }
  print(counted(all.checkpoints, "checkpoint") + " of " + std::to_string(all.checkpoints_before) +
        ", " + counted(all.records, "record") + " of " + std::to_string(all.records_before) + ", " +
        std::to_string(all.bytes) + " bytes of " + std::to_string(all.bytes_before) + " stay.\n");
  if (all.checkpoints == all.checkpoints_before && all.checkpoints > given.keep) {
    print("Nothing was removed: --help names the checkpoints that stay.\n");
  } else if (all.checkpoints > given.keep) {
    print("More than " + std::to_string(given.keep) +
          " stay: those with the state of another, too, and others that --help names.\n");
  }
  return ExitStatus::done;
}

}  // namespace

std::function<ExitStatus()> checkpoint_compact(CLI::App& arguments) {
  auto given = std::make_shared<CheckpointCompactArguments>();
  declare_store(arguments, given->where, "The run.");
  arguments
      .add_option("--keep", given->keep,
                  "The newest checkpoints of each branch that surely stay; older ones go with the "
                  "states that only they need. Default: 100.")
      ->check(whole_number(1, 1'000'000'000));
  arguments
      .add_option("--bytes", given->bytes,
                  "Fewer stay where the run would take more bytes than this; one of each "
                  "branch always does.")
      ->check(whole_number(0, std::numeric_limits<std::int64_t>::max()));
  arguments
      .add_option("--younger-than", given->younger_than,
                  "Those that were made within this time stay besides, such as 7d.")
      ->check(not_empty());
  arguments.add_flag("--json", given->json, "Print one JSON document.");
  arguments.footer(
      "Example: triage checkpoint compact 01JDZ3…8XQ --keep 10\n\n"
      "What goes are state changes that later ones replace, and the checkpoints between them. So\n"
      "checkpoints with the same state as one that stays stay, too, as do those with a label,\n"
      "those that the run went back to, and all where the run would get no smaller without them:\n"
      "steps are never removed. A run that a living process holds is left alone. An SQLite file\n"
      "keeps its size and is used again.");
  return [given] { return compact_and_tell(*given); };
}

}  // namespace triage::inline v0_1::cli
