// SPDX-License-Identifier: MIT
#include "trainer.hpp"

#include "classifier/undress/ending.hpp"
#include "evidence/findings.hpp"
#include "vocabulary.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <thread>
#include <utility>

namespace triage::training {
namespace {

using detail::feature_group_count;
using detail::hint_input_count;
using detail::ModelParameters;

constexpr std::size_t types = failure_type_count;
constexpr std::size_t row_size = ModelParameters::row_size;
constexpr float codes_only_weight = 0.25F;  // A code without its text teaches little.
constexpr float wording_weight = 0.35F;     // From a grammar; rows are real.
constexpr float least_square = 1e-6F;       // With which AdaGrad's sums begin.

// Relative weights of the feature groups. Found with held-out origins.
constexpr std::array<float, feature_group_count> group_scales{1.0F, 0.5F, 1.0F, 1.0F, 1.0F,
                                                              1.0F, 1.0F, 1.0F, 1.0F};

using Scores = std::array<float, row_size>;

// Shuffles an epoch. std::shuffle differs between standard libraries.
void shuffle(std::vector<std::size_t>& order, std::mt19937& random) {
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);
}

class Fit {
 public:
  Fit(const std::vector<const Example*>& examples, const TrainingOptions& options)
      : examples_(examples), options_(options), vocabulary_(examples, options.least_origins) {}

