// SPDX-License-Identifier: MIT
#pragma once
// The arguments of commands by which an operator changes a stored run.

#include "triage/checkpoint_store.hpp"
#include "triage/json.hpp"

#include <CLI/CLI.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace triage::inline v0_1::cli {

struct OperatedRun {
  std::string store{};
  std::string run{};
  std::string who{};
  bool json = false;
};

// Declares --store, RUN and --json; with records_who also --who, whose default is $USER.
void declare_operated(CLI::App& arguments, OperatedRun& given, bool records_who = true);

// A run in a store opened for changes.
struct OpenedRun {
  std::shared_ptr<CheckpointStore> store{};
  RunInfo run{};
};
// Errors: those of store_or_default, open_store and run_info.
[[nodiscard]] Result<OpenedRun> open_run(const OperatedRun& given);

// JSON in an optional argument; null if it is empty. name: the argument's. Errors:
// Errc::invalid_argument, also for a whole number of more than 64 bits.
[[nodiscard]] Result<Json> optional_json(const std::string& text, std::string_view name);

}  // namespace triage::inline v0_1::cli
