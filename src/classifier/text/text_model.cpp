// SPDX-License-Identifier: MIT
#include "classifier/text/text_model.hpp"

#include "triage/record.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

namespace triage::inline v0_1::detail {

// data/model.bin; made by cmake/embed_model.cpp.in.
std::string_view model_bytes() noexcept;

namespace {

constexpr std::string_view magic = "triageTM";
constexpr std::uint32_t format_version = 6;
constexpr float vector_length = 6;  // Of one text's features, after normalisation.
constexpr float least_length = 2;   // Before normalisation; shorter texts say little.
constexpr std::size_t checksum_bytes = sizeof(std::uint32_t);
constexpr std::size_t table_bytes = ModelParameters::table_rows * ModelParameters::row_size;

// Visits the fields in file order. Numbers are stored in the machine's format, which is
// little-endian with IEEE floats on all supported platforms.
template <class Parameters, class Visit>
void visit_numbers(Parameters& parameters, Visit&& visit) {
  visit(parameters.temperatures.data(), sizeof parameters.temperatures);
  visit(parameters.thresholds.data(), sizeof parameters.thresholds);
  visit(parameters.backing.thresholds.data(), sizeof parameters.backing.thresholds);
  visit(parameters.backing.shares.data(), sizeof parameters.backing.shares);
  visit(parameters.group_scales.data(), sizeof parameters.group_scales);
  visit(parameters.bias.data(), sizeof parameters.bias);
  visit(parameters.weight_scales.data(), sizeof parameters.weight_scales);
  visit(parameters.hint_weights.data(), sizeof parameters.hint_weights);
}

std::string header() {
  const std::uint32_t numbers[] = {format_version, feature_version, built_in_lexicon_checksum(),
                                   ModelParameters::buckets,
                                   static_cast<std::uint32_t>(failure_type_count)};
  std::string bytes(magic);
  bytes.append(reinterpret_cast<const char*>(numbers), sizeof numbers);
  return bytes;
}

std::uint32_t read_checksum(std::string_view bytes) {
  std::uint32_t checksum = 0;
  std::memcpy(&checksum, bytes.data() + bytes.size() - checksum_bytes, checksum_bytes);
  return checksum;
}

// The row of a feature, or nullptr if the model does not know it.
const char* find_row(const char* table, std::uint32_t hash) noexcept {
  const char* row = table + bucket_begin(hash) * ModelParameters::row_size;
  const std::uint16_t wanted = feature_tag(hash);
  for (std::size_t i = 0; i < ModelParameters::bucket_rows; ++i, row += ModelParameters::row_size) {
    std::uint16_t tag = 0;
    std::memcpy(&tag, row + ModelParameters::tag_place, sizeof tag);
    if (tag == wanted) return row;
  }
  return nullptr;
}

Error refused(Errc code, std::string_view why) { return {code, "model file: " + std::string(why)}; }

}  // namespace

float feature_norm(const std::array<float, feature_group_count>& group_scales,
                   const FeatureBuffer& features) noexcept {
  std::array<float, feature_group_count> counts{};
  for (const Feature& feature : features.features)
    counts[static_cast<std::size_t>(feature.group)]++;
  float squares = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    squares += counts[i] * group_scales[i] * group_scales[i];
  }
  return vector_length / std::max(std::sqrt(squares), least_length);
}

Result<TextModel> TextModel::parse_static(std::string_view bytes, Checksum checksum) {
  const std::string expected = header();
  if (!bytes.starts_with(magic)) return refused(Errc::corrupt, "it is not a model file");
  if (bytes.size() < expected.size() + checksum_bytes)
    return refused(Errc::corrupt, "it is cut off");
  if (checksum == Checksum::compared &&
      crc32c(bytes.substr(0, bytes.size() - checksum_bytes)) != read_checksum(bytes)) {
    return refused(Errc::corrupt, "its checksum does not match");
  }
  if (!bytes.starts_with(expected)) {
    return refused(Errc::unsupported,
                   "it was made for another version or another lexicon; train it again");
  }
  TextModel model;
  bytes.remove_prefix(expected.size());
  std::size_t numbers = 0;
  visit_numbers(model.parameters_, [&](const void*, std::size_t size) { numbers += size; });
  if (bytes.size() != numbers + table_bytes + KnownNames::bytes + checksum_bytes) {
    return refused(Errc::corrupt, "its length is wrong");
  }
  visit_numbers(model.parameters_, [&](void* field, std::size_t size) {
    std::memcpy(field, bytes.data(), size);
    bytes.remove_prefix(size);
  });
  model.table_ = bytes.substr(0, table_bytes);
  model.known_names_ = KnownNames(bytes.substr(table_bytes, KnownNames::bytes));
  return outcome::success(std::move(model));
}

