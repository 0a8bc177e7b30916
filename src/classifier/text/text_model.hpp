// SPDX-License-Identifier: MIT
#pragma once
// The text model: a linear model over hashed features, made by tools/train_classifier. Private.

#include "classifier/text/model_input.hpp"
#include "triage/result.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace triage::inline v0_1::detail {

// How likely each failure type is, by its number; they add up to 1.
using Posterior = std::array<double, failure_type_count>;

[[nodiscard]] FailureType likeliest_of(const Posterior& posterior) noexcept;

// How likely a type must be that the rules suggest, too, and how many of these answers are right:
// measured for each type on rows of origins that the model had not seen.
struct Backing {
  std::array<float, failure_type_count> thresholds = never();
  std::array<float, failure_type_count> shares{};

  static constexpr std::array<float, failure_type_count> never() noexcept {
    std::array<float, failure_type_count> all{};
    all.fill(2);
    return all;
  }
};

// What is said of a posterior: the likeliest type if it reaches `least`, or what the backing asks
// for where the rules suggest the same; else unknown. `rules`: what rules_say().
[[nodiscard]] ModelOpinion opinion_of(const Posterior& posterior, double least,
                                      const Backing& backing, FailureType rules) noexcept;

// All parameters, as the trainer knows them. File format: docs/classification_internals.md.
struct ModelParameters {
  static constexpr std::uint32_t buckets = 15U << 12U;
  static constexpr std::size_t bucket_rows = 4;  // Together a cache line.
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
  std::array<float, failure_type_count> weight_scales{};  // Of one unit in the table.
  std::array<std::array<float, failure_type_count>, hint_input_count> hint_weights{};
  std::string table{};  // table_rows * row_size signed bytes.
};

// The first row of the bucket that a feature's row stands in, if it has one.
[[nodiscard]] constexpr std::size_t bucket_begin(std::uint32_t hash) noexcept {
  const std::uint64_t bucket =
      (std::uint64_t{hash * 2654435761U} * ModelParameters::buckets) >> 32U;
  return bucket * ModelParameters::bucket_rows;
}
// Tells the features of one bucket apart; 0 marks a free row. Of two features that have never met
// in training, one in 16,000 is taken for another.
[[nodiscard]] constexpr std::uint16_t feature_tag(std::uint32_t hash) noexcept {
  const auto tag = static_cast<std::uint16_t>(hash * 2654435761U);
  return tag == 0 ? 1 : tag;
}
// What a feature counts: its group's scale over the length of the vector of all of them.
[[nodiscard]] float feature_norm(const std::array<float, feature_group_count>& group_scales,
                                 const FeatureBuffer& features) noexcept;

// Thread-safety: immutable after parse().
class TextModel {
 public:
  static constexpr std::size_t most_bytes = 4U << 20U;  // No model file is longer.

  // Reads a model file. Errors: Errc::unsupported for another version or lexicon, Errc::corrupt for
  // wrong lengths or a checksum that does not match.
  [[nodiscard]] static Result<TextModel> parse(std::string bytes);
  // Comparing the checksum reads all bytes, which costs a process memory and time that the few rows
  // that a text asks for do not. What was built into the program needs no comparing.
  enum class Checksum : bool { compared, trusted };
  // The same without a copy: the bytes must outlive the model.
  [[nodiscard]] static Result<TextModel> parse_static(std::string_view bytes,
                                                      Checksum checksum = Checksum::compared);
  // The bytes that parse() reads.
  [[nodiscard]] static std::string serialize(const ModelParameters& parameters);

  [[nodiscard]] Posterior posterior(const ModelInput& input) const noexcept;
  // The same by the model's own thresholds.
  [[nodiscard]] ModelOpinion opinion(const Posterior& posterior, TextKind kind,
                                     FailureType rules) const noexcept;

 private:
  TextModel() = default;

  ModelParameters parameters_{};  // Without the table.
  std::string_view table_{};
  std::shared_ptr<const std::string> owner_{};
};

// The model that the library was built with.
[[nodiscard]] const TextModel& built_in_model();

}  // namespace triage::inline v0_1::detail
