// SPDX-License-Identifier: MIT
#pragma once
// Where a subcommand finds its store: as an argument, as --store, or in the user's state folder.

#include "triage/checkpoint_store.hpp"
#include "triage/result.hpp"

#include <CLI/CLI.hpp>

#include <memory>
#include <string>

namespace triage::inline v0_1::cli {

// The default store: triage/runs.db in $XDG_STATE_HOME, or in $HOME/.local/state if that is unset.
// A relative path counts as unset. Source: the XDG Base Directory Specification, version 0.8.
// Errors: Errc::not_found if neither is set.
[[nodiscard]] Result<std::string> default_store();

// Whether no store is there: nothing has run yet, or was killed before it had made it. False if a
// folder on the way cannot be entered.
[[nodiscard]] bool is_missing(const std::string& default_store);

// Creates the default store's folder, accessible only to its owner (0700), if it is missing.
// Errors: those of default_store; Errc::io.
[[nodiscard]] Result<std::string> make_default_store();

// The parsed arguments: `[STORE]`, or `[STORE] RUN` for a command about one run. An empty text is a
// store that does not exist; null means none was given.
struct StoreArgument {
  CLI::Option* first = nullptr;   // STORE, or RUN if it is the only one.
  CLI::Option* second = nullptr;  // RUN; null for commands without it.
  CLI::Option* option = nullptr;  // --store.
};

// Declares --store and the positional STORE; with run_help also RUN.
void declare_store(CLI::App& arguments, StoreArgument& given, const char* run_help = nullptr);

// The meaning of the arguments. `run` is empty for commands without RUN.
struct StoreAndRun {
  std::string store{};
  std::string run{};
};
// Errors: Errc::invalid_argument (a store is named twice, RUN is missing); those of default_store.
[[nodiscard]] Result<StoreAndRun> meant_store(const StoreArgument& given);
[[nodiscard]] Result<StoreAndRun> meant_run(const StoreArgument& given);
// Opens the store for reading; the default store is empty before anything has run. Errors: those of
// open_store.
[[nodiscard]] Result<std::shared_ptr<CheckpointStore>> open_meant(const StoreArgument& given,
                                                                  const StoreAndRun& meant);
// Everything stored of the run. Errors: as meant_run, open_store and read_run.
[[nodiscard]] Result<JournalReading> meant_reading(const StoreArgument& given);
// The store named by an option, which may be empty.
[[nodiscard]] Result<std::string> store_or_default(const std::string& option);

}  // namespace triage::inline v0_1::cli
