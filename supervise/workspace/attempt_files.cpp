// SPDX-License-Identifier: MIT
#include "supervise/workspace/attempt_files.hpp"

#include "supervise/process/leftovers.hpp"
#include "supervise/process/stored_records.hpp"
#include "supervise/spec/rules.hpp"
#include "supervise/workspace/shadow.hpp"
#include "triage/detail/own_checkpoint.hpp"
#include "triage/detail/own_label.hpp"
#include "triage/detail/stored_field.hpp"
#include "triage/detail/try.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace triage::inline v0_1::supervise {
namespace {

// In a step's metadata.
constexpr const char* files_key = "triage/files";
constexpr const char* value_key = "value";
constexpr const char* earlier_files_key = "files";  // Of earlier versions.
constexpr const char* restoring_label = "triage/restoring";
// Recovery::reason of a branch's first attempt.
constexpr const char* branch_reason = "forked";
// Classification::reason if the files could not be kept or restored, which may pass.
constexpr const char* workspace_reason = "workspace_failed";

std::string reference_of(Sequence checkpoint) { return "at-" + std::to_string(checkpoint); }

// Earlier versions had one for all checkpoints with a label. Any text can be one, but not a
// reference name.
std::string earlier_reference_of(const std::string& label) { return "label-" + shadow_name(label); }

// Of RUN@SEQUENCE.
std::string run_of(const std::string& checkpoint) {
  return checkpoint.substr(0, checkpoint.rfind('@'));
}

// After all records.
constexpr Sequence everything = std::numeric_limits<Sequence>::max();

// The position that a rollback returned to; `everything` for other records.
Sequence returned_to(const Record& record) {
  if (record.kind() != RecordKind::rolled_back) return everything;
  const auto body = record.body();
  return body ? detail::field(body.value(), "to", everything) : everything;
}

// Empty if it has none.
std::string label_of(const Record& record) {
  if (record.kind() != RecordKind::checkpoint_labelled) return {};
  const auto body = record.body();
  return body && body.value().is_object() ? body.value().value("label", std::string())
                                          : std::string();
}

std::optional<FilesId> files_in(const Json& metadata, const Workspace& kept) {
  if (!metadata.is_object()) return std::nullopt;
  const Json files = metadata.value(files_key, Json());
  if (files.is_string()) return files.get<FilesId>();
  // The program's own member may have that name.
  const Json earlier = metadata.value(earlier_files_key, Json());
  if (earlier.is_string() && kept.has(earlier.get<FilesId>())) return earlier.get<FilesId>();
  return std::nullopt;
}

}  // namespace

Result<void> AttemptFiles::begin() {
  if (options_.workspace.folder.empty()) return outcome::success();
  options_.workspace.run = attempt_.run_id();
  options_.workspace.begins = attempt_.number() == 1;
  keep_lease_meanwhile();
  auto opened = Workspace::open(options_.workspace);
  if (!opened) return failed(opened.error());
  files_ = std::move(opened).value();
  tell_conflicts(files_->completed());
  const Recovery* recovery = attempt_.recovery();
  const bool back = recovery != nullptr && (recovery->action == RecoveryAction::Kind::rollback ||
                                            recovery->reason == branch_reason);
  TRIAGE_TRY(pending, pending_rollback());
  if (back || !pending.empty()) {
    // Durable before any file is touched: otherwise, after a kill, state and files would differ.
    TRIAGE_TRYV(detail::own_checkpoint(attempt_, restoring_label));
    const std::string& checkpoint = back ? recovery->checkpoint_id : pending;
    if (run_of(checkpoint) != attempt_.run_id()) origin_ = run_of(checkpoint);
    TRIAGE_TRYV(restore(checkpoint));
  }
  const auto now = files_->keep();
  if (!now) return failed(now.error());
  TRIAGE_TRY(start, files_->named("start"));
  if (!start || options_.workspace.begins) {
    TRIAGE_TRYV(files_->name("start", now.value()));
  }
  set_at_rest(true);
  return outcome::success();
}

// Git may need longer than a lease lives, and so may whoever removes files. If another supervisor
// has taken the run over, it must not wait for us.
void AttemptFiles::keep_lease_meanwhile() {
  if (options_.store == nullptr) return;
  GitWatch& watch = options_.workspace.watch;
  const Duration every = options_.store->capabilities().renew_every;
  if (every <= Duration::zero()) return;
  watch.every = every;
  watch.meanwhile = [&attempt = attempt_]() -> Result<void> {
    const auto kept = attempt.keep_lease();
    if (!kept && kept.error().code == Errc::fenced) return kept;
    return outcome::success();
  };
}

void AttemptFiles::program_runs() { set_at_rest(false); }
void AttemptFiles::program_did_not_run() { set_at_rest(true); }

void AttemptFiles::set_at_rest(bool at_rest) {
  if (!files_) return;
  const auto noted = files_->set_at_rest(at_rest);
  if (!noted) {
    trouble(
        "what others change in the workspace between attempts cannot be told from what the "
        "program does: " +
        noted.error().detail);
  }
}

Result<void> AttemptFiles::restore(const std::string& checkpoint) {
  TRIAGE_TRY(target, located(checkpoint));
  if (!target) {
    trouble("no files are kept for the checkpoint that was restored; they stay as they are");
    return outcome::success();
  }
  const auto restored = files_->restore(*target, origin_);
  if (!restored) return failed(restored.error());
  tell_conflicts(restored.value());
  return outcome::success();
}

