// SPDX-License-Identifier: MIT
// Sending a signal to a run from outside, before, during or after its wait.
#include "base/run_catching.hpp"
#include "resume/continuation.hpp"
#include "resume/waits.hpp"
#include "storage/run_keys.hpp"
#include "triage/detail/stored_field.hpp"
#include "triage/detail/try.hpp"
#include "triage/journal.hpp"
#include "triage/operations.hpp"

#include <optional>
#include <string>
#include <utility>

namespace triage::inline v0_1::detail {

static Error sent_before(const RunId& run, std::string_view name) {
  return {Errc::conflict, "signal \"" + printable(name) + "\" of run \"" + run +
                              "\" was sent before, with another value"};
}

// What the records answer: nothing if a wait has ended without the signal; nullopt if they do not
// answer. An answer must not cost the decoding of a large state, so only signals are decoded,
// unless a record is missing: then the fold says what still counts.
using Answer = std::optional<std::optional<Json>>;

static Result<Answer> answer_in(const JournalReading& reading, std::string_view name) {
  bool whole = reading.damaged.empty();
  for (std::size_t i = 1; i < reading.records.size(); ++i) {
    whole &= reading.records[i].seq() == reading.records[i - 1].seq() + 1;
  }
  Answer answer;
  if (!whole) {
    TRIAGE_TRY(journal, Journal::fold(reading));
    const auto known = journal.signals().find(name);
    if (known != journal.signals().end()) answer.emplace(known->second);
    return outcome::success(std::move(answer));
  }
  for (const Record& record : reading.records) {
    if (record.kind() != RecordKind::signal_received) continue;
    TRIAGE_TRY(body, record.body());
    if (text_field(body, "name") != name) continue;
    answer.emplace(body.contains("value") ? std::optional(body.at("value")) : std::nullopt);
  }
  return outcome::success(std::move(answer));
}

// Whether the journal has this value as the answer. Errors: Errc::conflict if it has another one;
// the store's.
static Result<bool> answered(CheckpointStore& store, const RunId& run, std::string_view name,
                             const Json& value) {
  TRIAGE_TRY(reading, run_catching([&] { return store.read_newest(run); }));
  TRIAGE_TRY(known, answer_in(reading, name));
  if (!known) return outcome::success(false);
  if (!*known) {
    return Error{Errc::conflict, "signal \"" + printable(name) + "\" of run \"" + run +
                                     "\" comes too late: the wait for it has ended without it"};
  }
  if (**known == value) return outcome::success(true);
  return sent_before(run, name);
}

// Whether the signal was sent and taken before the run ended. False: it can still be taken. Errors:
// Errc::conflict if it never will be; the store's.
static Result<bool> taken(CheckpointStore& store, const RunId& run, std::string_view name,
                          const Json& value) {
  const auto info = run_catching([&] { return store.run(run); });
  if (!info && info.error().code == Errc::not_found) return outcome::success(false);
  if (!info) return info.error();
  const RunStatus status = info.value().status;
  if (status == RunStatus::finished) {
    return Error{Errc::conflict, "signal \"" + printable(name) + "\" cannot be sent: run \"" + run +
                                     "\" has finished"};
  }
  if (status == RunStatus::running || status == RunStatus::suspended) {
    return outcome::success(false);
  }
  return answered(store, run, name, value);  // An answered signal's key is gone.
}

// Called after the write: the run may have ended since it was checked, and a run that once ended
// has dropped its keys even if it continues now. Its journal has the answers, and is read last: a
// run that takes the signal and ends meanwhile must not look as if it had ended without it.
static Result<void> confirm_sent(CheckpointStore& store, const RunId& run, std::string_view name,
                                 const Json& value, const std::string& key, std::uint64_t version) {
  const auto late = taken(store, run, name, value);
  const auto known = answered(store, run, name, value);
  if (!known && known.error().code == Errc::not_found) return outcome::success();
  if (known && (known.value() || late)) return outcome::success();
  const Error& error = known ? late.error() : known.error();
  if (error.code == Errc::conflict) {
    static_cast<void>(run_catching([&] { return store.erase_if(signal_space, key, version); }));
  }
  return error;
}

static Result<void> send(CheckpointStore* store, const RunId& run, std::string_view name,
                         const Json& value) {
  TRIAGE_TRYV(check_run_id(run));
  TRIAGE_TRYV(check_wait_name(name, "a signal's"));
  TRIAGE_TRYV(check_json(value, "a signal's value"));
  if (store == nullptr) {
    return Error{Errc::not_found, "the signal cannot be sent: the agent has no store"};
  }
  TRIAGE_TRY(before_it, taken(*store, run, name, value));
  if (before_it) return outcome::success();
  std::string bytes;
  encode_cbor(Json{{"value", value}}, bytes);
  const std::string key = signal_key(run, name);
  const auto sent = run_catching([&] { return store->put_if(signal_space, key, 0, bytes); });
  if (sent) return confirm_sent(*store, run, name, value, key, sent.value());
  if (sent.error().code != Errc::conflict) return sent.error();
  TRIAGE_TRY(before, run_catching([&] { return store->get(signal_space, key); }));
  if (before && before->bytes == bytes) {  // Perhaps ours, with the reply lost.
    return confirm_sent(*store, run, name, value, key, before->version);
  }
  return sent_before(run, name);
}

Result<void> send_signal(const AgentCore& core, const RunId& run, std::string_view name,
                         const Json& value) {
  if (core.problem) return *core.problem;
  return send(core.options.store.get(), run, name, value);
}

}  // namespace triage::inline v0_1::detail

namespace triage::inline v0_1 {

Result<void> send_signal(CheckpointStore& store, const RunId& run, std::string_view name,
                         const Json& value) {
  return detail::send(&store, run, name, value);
}

}  // namespace triage::inline v0_1
