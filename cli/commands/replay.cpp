// SPDX-License-Identifier: MIT
// triage replay: a stored run against another policy.

#include "triage/lab/replay.hpp"
#include "command.hpp"
#include "open_store.hpp"
#include "read_policy.hpp"
#include "render/output.hpp"
#include "render/timeline.hpp"
#include "store_argument.hpp"

#include <memory>

namespace triage::inline v0_1::cli {
namespace {

struct ReplayArguments {
  StoreArgument where{};
  std::string policy{};
  lab::ReplayOptions options{};
  bool json = false;
};

Error in_policy_file(const std::string& path, const Error& error) {
  return {error.code, "\"" + printable(path) + "\": " + error.detail};
}

ExitStatus replay_run(const ReplayArguments& given) {
  const auto text = read_text_file(given.policy);
  if (!text) return report(text.error());
  const auto document = read_policy(text.value());
  if (!document) return report(in_policy_file(given.policy, document.error()));
  const auto reading = meant_reading(given.where);
  if (!reading) return report(reading.error());
  const auto replay = lab::replay_policy(reading.value(), document.value().policy, given.options);
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
  arguments.add_option("--policy", given->policy, "A policy document in JSON or YAML.")->required();
  arguments.add_option("--max-attempts", given->options.limits.max_attempts,
                       "Limits::max_attempts.");
  arguments.add_option("--max-attempts-per-type", given->options.limits.max_attempts_per_type,
                       "Limits::max_attempts_per_type.");
  arguments.add_flag("--json", given->json, "Print one JSON document.");
  arguments.footer(std::string("Example: triage replay 01JDZ3K5W8… --policy patient.yaml\n\n") +
                   exit_status_help());
  return [given] { return replay_run(*given); };
}

}  // namespace triage::inline v0_1::cli
