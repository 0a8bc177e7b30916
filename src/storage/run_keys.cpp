// SPDX-License-Identifier: MIT
// Keys stored beside a run's journal and erased with it.
#include "storage/run_keys.hpp"

#include "triage/checkpoint_store.hpp"
#include "triage/detail/own_label.hpp"
#include "triage/detail/stored_field.hpp"
#include "triage/detail/try.hpp"

#include <utility>

namespace triage::inline v0_1 {
namespace detail {

// Unambiguous: a run id contains no slash.
std::string signal_key(const RunId& run, std::string_view name) {
  return run + "/" + std::string(name);
}

// Unambiguous: an agent's name contains no slash.
std::string label_key(std::string_view agent, std::string_view label) {
  return std::string(agent) + "/" + std::string(label);
}

Result<void> check_run_label(std::string_view label, std::string_view what) {
  constexpr std::size_t longest = 256;
  if (label.size() > longest) {
    return Error{Errc::invalid_argument, std::string(what) + " has " +
                                             std::to_string(label.size()) +
                                             " bytes; allowed are 0 to 256"};
  }
  return check_own_prefix(label, what);
}

Result<void> check_own_prefix(std::string_view label, std::string_view what) {
  if (!is_reserved(label)) return outcome::success();
  return Error{Errc::invalid_argument, std::string(what) + " is \"" + printable(label) +
                                           "\"; allowed are those that do not begin with "
                                           "\"triage/\""};
}

RunKeys keys_of(const RunInfo& run) {
  RunKeys keys{.signals = signal_key(run.id, {})};
  if (!run.label.empty()) keys.label = label_key(run.agent, run.label);
  return keys;
}

std::string ticket_of(const Record& suspended) {
  if (suspended.kind() != RecordKind::suspended) return {};
  const Result<Json> body = suspended.body();
  return body ? text_field(body.value(), "ticket") : std::string();
}

}  // namespace detail

namespace {

using detail::own_space;
using detail::OwnSpace;

// Removes a key at any version; with `value`, only if it holds that.
Result<void> remove(KeySpace& keys, std::string_view space, const std::string& key,
                    const std::string* value = nullptr) {
  TRIAGE_TRY(stored, keys.get(space, key));
  if (!stored || (value != nullptr && stored->bytes != *value)) return outcome::success();
  Result<void> gone = keys.erase_if(space, key, stored->version);
  if (!gone && gone.error().code == Errc::unsupported) return outcome::success();
  return gone;
}

}  // namespace

Result<void> CheckpointStore::erase_keys(const JournalReading& run) {
  const detail::RunKeys keys = detail::keys_of(run.info);
  for (const Record& record : run.records) {
    const std::string ticket = detail::ticket_of(record);
    if (ticket.empty()) continue;
    TRIAGE_TRYV(remove(*this, own_space(OwnSpace::suspensions), ticket));
  }
  TRIAGE_TRY(signals, list(own_space(OwnSpace::signals), keys.signals));
  for (const std::string& key : signals) {
    TRIAGE_TRYV(remove(*this, own_space(OwnSpace::signals), key));
  }
  if (keys.label.empty()) return outcome::success();
  return remove(*this, own_space(OwnSpace::forks), keys.label, &run.info.id);
}

}  // namespace triage::inline v0_1
