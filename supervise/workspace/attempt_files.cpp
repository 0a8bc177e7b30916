// SPDX-License-Identifier: MIT
#include "supervise/workspace/attempt_files.hpp"

#include "supervise/process/leftovers.hpp"
#include "supervise/process/stored_records.hpp"
#include "supervise/spec/rules.hpp"
#include "supervise/workspace/shadow.hpp"
#include "triage/detail/cancel_token.hpp"
#include "triage/detail/own_checkpoint.hpp"
#include "triage/detail/reserved.hpp"
#include "triage/detail/stored_field.hpp"
#include "triage/detail/try.hpp"

#include <algorithm>
#include <chrono>
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
constexpr std::chrono::milliseconds look_every{200};

std::string reference_of(Sequence checkpoint) { return "at-" + std::to_string(checkpoint); }

// Of the newest checkpoint with that label: it is known before the checkpoint is made, as its
// sequence is not. Any text can be one, but not a reference name.
std::string label_reference_of(const std::string& label) { return "label-" + shadow_name(label); }

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

// Instead of the files of a step or checkpoint that could not be kept.
const FilesId lost_files{};

std::optional<FilesId> files_in(const Json& metadata, const Workspace& kept) {
  if (!metadata.is_object()) return std::nullopt;
  const Json files = metadata.value(files_key, Json());
  if (files.is_null() && metadata.contains(files_key)) return lost_files;
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
  begun_ = true;
  return outcome::success();
}

// Git may need longer than a lease lives, and so may whoever removes files. If another supervisor
// has taken the run over, it must not wait for us, nor must a person who stops the run.
void AttemptFiles::keep_lease_meanwhile() {
  if (options_.store == nullptr) return;
  GitWatch& watch = options_.workspace.watch;
  watch.every = look_every;
  watch.meanwhile = [this]() -> Result<void> {
    if (is_stopped()) {
      return Error{Errc::cancelled, "the run was stopped before its program was started"};
    }
    const auto kept = attempt_.keep_lease();
    if (!kept && kept.error().code == Errc::fenced) return kept;
    return outcome::success();
  };
}

// Until the program runs. Later it is told of the stop itself, and how it has left the files must
// be known.
bool AttemptFiles::is_stopped() const {
  return !begun_ && detail::cancel_token(attempt_).stop_requested();
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
  // Others would not fit the state.
  if (*target == lost_files) {
    return failed({Errc::not_found, "the files of the checkpoint \"" + printable(checkpoint) +
                                        "\" could not be kept when it was made; `triage fork` can "
                                        "continue from another one"});
  }
  const auto restored = files_->restore(*target, origin_);
  if (!restored) return failed(restored.error());
  tell_conflicts(restored.value());
  set_at_rest(true);  // What differs from them is others' doing.
  return outcome::success();
}

// Its words are not the program's, and must not be taken for them.
Error AttemptFiles::failed(const Error& error) const {
  if (error.code == Errc::fenced || error.code == Errc::cancelled) return error;
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

// Empty if none belong to it; lost_files if they could not be kept.
Result<std::optional<FilesId>> AttemptFiles::files_of(const Record& record,
                                                      const std::string& run) const {
  if (record.kind() == RecordKind::step) {
    TRIAGE_TRY(step, record.step());
    return outcome::success(files_in(step.metadata, *files_));
  }
  const std::string label = label_of(record);
  if (label.empty() || detail::is_reserved(label)) return outcome::success(std::nullopt);
  for (const std::string& name : {reference_of(record.seq()), label_reference_of(label)}) {
    TRIAGE_TRY(files, files_->named(name, run));
    if (files) return outcome::success(std::move(files));
  }
  TRIAGE_TRY(start, files_->named("start", run));  // A run without a workspace has lost nothing.
  return outcome::success(start ? std::optional(lost_files) : std::nullopt);
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
  if (!files_) return;
  const auto kept = keep();
  if (!step.metadata.is_object()) {
    Json fields = Json::object();
    if (!step.metadata.is_null()) fields[value_key] = std::move(step.metadata);
    step.metadata = std::move(fields);
  }
  step.metadata[files_key] = kept ? Json(*kept) : Json();
}

// Its files are kept before it is made, and named after its label: whoever is killed before they
// are named after its sequence has not lost them.
void AttemptFiles::begin_checkpoint(const std::string& label) {
  if (!files_) return;
  of_checkpoint_ = keep();
  const std::string name = label_reference_of(label);
  if (of_checkpoint_) {
    const auto named = files_->name(name, *of_checkpoint_);
    if (named) return;
    tell_trouble(named);
    of_checkpoint_.reset();
  }
  tell_trouble(files_->remove_name(name));  // It may be an earlier checkpoint's.
}

void AttemptFiles::note_checkpoint(const CheckpointId& checkpoint) {
  if (of_checkpoint_) {
    tell_trouble(files_->name(reference_of(checkpoint.sequence), *of_checkpoint_));
  }
  of_checkpoint_.reset();
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
