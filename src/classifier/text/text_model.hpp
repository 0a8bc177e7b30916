// SPDX-License-Identifier: MIT
#pragma once
// The text model: a linear model over hashed features, made by tools/train_classifier or
// `triage train`. Private.

#include "classifier/text/model_input.hpp"
#include "triage/result.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace triage::inline v0_1::detail {

// The probability of each failure type, by number; they sum to 1.
using Posterior = std::array<double, failure_type_count>;

[[nodiscard]] FailureType likeliest_of(const Posterior& posterior) noexcept;

// How likely a type must be if the rules suggest it too, and how often such answers are right:
// measured for each type on rows of origins not used in training.
struct Backing {
  std::array<float, failure_type_count> thresholds = never();
  std::array<float, failure_type_count> shares{};

  static constexpr std::array<float, failure_type_count> never() noexcept {
    std::array<float, failure_type_count> all{};
    all.fill(2);
    return all;
  }
};

// The verdict for a posterior: the most likely type if it reaches `least`, or the backing's
// threshold if the rules suggest the same type; else unknown. `rules`: the result of rules_say().
[[nodiscard]] ModelOpinion opinion_of(const Posterior& posterior, double least,
                                      const Backing& backing, FailureType rules) noexcept;

// All parameters, as trained. File format: docs/classification_internals.md.
struct ModelParameters {
  static constexpr std::uint32_t buckets = 15U << 12U;
  static constexpr std::size_t bucket_rows = 4;  // One cache line together.
  static constexpr std::size_t table_rows = bucket_rows * buckets;
  static constexpr std::size_t row_size = 16;  // failure_type_count weights, padding, the tag.
  static constexpr std::size_t tag_place = 14;

  // Calibration, for each kind of text: scores are divided by the temperature …
  std::array<float, text_kind_count> temperatures{1, 1};
  // … and a posterior below its threshold means unknown.
  std::array<std::array<float, failure_type_count>, text_kind_count> thresholds{};
  Backing backing{};
  std::array<float, feature_group_count> group_scales{};
  std::array<float, failure_type_count> bias{};
  std::array<float, failure_type_count> weight_scales{};  // The value of one unit in the table.
  std::array<std::array<float, failure_type_count>, hint_input_count> hint_weights{};
  std::string table{};        // table_rows * row_size signed bytes.
  std::string known_names{};  // The filter of KnownNames; empty: all are known.
};

// The first row of a feature's bucket.
[[nodiscard]] constexpr std::size_t bucket_begin(std::uint32_t hash) noexcept {
  const std::uint64_t bucket =
      (std::uint64_t{hash * 2654435761U} * ModelParameters::buckets) >> 32U;
  return bucket * ModelParameters::bucket_rows;
}
// Distinguishes the features of one bucket; 0 marks a free row. One in 16,000 features not seen in
// training is mistaken for another.
[[nodiscard]] constexpr std::uint16_t feature_tag(std::uint32_t hash) noexcept {
  const auto tag = static_cast<std::uint16_t>(hash * 2654435761U);
  return tag == 0 ? 1 : tag;
}
// The weight of a feature: its group's scale divided by the length of the whole feature vector.
[[nodiscard]] float feature_norm(const std::array<float, feature_group_count>& group_scales,
                                 const FeatureBuffer& features) noexcept;

// Thread-safety: immutable after parse().
class TextModel {
 public:
  static constexpr std::size_t most_bytes = 4U << 20U;  // Upper bound of a model file.

  // Reads a model file. Errors: Errc::unsupported for another version or lexicon, Errc::corrupt for
  // wrong lengths or a wrong checksum.
  [[nodiscard]] static Result<TextModel> parse(std::string bytes);
  // Comparing the checksum reads all bytes, which costs far more memory and time than the few rows
  // that a text needs. The built-in model is trusted.
  enum class Checksum : bool { compared, trusted };
  // The same without a copy: the bytes must outlive the model.
  [[nodiscard]] static Result<TextModel> parse_static(std::string_view bytes,
                                                      Checksum checksum = Checksum::compared);
  // The bytes that parse() reads.
  [[nodiscard]] static std::string serialize(const ModelParameters& parameters);

  // The names with which an input is collected.
  [[nodiscard]] const KnownNames& known_names() const noexcept { return known_names_; }
  [[nodiscard]] Posterior posterior(const ModelInput& input) const noexcept;
  // The same with the model's own thresholds.
  [[nodiscard]] ModelOpinion opinion(const Posterior& posterior, TextKind kind,
                                     FailureType rules) const noexcept;

 private:
  TextModel() = default;

  ModelParameters parameters_{};  // Without the table.
  std::string_view table_{};
  KnownNames known_names_{};
  std::shared_ptr<const std::string> owner_{};
};

// The built-in model.
[[nodiscard]] const TextModel& built_in_model();

}  // namespace triage::inline v0_1::detail
