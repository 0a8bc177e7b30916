// SPDX-License-Identifier: MIT
// Runs that ended without a result: which may continue, and the errors of those that may not.
#include "base/error_more.hpp"
#include "journal/record_body.hpp"
#include "resume/continuation.hpp"
#include "run/run_machine.hpp"
#include "triage/detail/stored_field.hpp"

#include <memory>
#include <utility>

namespace triage::inline v0_1::detail {
namespace {

// The error that ended the run, from its records.
Error recorded_error(const Continuation& run, Errc code, const std::string& how_to_go_on) {
  const Journal& journal = run.journal();
  const Json body = newest_body(run.reading, RecordKind::stopped);
  const std::string name(to_string(code));
  std::string text = text_field(body, "detail");
  if (text.empty()) text = "the run was " + name;
  std::string who;
  if (!journal.history().empty()) who = journal.history().back().decided_by;
  const std::string before = " (run \"" + journal.run() + "\" was " + name + " before" +
                             (who.empty() ? "" : ", decided by " + printable(who)) + ")";
  Error error{code, text + before};
  ErrorFacts::advise(error, how_to_go_on);
  if (newest_body(run.reading, RecordKind::failure_classified).is_null()) return error;
  auto context = std::make_shared<FailureContext>();
  restore_context(run, *context);
  const std::string reason = reason_without(text, printable(context->text));
  if (!reason.empty()) ErrorFacts::because(error, reason + before);
  ErrorFacts::failed(error, std::move(context));
  return error;
}

}  // namespace

Result<void> check_ended(const Continuation& run, const ResumeOptions& options, Asked asked) {
  if (options.revive) return outcome::success();
  const RunStatus status = run.reading.info.status;
  if (status == RunStatus::aborted) {
    return recorded_error(run, Errc::aborted, "only ResumeOptions::revive goes on");
  }
  // A run that ended in doubt only reconciles again and repeats nothing.
  const bool in_doubt = text_field(run.journal().stopped(), "error") == to_string(Errc::in_doubt);
  if (status == RunStatus::escalated && asked == Asked::for_what_fits && !in_doubt) {
    return recorded_error(run, Errc::escalated, "resume_run or ResumeOptions::revive goes on");
  }
  return outcome::success();
}

}  // namespace triage::inline v0_1::detail
