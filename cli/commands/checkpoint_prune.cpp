// SPDX-License-Identifier: MIT
// triage checkpoint prune: removes old runs.

#include "command.hpp"
#include "open_store.hpp"
#include "render/output.hpp"
#include "store_argument.hpp"
#include "triage/policies/duration.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace triage::inline v0_1::cli {
namespace {

struct Arguments {
  StoreArgument where{};
  std::string older_than{};
  std::string keep{};
  bool unended = false;
  bool json = false;
};

Result<Retention> retention_of(const Arguments& given) {
  Retention retention{.only_ended = !given.unended};
  if (given.older_than.empty() && given.keep.empty()) {
    return Error{Errc::invalid_argument, "say what goes: --older-than, --keep or both"};
  }
  if (!given.older_than.empty()) {
    const auto age = parse_duration(given.older_than);
    if (!age) return Error{age.error().code, "--older-than: " + age.error().detail};
    retention.keep_since = real_clock()->wall_now() -
                           std::chrono::duration_cast<std::chrono::milliseconds>(age.value());
  }
  if (!given.keep.empty()) {
    const bool digits = std::all_of(given.keep.begin(), given.keep.end(),
                                    [](char c) { return c >= '0' && c <= '9'; });
    if (!digits || given.keep.size() > 9) {
      return Error{Errc::invalid_argument, "--keep is \"" + printable(given.keep) +
                                               "\"; allowed is a number of 0 to 999999999"};
    }
    retention.keep_newest = std::stoul(given.keep);
  }
  return retention;
}

ExitStatus prune(const Arguments& given) {
  const auto retention = retention_of(given);
  if (!retention) return report(retention.error());
  const auto meant = meant_store(given.where);
  if (!meant) return report(meant.error());
  const auto store = open_store_to_change(meant.value().store);
  if (!store) return report(store.error());
  const auto gone = store.value()->prune(retention.value());
  if (!gone) return report(gone.error());
  if (given.json) {
    print_json(Json{{"store", meant.value().store}, {"removed", gone.value()}});
  } else {
    print(count(gone.value(), "run") + (gone.value() == 1 ? " is" : " are") + " removed.\n");
  }
  return ExitStatus::done;
}

}  // namespace

std::function<ExitStatus()> checkpoint_prune(CLI::App& arguments) {
  auto given = std::make_shared<Arguments>();
  declare_store(arguments, given->where);
  arguments.add_option("--older-than", given->older_than,
                       "Runs that nothing was recorded of for so long, such as 30d.");
  arguments.add_option("--keep", given->keep, "All but the newest N runs of each agent.");
  arguments.add_flag("--unended", given->unended,
                     "Runs that wait, or whose process died, may go as well.");
  arguments.add_flag("--json", given->json, "Print one JSON document.");
  arguments.footer(std::string("Example: triage checkpoint prune --older-than 30d\n\n"
                               "With both, a run goes if either says so. A run that a living "
                               "process holds never goes.\n\n") +
                   exit_status_help());
  return [given] { return prune(*given); };
}

}  // namespace triage::inline v0_1::cli
