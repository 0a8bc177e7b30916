// SPDX-License-Identifier: MIT
#include "supervise/adapters/session_mark.hpp"

#include "supervise/process/stored_records.hpp"
#include "triage/detail/try.hpp"

#include <algorithm>

namespace triage::inline v0_1::supervise {
namespace {

constexpr std::size_t longest_name = 128;

std::string label_start(std::string_view adapter) {
  return "triage/session of " + std::string(adapter) + ": ";
}

}  // namespace

bool is_session_name(std::string_view name) noexcept {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == ':' || c == '-';
  };
  return !name.empty() && name.size() <= longest_name && name.front() != '-' &&
         std::all_of(name.begin(), name.end(), allowed);
}

std::string session_label(std::string_view adapter, std::string_view session) {
  return label_start(adapter) + std::string(session.empty() ? "-" : session);
}

Result<std::string> newest_session(CheckpointStore& store, const RunId& run,
                                   std::string_view adapter) {
  TRIAGE_TRY(records, stored_records(store, run));
  const std::string start = label_start(adapter);
  for (auto record = records.rbegin(); record != records.rend(); ++record) {
    if (record->kind() != RecordKind::checkpoint_labelled) continue;
    const auto body = record->body();
    if (!body || !body.value().is_object()) continue;
    const auto label = body.value().find("label");
    if (label == body.value().end() || !label->is_string()) continue;
    const auto& text = label->get_ref<const std::string&>();
    if (!text.starts_with(start)) continue;
    const std::string session = text.substr(start.size());
    return outcome::success(is_session_name(session) ? session : std::string());
  }
  return outcome::success(std::string());
}

}  // namespace triage::inline v0_1::supervise
