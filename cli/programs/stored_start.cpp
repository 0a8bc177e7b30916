// SPDX-License-Identifier: MIT
#include "stored_start.hpp"

#include "arguments/run_argument.hpp"
#include "render/output.hpp"
#include "supervise/spec/spec.hpp"
#include "triage/detail/try.hpp"

#include <utility>

namespace triage::inline v0_1::cli {

Result<StoredStart> stored_start(CheckpointStore& store, const RunId& run) {
  TRIAGE_TRY(reading, store.read(run, {1, 1}));
  if (!reading.records.empty()) {
    const auto body = reading.records.front().body();
    if (body && body.value().is_object() && body.value().contains("task")) {
      const Json version = body.value().value("version", Json(""));
      return StoredStart{body.value()["task"],
                         version.is_string() ? version.get<std::string>() : ""};
    }
  }
  return Error{Errc::corrupt, "the first record of run \"" + run + "\" cannot be read"};
}

Result<RunInfo> supervised_run(CheckpointStore& store, const RunId& given) {
  TRIAGE_TRY(found, run_info(store, given));
  if (found.agent == supervise::agent_name) return outcome::success(std::move(found));
  const auto start = stored_start(store, found.id);
  const bool is_workflow =
      start && start.value().task.is_object() && start.value().task.contains("parts");
  return Error{Errc::invalid_argument,
               "run \"" + found.id + "\" is one of " + (is_workflow ? "workflow" : "agent") +
                   " \"" + printable(found.agent) +
                   "\", not of `triage run`: only its own program can go on with it" +
                   (is_workflow ? ", or, if that is a file, `triage workflow run FILE --run " +
                                      shell_word(found.id) +
                                      (found.status == RunStatus::poisoned ? " --revive`" : "`")
                                : "")};
}

}  // namespace triage::inline v0_1::cli