  ModelParameters run() {
    for (const Example* example : examples_) look_up(*example);
    weights_.resize(vocabulary_.hashes().size());
    squares_.resize(weights_.size(), least_square);
    std::mt19937 random(options_.seed);
    std::vector<std::size_t> order(examples_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (int epoch = 0; epoch < options_.epochs; ++epoch) {
      if (epoch == std::min(options_.free_epochs, options_.epochs - 1)) keep_the_strongest();
      shuffle(order, random);
      const float done = static_cast<float>(epoch) / static_cast<float>(options_.epochs);
      rate_ = options_.learning_rate * (1 - 0.9F * done);
      for (const std::size_t i : order) learn(*examples_[i], rows_[i]);
    }
    return rounded();
  }

 private:
  struct Row {
    std::uint32_t row;  // The feature's number; its row of the table once that is filled.
    float value;
  };

  void look_up(const Example& example) {
    detail::FeatureBuffer all;
    all.features = example.features;
    const float norm = detail::feature_norm(group_scales, all);
    all.features.clear();
    std::vector<Row> rows;
    for (const detail::Feature& feature : example.features) {
      const std::uint32_t row = vocabulary_.number(feature.hash);
      if (row == Vocabulary::none) continue;
      rows.push_back({row, norm * group_scales[static_cast<std::size_t>(feature.group)]});
    }
    rows_.push_back(std::move(rows));
  }

  // From here on there are only the features that the table has room for: where it has not, those
  // with the largest weights so far. They become rows of the table.
  void keep_the_strongest() {
    std::vector<std::pair<float, std::uint32_t>> order;
    for (std::uint32_t i = 0; i < weights_.size(); ++i) {
      const Scores& row = weights_[i];
      order.emplace_back(-std::inner_product(row.begin(), row.begin() + types, row.begin(), 0.0F),
                         i);
    }
    std::sort(order.begin(), order.end());
    std::vector<std::uint32_t> rows(weights_.size(), Places::none);
    std::vector<Scores> weights(ModelParameters::table_rows);
    std::vector<float> squares(ModelParameters::table_rows, least_square);
    for (const auto& [strength, i] : order) {
      rows[i] = places_.give(vocabulary_.hashes()[i]);
      const bool is_taken = rows[i] != Places::none && squares[rows[i]] > least_square;
      if (rows[i] == Places::none || is_taken) continue;
      weights[rows[i]] = weights_[i];
      squares[rows[i]] = squares_[i];
    }
    weights_ = std::move(weights);
    squares_ = std::move(squares);
    for (std::vector<Row>& inputs : rows_) {
      for (Row& input : inputs) input.row = rows[input.row];
      std::erase_if(inputs, [](const Row& input) { return input.row == Places::none; });
    }
  }

  // Calls visit(weights, sum of squared gradients, value) for each input of the example.
  template <class Visit>
  void for_each_input(const Example& example, const std::vector<Row>& rows, Visit visit) {
    visit(bias_, bias_squares_, 1.0F);
    for (const Row& row : rows) visit(weights_[row.row], squares_[row.row], row.value);
    for (std::size_t hint = 0; hint < hint_input_count; ++hint) {
      if (example.hints[hint] == 0) continue;
      visit(hint_weights_[hint], hint_squares_[hint], example.hints[hint] * options_.hint_scale);
    }
  }

  void learn(const Example& example, const std::vector<Row>& rows) {
    Scores scores{};
    for_each_input(example, rows, [&](const Scores& weights, float, float value) {
      for (std::size_t i = 0; i < row_size; ++i) scores[i] += weights[i] * value;
    });
    Scores slope{};
    const float best = *std::max_element(scores.begin(), scores.begin() + types);
    float sum = 0;
    for (std::size_t i = 0; i < types; ++i) sum += slope[i] = std::exp(scores[i] - best);
    float square = 0;
    for (std::size_t i = 0; i < types; ++i) {
      const float wanted = i == static_cast<std::size_t>(example.label) ? 1.0F : 0.0F;
      slope[i] = example.weight * (slope[i] / sum - wanted);
      square += slope[i] * slope[i];
    }
    for_each_input(example, rows, [&](Scores& weights, float& squares, float value) {
      squares += square * value * value;
      const float rate = rate_ / std::sqrt(squares);
      for (std::size_t i = 0; i < row_size; ++i) {
        weights[i] -= rate * (slope[i] * value + options_.weight_decay * weights[i]);
      }
    });
  }

  [[nodiscard]] ModelParameters rounded() const {
    ModelParameters parameters;
    parameters.group_scales = group_scales;
    std::copy_n(bias_.begin(), types, parameters.bias.begin());
    for (std::size_t hint = 0; hint < hint_input_count; ++hint) {
      for (std::size_t type = 0; type < types; ++type) {
        parameters.hint_weights[hint][type] = hint_weights_[hint][type] * options_.hint_scale;
      }
    }
    for (std::size_t type = 0; type < types; ++type) {
      float largest = 1e-6F;
      for (const Scores& row : weights_) largest = std::max(largest, std::abs(row[type]));
      parameters.weight_scales[type] = largest / 127;
    }
    parameters.table.assign(ModelParameters::table_rows * row_size, '\0');
    for (std::size_t row = 0; row < weights_.size(); ++row) {
      for (std::size_t type = 0; type < types; ++type) {
        const float unit = weights_[row][type] / parameters.weight_scales[type];
        parameters.table[row * row_size + type] = static_cast<char>(std::lround(unit));
      }
      const std::uint16_t tag = places_.tags()[row];
      std::memcpy(&parameters.table[row * row_size + ModelParameters::tag_place], &tag, sizeof tag);
    }
    return parameters;
  }

  const std::vector<const Example*>& examples_;
  const TrainingOptions& options_;
  const Vocabulary vocabulary_;
  Places places_{};
  float rate_ = 0;
  std::vector<std::vector<Row>> rows_{};  // By example.
  Scores bias_{};
  float bias_squares_ = least_square;
  std::vector<Scores> weights_{};
  std::vector<float> squares_{};
  std::array<Scores, hint_input_count> hint_weights_{};
  std::array<float, hint_input_count> hint_squares_ = filled(least_square);

  static std::array<float, hint_input_count> filled(float value) {
    std::array<float, hint_input_count> all{};
    all.fill(value);
    return all;
  }
};

bool has_codes(const Row& row) {
  return row.failure.http_status || row.failure.json_rpc_code || row.failure.grpc_status;
}

}  // namespace

std::vector<std::size_t> shuffled_folds(std::size_t count, std::size_t folds) {
  std::mt19937 random(7);
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  shuffle(order, random);
  std::vector<std::size_t> fold(count);
  for (std::size_t i = 0; i < count; ++i) fold[order[i]] = i % folds;
  return fold;
}

Example make_example(const Row& row, const detail::ModelInputParts& parts,
                     const detail::KnownNames& known) {
  const Trajectory none;
  const ClassifierInput input{.failure = row.failure, .trajectory = none};
  detail::Findings findings;
  detail::find_hints(input, findings);
  detail::ModelInput model_input;
  detail::collect_model_input(input, findings, parts, known, model_input);
  return {.features = std::move(model_input.features.features),
          .hints = model_input.hints,
          .kind = model_input.features.kind,
          .label = row.label,
          .rules = parts.hints ? detail::rules_say(findings) : FailureType::unknown,
          .origin = row.origin,
          .weight = row.kind == RowKind::paraphrase ? wording_weight : 1.0F,
          .only_teaches = row.kind == RowKind::paraphrase};
}

std::vector<Example> make_examples(const Corpus& corpus, const detail::ModelInputParts& parts) {
  std::vector<Example> examples;
  const detail::KnownNames known(corpus.known_names);
  for (const Row& row : corpus.rows) examples.push_back(make_example(row, parts, known));
  if (!parts.codes) return examples;
  for (const Row& row : corpus.rows) {
    if (!has_codes(row)) continue;
    Row bare = row;
    bare.failure.text.clear();
    bare.failure.exception_type.clear();
    Example example = make_example(bare, parts, known);
    example.weight = codes_only_weight;
    examples.push_back(std::move(example));
  }
  return examples;
}

std::vector<EndingExample> make_ending_examples(const Corpus& corpus,
                                                const detail::ModelInputParts& parts) {
  std::vector<EndingExample> endings;
  const detail::KnownNames known(corpus.known_names);
  const Trajectory none;
  for (std::size_t i = 0; i < corpus.rows.size(); ++i) {
    if (corpus.rows[i].kind == RowKind::paraphrase) continue;
    Row row = corpus.rows[i];
    detail::Findings findings;
    detail::find_hints({.failure = corpus.rows[i].failure, .trajectory = none}, findings);
    const std::string_view whole = findings.plain_of(corpus.rows[i].failure.text);
    const auto asked = detail::endings_of(whole);
    for (const auto& [text, of] : asked) {
      if (text.empty()) continue;
      row.failure.text = text;
      row.failure.causes.clear();
      endings.push_back({.row = i, .example = make_example(row, parts, known), .of = of});
    }
  }
  return endings;
}

ModelParameters fit(const std::vector<const Example*>& examples, const TrainingOptions& options) {
  return Fit(examples, options).run();
}

std::vector<detail::Posterior> leave_origins_out(const std::vector<Example>& examples,
                                                 std::size_t count, std::size_t origins,
                                                 std::size_t folds, unsigned threads,
                                                 const std::vector<EndingExample>& endings) {
  folds = std::min(folds, origins);
  const std::vector<std::size_t> fold = shuffled_folds(origins, folds);
  std::vector<detail::Posterior> posteriors(count + endings.size());
  const auto work = [&](std::size_t first) {
    detail::ModelInput input;
    for (std::size_t left_out = first; left_out < folds; left_out += threads) {
      std::vector<const Example*> teaching;
      for (const Example& example : examples) {
        if (example.only_teaches || fold[example.origin] != left_out) {
          teaching.push_back(&example);
        }
      }
      const auto model = detail::TextModel::parse(detail::TextModel::serialize(fit(teaching)));
      for (std::size_t i = 0; i < posteriors.size(); ++i) {
        const Example& asked = i < count ? examples[i] : endings[i - count].example;
        if (asked.only_teaches || fold[asked.origin] != left_out) continue;
        input.features.features = asked.features;
        input.features.kind = asked.kind;
        input.hints = asked.hints;
        posteriors[i] = model.value().posterior(input);
      }
    }
  };
  std::vector<std::thread> workers;
  for (unsigned i = 0; i < threads; ++i) workers.emplace_back(work, i);
  for (std::thread& worker : workers) worker.join();
  return posteriors;
}

}  // namespace triage::training