Result<TextModel> TextModel::parse(std::string bytes) {
  auto owner = std::make_shared<const std::string>(std::move(bytes));
  auto model = parse_static(*owner);
  if (model) model.value().owner_ = std::move(owner);
  return model;
}

std::string TextModel::serialize(const ModelParameters& parameters) {
  std::string bytes = header();
  visit_numbers(parameters, [&](const void* field, std::size_t size) {
    bytes.append(static_cast<const char*>(field), size);
  });
  bytes += parameters.table;
  bytes += parameters.known_names.empty() ? std::string(KnownNames::bytes, '\xFF')
                                          : parameters.known_names;
  const std::uint32_t checksum = crc32c(bytes);
  bytes.append(reinterpret_cast<const char*>(&checksum), sizeof checksum);
  return bytes;
}

Posterior TextModel::posterior(const ModelInput& input) const noexcept {
  constexpr std::size_t row_size = ModelParameters::row_size;
  std::array<std::array<std::int32_t, row_size>, feature_group_count> sums{};
  for (const Feature& feature : input.features.features) {
    const char* row = find_row(table_.data(), feature.hash);
    if (row == nullptr) continue;
    std::array<std::int32_t, row_size>& sum = sums[static_cast<std::size_t>(feature.group)];
    for (std::size_t i = 0; i < row_size; ++i) sum[i] += static_cast<signed char>(row[i]);
  }
  const float norm = feature_norm(parameters_.group_scales, input.features);
  std::array<float, failure_type_count> scores = parameters_.bias;
  for (std::size_t group = 0; group < feature_group_count; ++group) {
    const float scale = parameters_.group_scales[group] * norm;
    for (std::size_t type = 0; type < failure_type_count; ++type) {
      scores[type] +=
          scale * parameters_.weight_scales[type] * static_cast<float>(sums[group][type]);
    }
  }
  for (std::size_t hint = 0; hint < hint_input_count; ++hint) {
    if (input.hints[hint] == 0) continue;
    for (std::size_t type = 0; type < failure_type_count; ++type) {
      scores[type] += input.hints[hint] * parameters_.hint_weights[hint][type];
    }
  }
  const float temperature = parameters_.temperatures[static_cast<std::size_t>(input.features.kind)];
  const float best = *std::max_element(scores.begin(), scores.end());
  Posterior posterior{};
  double sum = 0;
  for (std::size_t type = 0; type < failure_type_count; ++type) {
    posterior[type] = std::exp(static_cast<double>((scores[type] - best) / temperature));
    sum += posterior[type];
  }
  for (double& share : posterior) share /= sum;
  return posterior;
}

ModelOpinion opinion_of(const Posterior& posterior, double least, const Backing& backing,
                        FailureType rules) noexcept {
  const FailureType likeliest = likeliest_of(posterior);
  const double confidence = posterior[static_cast<std::size_t>(likeliest)];
  ModelOpinion opinion{.likeliest = likeliest, .confidence = confidence};
  if (confidence >= least) opinion.type = likeliest;
  const auto type = static_cast<std::size_t>(likeliest);
  if (likeliest == FailureType::unknown || rules != likeliest ||
      confidence < static_cast<double>(backing.thresholds[type])) {
    return opinion;
  }
  opinion.type = likeliest;
  opinion.confidence = std::max(confidence, static_cast<double>(backing.shares[type]));
  return opinion;
}

FailureType likeliest_of(const Posterior& posterior) noexcept {
  const auto best = std::max_element(posterior.begin(), posterior.end()) - posterior.begin();
  return all_failure_types[static_cast<std::size_t>(best)];
}

ModelOpinion TextModel::opinion(const Posterior& posterior, TextKind kind,
                                FailureType rules) const noexcept {
  const auto best = static_cast<std::size_t>(likeliest_of(posterior));
  const float least = parameters_.thresholds[static_cast<std::size_t>(kind)][best];
  return opinion_of(posterior, static_cast<double>(least), parameters_.backing, rules);
}

const TextModel& built_in_model() {
  static const TextModel model =
      TextModel::parse_static(model_bytes(), TextModel::Checksum::trusted).value();
  return model;
}

}  // namespace triage::inline v0_1::detail