// Its words are not the program's, and must not be taken for them.
Error AttemptFiles::failed(const Error& error) const {
  if (error.code == Errc::fenced) return error;
  const bool may_pass = error.code == Errc::io;
  return attempt_.fail({.text = error.detail,
                        .type = FailureType::unknown,
                        .reason = may_pass ? workspace_reason : not_executed_reason});
}

void AttemptFiles::tell_conflicts(const Restored& restored) const {
  for (const std::string& path : restored.conflicts) {
    trouble("conflict: somebody has changed a file meanwhile; the change is kept in " +
            printable(path));
  }
}

// The files of the restored checkpoint: those kept with it, or else with the newest step or named
// checkpoint before it that was not undone, or those the run began with.
Result<std::optional<FilesId>> AttemptFiles::located(const std::string& checkpoint) const {
  // A branch looks in its origin, a rollback in its own run.
  const std::string run = run_of(checkpoint);
  const auto id = parse_checkpoint_id(checkpoint);
  if (options_.store != nullptr && id) {
    TRIAGE_TRY(reading, options_.store->read(run, {}));
    Sequence newest = id.value().sequence;
    for (auto record = reading.records.rbegin(); record != reading.records.rend(); ++record) {
      if (record->seq() > newest) continue;
      TRIAGE_TRY(files, files_of(*record, run));
      if (files) return outcome::success(std::move(files));
      newest = std::min(newest, returned_to(*record));
    }
  }
  return files_->named("start", run);
}

// Empty if none were kept with it.
Result<std::optional<FilesId>> AttemptFiles::files_of(const Record& record,
                                                      const std::string& run) const {
  if (record.kind() == RecordKind::step) {
    TRIAGE_TRY(step, record.step());
    return outcome::success(files_in(step.metadata, *files_));
  }
  const std::string label = label_of(record);
  if (label.empty() || detail::is_reserved(label)) return outcome::success(std::nullopt);
  TRIAGE_TRY(files, files_->named(reference_of(record.seq()), run));
  if (files) return outcome::success(std::move(files));
  return files_->named(earlier_reference_of(label), run);
}

// The checkpoint of a rollback, or of a branch's beginning, after which no program has run: whoever
// decided on it may have died, or failed, before the files were restored. Empty if there is none.
Result<std::string> AttemptFiles::pending_rollback() const {
  if (options_.store == nullptr || attempt_.number() == 1) return outcome::success(std::string());
  TRIAGE_TRY(records, stored_records(*options_.store, attempt_.run_id()));
  for (auto record = records.rbegin(); record != records.rend(); ++record) {
    if (parse_mark(label_of(*record))) break;  // A program ran.
    if (const Sequence to = returned_to(*record); to != everything) {
      return outcome::success(to_string(CheckpointId{attempt_.run_id(), to}));
    }
    if (record->kind() != RecordKind::forked) continue;
    TRIAGE_TRY(body, record->body());
    return outcome::success(body.value("parent", std::string()));
  }
  return outcome::success(std::string());
}

void AttemptFiles::tell_left_out(const std::set<std::string>& files, const std::string& why,
                                 std::size_t& told) {
  if (files.size() <= told) return;
  told = files.size();
  trouble("left out of the workspace, " + why + ": " + printable(*files.rbegin()) +
          (told > 1 ? " and others" : ""));
}

std::optional<FilesId> AttemptFiles::keep() {
  if (!files_) return std::nullopt;
  const auto kept = files_->keep();
  if (!kept) {
    trouble("the files of the workspace were not kept: " + kept.error().detail);
    return std::nullopt;
  }
  tell_left_out(
      files_->too_large(),
      "being larger than " + std::to_string(options_.workspace.largest_file >> 20U) + " MB",
      told_too_large_);
  tell_left_out(files_->unreadable(), "since they cannot be read", told_unreadable_);
  return kept.value();
}

void AttemptFiles::note_step(Step& step) {
  const auto kept = keep();
  if (!kept) return;
  if (!step.metadata.is_object()) {
    Json fields = Json::object();
    if (!step.metadata.is_null()) fields[value_key] = std::move(step.metadata);
    step.metadata = std::move(fields);
  }
  step.metadata[files_key] = *kept;
}

void AttemptFiles::note_checkpoint(const CheckpointId& checkpoint) {
  if (const auto kept = keep())
    tell_trouble(files_->name(reference_of(checkpoint.sequence), *kept));
}

void AttemptFiles::end(bool is_ours) {
  const auto kept = keep();
  if (kept && is_ours) set_at_rest(true);
  // What a branch leaves in the folder is no change by others to the next one.
  const std::string from = kept ? origin() : std::string();
  if (!from.empty()) tell_trouble(files_->leave_to(from, *kept));
}

std::string AttemptFiles::origin() const {
  if (!origin_.empty() || options_.store == nullptr) return origin_;
  constexpr Sequence beginning = 16;  // A branch is told early what it is.
  const auto reading = options_.store->read(attempt_.run_id(), {1, beginning});
  if (!reading) return {};
  for (const Record& record : reading.value().records) {
    if (record.kind() != RecordKind::forked) continue;
    const auto body = record.body();
    return body ? run_of(body.value().value("parent", std::string())) : std::string();
  }
  return {};
}

void AttemptFiles::tell_trouble(const Result<void>& noted) const {
  if (!noted) trouble("the files of the workspace were not kept: " + noted.error().detail);
}

}  // namespace triage::inline v0_1::supervise
