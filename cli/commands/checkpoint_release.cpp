// SPDX-License-Identifier: MIT
// triage checkpoint release: takes a run away from an owner that will not continue it.

#include "arguments/run_argument.hpp"
#include "arguments/store_argument.hpp"
#include "command.hpp"
#include "render/output.hpp"
#include "triage/detail/try.hpp"
#include "triage/stores/open_store.hpp"
#include "triage/stores/sqlite.hpp"

#include <memory>
#include <utility>

namespace triage::inline v0_1::cli {
namespace {

struct ReleaseArguments {
  StoreArgument where{};
  bool force = false;
};

// run: named in full afterwards. Returns the owner that it was taken from. Without a key, also of
// an encrypted store: nothing is decrypted. Errors: as open_store; those of SqliteStore::free_run.
Result<std::string> free_run(const std::string& url, RunId& run, bool force) {
  // Checked first, so that a missing store is not created.
  TRIAGE_TRY(looked_at, v0_1::open_store(url, {.read_only = true}));
  if (std::dynamic_pointer_cast<SqliteStore>(looked_at) == nullptr) {
    return Error{Errc::unsupported, "store \"" + without_secrets(url) +
                                        "\": runs can be released in SQLite stores only"};
  }
  TRIAGE_TRY(full, in_full(*looked_at, run));
  looked_at.reset();
  TRIAGE_TRY(store, SqliteStore::open(url));
  run = std::move(full);
  return store->free_run(run, force);
}

}  // namespace

std::function<ExitStatus()> checkpoint_release(CLI::App& arguments) {
  auto given = std::make_shared<ReleaseArguments>();
  declare_store(arguments, given->where, "The run that is to be free.");
  arguments.add_flag("--force", given->force,
                     "Even if its owner seems to be alive and at work. What it appends from now on "
                     "is refused; an effect that it is just carrying out stays in doubt.");
  arguments.footer(
      "Example: triage checkpoint release nightly\n\n"
      "For SQLite stores only. In others a lease ends by itself (docs/stores.md).");
  return [given] {
    auto meant = meant_run(given->where);
    if (!meant) return report(meant.error());
    std::string& run = meant.value().run;
    auto freed = free_run(meant.value().store, run, given->force);
    if (!freed) return report(freed.error());
    print(freed.value().empty()
              ? "Run " + run + " was free already.\n"
              : "Run " + run + " is free; it was taken from " + freed.value() + ".\n");
    return ExitStatus::done;
  };
}

}  // namespace triage::inline v0_1::cli
