// SPDX-License-Identifier: MIT
// triage replay: replays a stored run against another policy, or re-runs it with one change.

#include "triage/lab/replay.hpp"
#include "arguments/open_store.hpp"
#include "arguments/read_policy.hpp"
#include "arguments/store_argument.hpp"
#include "command.hpp"
#include "programs/confirm_run.hpp"
#include "render/output.hpp"
#include "render/timeline.hpp"
#include "supervise/spec/spec.hpp"
#include "supervise/supervisor.hpp"

#include <memory>
#include <optional>

namespace triage::inline v0_1::cli {
namespace {

struct ReplayArguments {
  StoreArgument where{};
  std::string policy{};
  std::optional<int> max_attempts{};  // Empty: as the run had it.
  std::optional<int> max_attempts_per_type{};
  ConfirmArguments confirm{};
  bool json = false;
};

bool changes_something(const ConfirmArguments& given) {
  return given.attempt != 0 || !given.from.empty() || !given.hint.empty() || !given.set.empty() ||
         !given.answer.empty() || !given.assume.empty() || !given.command.empty();
}

// What a run of `triage run` was asked for; empty if that is damaged, or if it is no such run.
std::optional<supervise::RunSpec> spec_of(const JournalReading& reading) {
  if (reading.info.agent != supervise::agent_name || reading.records.empty()) return std::nullopt;
  const auto body = reading.records.front().body();
  if (!body || !body.value().is_object() || !body.value().contains("task")) return std::nullopt;
  const auto spec = supervise::spec_from_json(body.value()["task"]);
  return spec ? std::optional(spec.value()) : std::nullopt;
}

// Those of a run of `triage run`, whose limits are stored with it, and otherwise the usual ones.
// Not its time: a replay counts that in which the run only waited, too.
Limits limits_of(const JournalReading& reading, const ReplayArguments& given) {
  Limits limits;
  if (const auto spec = spec_of(reading)) {
    limits = supervise::limits_of(*spec);
    limits.max_elapsed = Duration::zero();
  }
  limits.max_attempts = given.max_attempts.value_or(limits.max_attempts);
  limits.max_attempts_per_type = given.max_attempts_per_type.value_or(limits.max_attempts_per_type);
  return limits;
}

ExitStatus replay_run(const ReplayArguments& given) {
  if (given.confirm.confirm != given.policy.empty()) {
    return report({Errc::invalid_argument, given.confirm.confirm
                                               ? "--policy and --confirm are two questions; ask one"
                                               : "--policy FILE or --confirm is missing"});
  }
  if (given.confirm.confirm) return confirm_run(given.where, given.confirm, given.json);
  if (changes_something(given.confirm)) {
    return report({Errc::invalid_argument,
                   "--hint, --set, --answer, --assume, --attempt, --from and -- CMD are for "
                   "--confirm"});
  }
  const auto text = read_text_file(given.policy);
  if (!text) return report(text.error());
  const auto document = read_policy(text.value());
  if (!document) return report(in_file(given.policy, document.error()));
  const auto reading = meant_reading(given.where);
  if (!reading) return report(reading.error());
  const auto replay = lab::replay_policy(reading.value(), document.value().policy,
                                         {.limits = limits_of(reading.value(), given)});
  if (!replay) return report(replay.error());
  if (given.json) {
    print_json(lab::to_json(replay.value()));
  } else {
    print(lab::describe(replay.value()));
  }
  return warn_of_damage(reading.value());
}

}  // namespace

std::function<ExitStatus()> replay(CLI::App& arguments) {
  auto given = std::make_shared<ReplayArguments>();
  declare_store(arguments, given->where, "The run.");
  arguments.add_option("--policy", given->policy, "A policy document in JSON or YAML.")
      ->check(not_empty());
  arguments.add_option("--max-attempts", given->max_attempts,
                       "At most so many attempts in all. Default: as a run of `triage run` had "
                       "it; 20 for others.");
  arguments.add_option("--max-attempts-per-type", given->max_attempts_per_type,
                       "At most so many after failures of one type. Default: likewise; 10.");
  declare_confirm(arguments, given->confirm);
  arguments.add_flag("--json", given->json, "Print one JSON document.");
  arguments.footer(
      "Example: triage replay 01JDZ3K5W8… --policy patient.yaml\n"
      "         triage replay nightly --confirm --hint \"The table is called users.\"\n"
      "         triage replay nightly --confirm --times 50\n"
      "         -- ./nightly.sh --small-pages\n\n"
      "With --confirm the program of a run of `triage run` runs in its folder, with nothing "
      "on\n"
      "its standard input, and what it prints is dropped. No effect is carried out: recorded\n"
      "ones give their results, new ones are refused. All else that it does, it does again.");
  return [given] { return replay_run(*given); };
}

}  // namespace triage::inline v0_1::cli
