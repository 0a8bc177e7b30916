// SPDX-License-Identifier: MIT
#pragma once
// One fact in a run's journal. Journals are the only source of truth; all else is folded from them.

#include "triage/clock.hpp"
#include "triage/json.hpp"
#include "triage/run_id.hpp"
#include "triage/step.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace triage::inline v0_1 {

// These numbers are on disk: do not change the values of existing entries.
// Every body is a CBOR map, described field by field in docs/checkpoint_format.md.
enum class RecordKind : std::uint8_t {
  run_started = 1,          // task, agent, version, fingerprint, label, parent
  attempt_started = 2,      // number, and whether it starts with an empty state and trajectory
  step = 3,                 // one Step
  state_changed = 4,        // the keys that were set, with their new values
  state_removed = 5,        // the keys that were removed
  state_snapshot = 6,       // the whole state: earlier records are not needed for it
  usage = 7,                // one Usage
  checkpoint_labelled = 8,  // label
  effect_intended = 9,      // key, generation, hash of the arguments, compensation
  effect_completed = 10,    // as above, and the result
  effect_withdrawn = 11,    // key: the effect was not carried out
  failure_classified = 12,  // type, reason, confidence, evidence, text
  action_taken = 13,        // the recovery action, its wait, who or what decided
  rolled_back = 14,         // the position that was restored
  suspended = 15,           // message, allowed actions, until; never the token
  resumed = 16,             // the position that was restored, and why
  forked = 17,              // parent checkpoint
  gap = 18,                 // first and last sequence of the records that a failing store lost
  finished = 19,            // the agent's result
  stopped = 20,             // how a run ended without a result: escalated, aborted, cancelled, …
  compensation_intended = 21,   // key, generation
  compensation_completed = 22,  // key, generation: the effect is undone
  compensation_withdrawn = 23,  // key, generation, cause: the effect is still in place
  signal_received = 24,         // name and value; or that the deadline passed without one
  sleep_begun = 25,             // name, and when it ends
};

[[nodiscard]] std::string_view to_string(RecordKind kind) noexcept;
// True for the values above.
[[nodiscard]] bool is_known(RecordKind kind) noexcept;

// A value. Steps, state patches and bytes are shared between copies.
class Record {
 public:
  using Patch = std::shared_ptr<const Json>;
  using Bytes = std::shared_ptr<const std::string>;

  Record() = default;
  Record(Sequence seq, RecordKind kind, WallTime time, Patch body)
      : seq_(seq), time_(time), kind_(kind), body_(std::move(body)) {}
  // `body`: encoded; from a store, its checksum is verified.
  Record(Sequence seq, RecordKind kind, WallTime time, Bytes body)
      : seq_(seq), time_(time), kind_(kind), body_(std::move(body)) {}

  [[nodiscard]] Sequence seq() const noexcept { return seq_; }
  [[nodiscard]] RecordKind kind() const noexcept { return kind_; }
  [[nodiscard]] WallTime time() const noexcept { return time_; }

  // Appends the encoded body (CBOR) to `out`.
  void encode_body(std::string& out) const;
  // The body as JSON; a step as the map in docs/checkpoint_format.md.
  // Errors: Errc::corrupt if the bytes are not a CBOR map within the limits.
  [[nodiscard]] Result<Json> body() const;
  // The step of a record of kind `step`. Errors: Errc::corrupt, Errc::invalid_argument (other
  // kind).
  [[nodiscard]] Result<Step> step() const;

  // For folding without decoding; null if the body has another form.
  [[nodiscard]] const Bytes* bytes() const noexcept { return std::get_if<Bytes>(&body_); }

 private:
  Sequence seq_ = 0;
  WallTime time_{};
  RecordKind kind_ = RecordKind::gap;
  std::variant<std::monostate, Patch, Bytes> body_{};
};

// Checksum of a record: CRC-32C over run, epoch, sequence, kind, time and body, so that it detects
// moved records as well as flipped bits.
// Source: CRC-32C (Castagnoli), RFC 3720 appendix B.4.
[[nodiscard]] std::uint32_t record_checksum(std::string_view run, std::uint64_t epoch, Sequence seq,
                                            RecordKind kind, WallTime time,
                                            std::string_view body) noexcept;

// The kind to assume for a record that fails its checksum: the stored kind, unless that may be
// wrong. Empty: any kind, also the intent of an effect. `checksum` is the stored one.
[[nodiscard]] std::optional<RecordKind> credible_kind(std::string_view run, std::uint64_t epoch,
                                                      Sequence seq, RecordKind stored,
                                                      WallTime time, std::string_view body,
                                                      std::uint32_t checksum);

namespace detail {
// At most this many levels wrap a recorded value: a body's map, the steps of a snapshot, a decision
// with its value.
inline constexpr int max_wrapper_depth = 16;
// Allows for both, so that every value accepted for recording can be read back.
inline constexpr int max_body_depth = max_json_depth + max_wrapper_depth;
// Approximate memory limit of a decoded body. The encoded size does not bound it: a map's member of
// four bytes takes a hundred.
inline constexpr std::size_t most_decoded_bytes = std::size_t{1} << 30U;
// CBOR with our limits. The decoder refuses bodies deeper than max_body_depth or larger than
// most_decoded_bytes, sizes beyond the input, and trailing bytes. It allocates for the bytes
// present, not for claimed sizes, and never recurses deeper than the limit.
void encode_cbor(const Json& value, std::string& out);
void encode_step(const Step& step, std::string& out);
// The encoded step; null if it holds what check_json() refuses, except for NaN and infinities.
[[nodiscard]] Record::Bytes encode_if_storable(const Step& step);
// The same bytes as for a step that holds the values as trees. Errors: Errc::invalid_argument.
[[nodiscard]] Result<Record::Bytes> encode_step(const Step& step, const StepValues& values);
[[nodiscard]] Result<Json> decode_cbor(std::string_view bytes);
[[nodiscard]] Result<Step> decode_step(std::string_view bytes);
// Whether the encoded step has an `error`; false for bytes that are no step. Builds nothing.
[[nodiscard]] bool has_error(std::string_view step) noexcept;
// False if decode_cbor would refuse the encoded body for its size or depth.
[[nodiscard]] bool fits_in_memory(std::string_view body);
[[nodiscard]] std::uint32_t crc32c(std::string_view bytes, std::uint32_t seed = 0) noexcept;
}  // namespace detail

}  // namespace triage::inline v0_1
