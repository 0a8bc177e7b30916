// SPDX-License-Identifier: MIT
// triage checkpoint rekey: encrypts with the newest key what is stored under an older one.

#include "arguments/open_store.hpp"
#include "arguments/store_argument.hpp"
#include "command.hpp"
#include "render/output.hpp"
#include "triage/stores/encrypted.hpp"

#include <memory>
#include <string>

namespace triage::inline v0_1::cli {
namespace {

struct CheckpointRekeyArguments {
  StoreArgument where{};
  bool json = false;
};

ExitStatus tell_rotation(const CheckpointRekeyArguments& given, const std::string& where,
                         const KeyRotation& done) {
  if (given.json) {
    print_json(Json{{"store", where},
                    {"runs", done.runs},
                    {"records", done.records},
                    {"values", done.values},
                    {"left", done.left}});
  } else {
    print(counted(done.records, "record") + " of " + counted(done.runs, "run") + " and " +
          counted(done.values, "value") + " are encrypted with the new key.\n");
    for (const RunId& run : done.left) warn("run " + run + " is left: it is in use, or damaged");
  }
  return done.left.empty() ? ExitStatus::done : ExitStatus::unreadable;
}

ExitStatus rekey(const CheckpointRekeyArguments& given) {
  const auto meant = meant_store(given.where);
  if (!meant) return report(meant.error());
  const auto store = open_store_to_change(meant.value().store);
  if (!store) return report(store.error());
  auto* const encrypted = dynamic_cast<EncryptedStore*>(store.value().get());
  if (encrypted == nullptr) {
    return report({Errc::invalid_argument,
                   "name the new key with --key-file, and the old ones in TRIAGE_OLD_KEY_FILES"});
  }
  const auto done = encrypted->rotate();
  if (!done) return report(done.error());
  return tell_rotation(given, without_secrets(meant.value().store), done.value());
}

}  // namespace

std::function<ExitStatus()> checkpoint_rekey(CLI::App& arguments) {
  auto given = std::make_shared<CheckpointRekeyArguments>();
  declare_store(arguments, given->where);
  arguments.add_flag("--json", given->json, "Print one JSON document.");
  arguments.footer(
      "Example: TRIAGE_OLD_KEY_FILES=old.key triage checkpoint rekey --key-file "
      "new.key\n\n"
      "Others may go on working with both keys. Runs that a living process holds are "
      "left: call it again\n(exit status 4).");
  return [given] { return rekey(*given); };
}

}  // namespace triage::inline v0_1::cli
