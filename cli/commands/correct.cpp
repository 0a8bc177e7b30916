// SPDX-License-Identifier: MIT
// triage correct: labels a failure of a run, so that `triage train` can learn from it.

#include "arguments/open_store.hpp"
#include "arguments/run_argument.hpp"
#include "arguments/store_argument.hpp"
#include "command.hpp"
#include "documents/output_file.hpp"
#include "render/output.hpp"
#include "triage/corrections.hpp"
#include "triage/detail/joined.hpp"
#include "triage/detail/try.hpp"

#include <cstdlib>
#include <memory>
#include <string_view>
#include <utility>

namespace triage::inline v0_1::cli {
namespace {

struct CorrectArguments {
  std::string run{};
  std::string type{};
  std::string reason{};
  std::string store{};
  std::string file = "corrections.jsonl";
  std::string origin{};
  std::string who{};
  std::size_t failure = 0;  // 0: the newest.
};

bool is_snake_case(std::string_view text) {
  return text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string_view::npos;
}

Result<Correction> labelled(const CorrectArguments& given) {
  const auto type = parse_failure_type(given.type);
  if (!type) {
    return Error{Errc::invalid_argument, "--type is \"" + printable(given.type) +
                                             "\"; allowed are " +
                                             detail::joined(all_failure_types)};
  }
  if (!is_snake_case(given.reason)) {
    return Error{Errc::invalid_argument, "--reason is \"" + printable(given.reason) +
                                             "\"; allowed are a-z, 0-9 and _: tool_not_found"};
  }
  TRIAGE_TRY(where, store_or_default(given.store));
  const OutputFile file{"--corrections", given.file};
  TRIAGE_TRYV(check_outputs({&file, 1}, {}));
  TRIAGE_TRY(store, open_store_to_read(where));
  TRIAGE_TRY(run, in_full(*store, given.run));
  TRIAGE_TRYV(check_run_id(run));
  TRIAGE_TRY(reading, read_run(*store, run));
  TRIAGE_TRY(correction, correction_of(reading, given.failure == 0
                                                    ? std::nullopt
                                                    : std::optional<std::size_t>(given.failure)));
  correction.type = *type;
  correction.reason = given.reason;
  correction.who = given.who;
  if (!given.origin.empty()) correction.origin = given.origin;
  correction.when = real_clock()->wall_now();
  return outcome::success(std::move(correction));
}

ExitStatus correct_run(const CorrectArguments& given) {
  const auto correction = labelled(given);
  if (!correction) return report(correction.error());
  const Corrections file(given.file);
  if (const auto appended = file.append(correction.value()); !appended) {
    return report(appended.error());
  }
  const Correction& one = correction.value();
  print("\"" +
        shorten(one.failure.text.empty() ? one.failure.exception_type : one.failure.text, 72) +
        "\" was taken for " + std::string(to_string(one.given)) + " and is " +
        std::string(to_string(one.type)) + ": added to " + printable(given.file) + ".\n");
  return ExitStatus::done;
}

}  // namespace

std::function<ExitStatus()> correct(CLI::App& arguments) {
  auto given = std::make_shared<CorrectArguments>();
  const char* user = std::getenv("USER");
  given->who = user == nullptr ? "" : user;
  arguments.add_option("RUN", given->run, "The run that failed.")->required();
  arguments
      .add_option("--type", given->type,
                  "What its failure really was: " + detail::joined(all_failure_types) + ".")
      ->required();
  arguments.add_option("--reason", given->reason, "Why, in snake_case: tool_not_found, …")
      ->check(not_empty());
  arguments
      .add_option("--store", given->store, store_help + std::string(" Default: the default store."))
      ->check(not_empty());
  arguments
      .add_option("--corrections", given->file,
                  "The file that the labelled failure is appended to. Default: "
                  "corrections.jsonl.")
      ->check(not_empty());
  arguments
      .add_option("--failure", given->failure,
                  "Which failure of the run: 1 for the first. Default: the newest.")
      ->check(whole_number(1, 1'000'000'000));
  arguments
      .add_option("--origin", given->origin,
                  "Whose wording it is, for the evaluation. Default: the agent's name.")
      ->check(not_empty());
  arguments.add_option("--who", given->who, "Who says so. Default: $USER.");
  arguments.footer(
      "Example: triage correct nightly --type timeout\n\n"
      "The line is added as a whole and is durable when the command ends; "
      "several may add at\nonce. `triage train` learns from the file.");
  return [given] { return correct_run(*given); };
}

}  // namespace triage::inline v0_1::cli
