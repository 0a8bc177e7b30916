// SPDX-License-Identifier: MIT
#include "supervise/workspace/attempt_files.hpp"

#include "supervise/process/leftovers.hpp"
#include "triage/detail/own_checkpoint.hpp"
#include "triage/detail/try.hpp"

#include <array>
#include <cstdint>
#include <cstdio>

namespace triage::inline v0_1::supervise {
namespace {

constexpr const char* metadata_key = "files";
constexpr const char* restoring_label = "triage/restoring";
// Recovery::reason of a branch's first attempt.
constexpr const char* branch_reason = "forked";

// Any text can be a label, but not a reference name. Source: FNV-1a.
std::string reference_of(const std::string& label) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : label) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  std::array<char, 17> digits{};
  std::snprintf(digits.data(), digits.size(), "%016llx", static_cast<unsigned long long>(hash));
  return std::string("label-") + digits.data();
}

}  // namespace

Result<void> AttemptFiles::begin() {
  if (options_.workspace.folder.empty()) return outcome::success();
  options_.workspace.run = attempt_.run_id();
  TRIAGE_TRY(opened, Workspace::open(options_.workspace));
  files_ = std::move(opened);
  tell_conflicts(files_->completed());
  const Recovery* recovery = attempt_.recovery();
  const bool back = recovery != nullptr && (recovery->action == RecoveryAction::Kind::rollback ||
                                            recovery->reason == branch_reason);
  TRIAGE_TRY(pending, pending_rollback());
  if (back || !pending.empty()) {
    // Durable before any file is touched: otherwise, after a kill, state and files would differ.
    TRIAGE_TRYV(detail::own_checkpoint(attempt_, restoring_label));
    TRIAGE_TRY(target, located(back ? recovery->checkpoint_id : pending));
    if (target) {
      TRIAGE_TRY(restored, files_->restore(*target));
      tell_conflicts(restored);
    } else {
      trouble("no files are kept for the checkpoint that was restored; they stay as they are");
    }
  }
  TRIAGE_TRY(now, files_->keep());
  if (!files_->named("start")) {
    TRIAGE_TRYV(files_->name("start", now));
  }
  return outcome::success();
}

void AttemptFiles::tell_conflicts(const Restored& restored) const {
  for (const std::string& path : restored.conflicts) {
    trouble("conflict: somebody has changed a file meanwhile; the change is kept in " +
            printable(path));
  }
}

Result<std::string> AttemptFiles::label_of(const std::string& checkpoint) const {
  const std::size_t at = checkpoint.rfind('@');
  if (options_.store == nullptr || at == std::string::npos) return outcome::success(std::string());
  TRIAGE_TRY(reading, options_.store->read(checkpoint.substr(0, at), {}));
  for (const Record& record : reading.records) {
    if (record.kind() != RecordKind::checkpoint_labelled ||
        std::to_string(record.seq()) != checkpoint.substr(at + 1)) {
      continue;
    }
    const auto body = record.body();
    if (body && body.value().is_object()) return body.value().value("label", std::string());
  }
  return outcome::success(std::string());
}

// The files of the restored checkpoint: its label's, else its newest step's, else those the run
// began with.
Result<std::optional<FilesId>> AttemptFiles::located(const std::string& checkpoint) const {
  // A branch looks up its origin's names, a rollback its own.
  const std::string run = checkpoint.substr(0, checkpoint.rfind('@'));
  TRIAGE_TRY(label, label_of(checkpoint));
  if (auto files = files_->named(reference_of(label), run); !label.empty() && files) {
    return outcome::success(std::move(files));
  }
  const Trajectory steps = attempt_.trajectory();
  for (std::size_t i = steps.size(); i > 0; --i) {
    const Json& metadata = steps[i - 1].metadata;
    if (!metadata.is_object() || !metadata.contains(metadata_key)) continue;
    const Json& files = metadata[metadata_key];
    if (files.is_string()) return outcome::success(std::optional(files.get<FilesId>()));
  }
  return outcome::success(files_->named("start", run));
}

// The checkpoint of a rollback after which no program has run: whoever decided on it may have died,
// or failed, before the files were restored. Empty if there is none.
Result<std::string> AttemptFiles::pending_rollback() const {
  if (options_.store == nullptr || attempt_.number() == 1) return outcome::success(std::string());
  TRIAGE_TRY(reading, options_.store->read(attempt_.run_id(), {}));
  for (auto record = reading.records.rbegin(); record != reading.records.rend(); ++record) {
    const bool rolled_back = record->kind() == RecordKind::rolled_back;
    if (!rolled_back && record->kind() != RecordKind::checkpoint_labelled) continue;
    const auto body = record->body();
    if (!body || !body.value().is_object()) continue;
    if (!rolled_back) {
      if (parse_mark(body.value().value("label", std::string()))) break;  // A program ran.
    } else if (body.value().contains("to") && body.value()["to"].is_number_unsigned()) {
      return outcome::success(attempt_.run_id() + "@" + body.value()["to"].dump());
    }
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
  if (!step.metadata.is_object()) step.metadata = Json::object();
  step.metadata[metadata_key] = *kept;
}

void AttemptFiles::note_label(const std::string& label) {
  const auto kept = keep();
  if (!kept) return;
  if (const auto named = files_->name(reference_of(label), *kept); !named) {
    trouble("the files of the workspace were not kept: " + named.error().detail);
  }
}

void AttemptFiles::end() { static_cast<void>(keep()); }

}  // namespace triage::inline v0_1::supervise
