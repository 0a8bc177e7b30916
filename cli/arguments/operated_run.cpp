// SPDX-License-Identifier: MIT
#include "operated_run.hpp"

#include "command.hpp"
#include "exact_json.hpp"
#include "open_store.hpp"
#include "run_argument.hpp"
#include "store_argument.hpp"
#include "triage/detail/try.hpp"

#include <cstdlib>
#include <utility>

namespace triage::inline v0_1::cli {
namespace {

// Printable, and not cut within a character.
std::string quoted_start(const std::string& text) {
  constexpr std::size_t longest = 60;
  if (text.size() <= longest) return printable(text);
  std::size_t end = longest;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return printable(text.substr(0, end)) + "…";
}

}  // namespace

void declare_operated(CLI::App& arguments, OperatedRun& given, bool records_who) {
  arguments
      .add_option("--store", given.store,
                  store_help + std::string(" Default: triage/runs.db in the state folder."))
      ->check(not_empty());
  arguments.add_option("RUN", given.run, "The run.")->required();
  arguments.add_flag("--json", given.json, "Print one JSON document.");
  if (!records_who) return;
  const char* user = std::getenv("USER");
  given.who = user == nullptr ? "" : user;
  arguments.add_option("--who", given.who, "Who does it; recorded. Default: $USER.");
}

Result<OpenedRun> open_run(const OperatedRun& given) {
  TRIAGE_TRY(where, store_or_default(given.store));
  TRIAGE_TRY(store, open_store_to_change(where));
  TRIAGE_TRY(run, run_info(*store, given.run));
  return OpenedRun{std::move(store), std::move(run)};
}

Result<Json> optional_json(const std::string& text, std::string_view name) {
  if (text.empty()) return Json();
  TRIAGE_TRY(value, exact_json(text));
  if (value) return *std::move(value);
  return Error{Errc::invalid_argument, std::string(name) + " is not JSON: " + quoted_start(text) +
                                           "; a text stands in quotes: '\"yes\"'"};
}

}  // namespace triage::inline v0_1::cli
