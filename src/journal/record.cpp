// SPDX-License-Identifier: MIT
#include "triage/record.hpp"

#include <array>
#include <cstring>

namespace triage::inline v0_1 {
namespace {

void append_number(std::array<char, 33>& out, std::size_t at, std::uint64_t value) {
  for (std::size_t i = 0; i < 8; ++i) out[at + i] = static_cast<char>(value >> (8 * i));
}

}  // namespace

std::string_view to_string(RecordKind kind) noexcept {
  switch (kind) {
    case RecordKind::run_started: return "run_started";
    case RecordKind::attempt_started: return "attempt_started";
    case RecordKind::step: return "step";
    case RecordKind::state_changed: return "state_changed";
    case RecordKind::state_removed: return "state_removed";
    case RecordKind::state_snapshot: return "state_snapshot";
    case RecordKind::usage: return "usage";
    case RecordKind::checkpoint_labelled: return "checkpoint_labelled";
    case RecordKind::effect_intended: return "effect_intended";
    case RecordKind::effect_completed: return "effect_completed";
    case RecordKind::effect_withdrawn: return "effect_withdrawn";
    case RecordKind::failure_classified: return "failure_classified";
    case RecordKind::action_taken: return "action_taken";
    case RecordKind::rolled_back: return "rolled_back";
    case RecordKind::suspended: return "suspended";
    case RecordKind::resumed: return "resumed";
    case RecordKind::forked: return "forked";
    case RecordKind::gap: return "gap";
    case RecordKind::finished: return "finished";
    case RecordKind::stopped: return "stopped";
    case RecordKind::compensation_intended: return "compensation_intended";
    case RecordKind::compensation_completed: return "compensation_completed";
    case RecordKind::compensation_withdrawn: return "compensation_withdrawn";
    case RecordKind::signal_received: return "signal_received";
    case RecordKind::sleep_begun: return "sleep_begun";
  }
  return "unknown";
}

bool is_known(RecordKind kind) noexcept {
  return kind >= RecordKind::run_started && kind <= RecordKind::sleep_begun;
}

void Record::encode_body(std::string& out) const {
  if (const auto* patch = std::get_if<Patch>(&body_)) {
    detail::encode_cbor(**patch, out);
  } else if (const auto* stored = std::get_if<Bytes>(&body_)) {
    out += **stored;
  } else {
    detail::encode_cbor(Json::object(), out);
  }
}

Result<Json> Record::body() const {
  if (const auto* patch = std::get_if<Patch>(&body_)) return outcome::success(**patch);
  std::string encoded;
  encode_body(encoded);
  return detail::decode_cbor(encoded);
}

Result<Step> Record::step() const {
  if (kind_ != RecordKind::step) {
    return Error{Errc::invalid_argument, "record " + std::to_string(seq_) + " is a " +
                                             std::string(to_string(kind_)) + ", not a step"};
  }
  if (const auto* stored = bytes()) return detail::decode_step(**stored);
  return Error{Errc::corrupt, "record " + std::to_string(seq_) + " has no step"};
}

std::uint32_t record_checksum(std::string_view run, std::uint64_t epoch, Sequence seq,
                              RecordKind kind, WallTime time, std::string_view body) noexcept {
  std::array<char, 33> place{};
  append_number(place, 0, run.size());
  append_number(place, 8, epoch);
  append_number(place, 16, seq);
  append_number(place, 24, static_cast<std::uint64_t>(time.time_since_epoch().count()));
  place[32] = static_cast<char>(kind);
  std::uint32_t crc = detail::crc32c({place.data(), place.size()});
  crc = detail::crc32c(run, crc);
  return detail::crc32c(body, crc);
}

std::optional<RecordKind> credible_kind(std::string_view run, std::uint64_t epoch, Sequence seq,
                                        RecordKind stored, WallTime time, std::string_view body,
                                        std::uint32_t checksum) {
  if (!is_known(stored)) return std::nullopt;
  // If the checksum fits another kind, only the kind is damaged.
  for (const RecordKind intent : {RecordKind::effect_intended, RecordKind::compensation_intended}) {
    if (record_checksum(run, epoch, seq, intent, time, body) == checksum) return intent;
  }
  // A body that cannot be decoded tells nothing; one with a generation belongs to an effect.
  const auto fields = detail::decode_cbor(body);
  if (!fields || !fields.value().is_object() || fields.value().empty()) return std::nullopt;
  const bool of_effect =
      fields.value().contains("generation") || body.find("generation") != std::string_view::npos;
  const bool says_so =
      (stored >= RecordKind::effect_intended && stored <= RecordKind::effect_withdrawn) ||
      (stored >= RecordKind::compensation_intended && stored <= RecordKind::compensation_withdrawn);
  if (of_effect && !says_so) return std::nullopt;
  return stored;
}

}  // namespace triage::inline v0_1
