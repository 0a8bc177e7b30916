// SPDX-License-Identifier: MIT
#pragma once
// Fits the text model to examples.

#include "classifier/text/text_model.hpp"
#include "corpus.hpp"

#include <cstdint>
#include <vector>

namespace triage::training {

// What the model sees of one row, and what it should say.
struct Example {
  std::vector<detail::Feature> features{};
  std::array<float, detail::hint_input_count> hints{};
  detail::TextKind kind = detail::TextKind::message;
  FailureType label = FailureType::unknown;
  FailureType rules = FailureType::unknown;  // What they say of it.
  std::size_t origin = 0;
  float weight = 1;           // How much it counts in training.
  bool only_teaches = false;  // A paraphrase: it is never left out and never asked about.
};

// The example of one row, as the classifier would see it.
[[nodiscard]] Example make_example(const Row& row, const detail::ModelInputParts& parts);
// Examples of the rows, in their order; then, as further teaching, one without text for every row
// that has codes.
[[nodiscard]] std::vector<Example> make_examples(const Corpus& corpus,
                                                 const detail::ModelInputParts& parts);

// The ending of a long text by itself, as the classifier asks about it where the model is silent.
struct EndingExample {
  std::size_t row =
      0;  // Of the corpus. Endings of one row stand in the order in which they are asked.
  Example example{};
  bool last_line = false;  // Alone.
};
// The endings of the rows that have any and are no paraphrases. They are asked about and never
// teach.
[[nodiscard]] std::vector<EndingExample> make_ending_examples(const Corpus& corpus,
                                                              const detail::ModelInputParts& parts);

struct TrainingOptions {
  int epochs = 10;
  std::size_t least_origins = 2;  // Features of fewer origins are names, and left out.
  float learning_rate = 0.2F;
  float weight_decay = 1e-5F;
  float hint_scale = 3;  // How readily hints are learned.
  std::uint32_t seed = 1;
};

// Multinomial logistic regression by stochastic gradient descent with AdaGrad's rates, one a
// feature, then rounded to the model file's signed bytes. Deterministic. Temperature is 1 and
// thresholds are 0: calibration.hpp finds them.
// Source: J. Duchi, E. Hazan, Y. Singer, "Adaptive subgradient methods", JMLR 12, 2011.
[[nodiscard]] detail::ModelParameters fit(const std::vector<const Example*>& examples,
                                          const TrainingOptions& options = {});

// The fold, below `folds`, in which each of `count` origins is left out: shuffled, always alike.
[[nodiscard]] std::vector<std::size_t> shuffled_folds(std::size_t count, std::size_t folds);

// Posteriors of examples, by a model fitted to all examples of other origins; several origins are
// left out at a time if `folds` is smaller than the number of origins. `count` examples from the
// front are asked, except those that only teach; all of them teach. Then `endings` are asked. Uses
// `threads` threads; the result does not depend on it.
[[nodiscard]] std::vector<detail::Posterior> leave_origins_out(
    const std::vector<Example>& examples, std::size_t count, std::size_t origins, std::size_t folds,
    unsigned threads, const std::vector<EndingExample>& endings = {});

}  // namespace triage::training
