// SPDX-License-Identifier: MIT
#pragma once
// Fits the text model to examples.

#include "classifier/text/text_model.hpp"
#include "corpus.hpp"
#include "evidence/findings.hpp"

#include <cstdint>
#include <vector>

namespace triage::training {

// The model's input for a row, and the expected answer.
struct Example {
  std::vector<detail::Feature> features{};
  std::array<float, detail::hint_input_count> hints{};
  detail::TextKind kind = detail::TextKind::message;
  FailureType label = FailureType::unknown;
  FailureType rules = FailureType::unknown;  // The type that the rules suggest.
  std::size_t origin = 0;
  float weight = 1;           // In training.
  bool only_teaches = false;  // A paraphrase: never held out and never asked about.
};

// The example of one row, as the classifier would see it with a model that knows these names.
[[nodiscard]] Example make_example(const Row& row, const detail::ModelInputParts& parts,
                                   const detail::KnownNames& known);
// The rows' examples in order, followed by one without text for each row that has codes, as
// additional training.
[[nodiscard]] std::vector<Example> make_examples(const Corpus& corpus,
                                                 const detail::ModelInputParts& parts);

// The ending of a long text, which the classifier tries if the model gives no type.
struct EndingExample {
  std::size_t row = 0;  // In the corpus. A row's endings are in the order in which they are tried.
  Example example{};
  detail::TextEnding of = detail::TextEnding::last_line;
};
// The endings of rows that have any and are not paraphrases. They are only asked about, never used
// for training.
[[nodiscard]] std::vector<EndingExample> make_ending_examples(const Corpus& corpus,
                                                              const detail::ModelInputParts& parts);

struct TrainingOptions {
  int epochs = 6;       // At least 1.
  int free_epochs = 2;  // Then, and before the last epoch at the latest, the features with the
                        // smallest weights give way where the model's table has no room.
  std::size_t least_origins = 2;  // Features of fewer origins count as names and are left out.
  float learning_rate = 0.2F;
  float weight_decay = 1e-5F;
  float hint_scale = 3;  // How readily hints are learned.
  std::uint32_t seed = 1;
};

// Multinomial logistic regression by stochastic gradient descent with AdaGrad, one learning rate
// per feature, rounded to the model file's signed bytes. Deterministic. Temperature is 1 and
// thresholds are 0: calibration.hpp finds them.
// Source: J. Duchi, E. Hazan, Y. Singer, "Adaptive subgradient methods", JMLR 12, 2011.
[[nodiscard]] detail::ModelParameters fit(const std::vector<const Example*>& examples,
                                          const TrainingOptions& options = {});

// The fold below `folds` in which each of `count` origins is held out: shuffled with a fixed seed.
[[nodiscard]] std::vector<std::size_t> shuffled_folds(std::size_t count, std::size_t folds);

// Posteriors of examples from models fitted to examples of other origins; holds out several origins
// at a time if `folds` is less than their number. Asks about the first `count` examples except
// paraphrases, and trains on all of them; then asks about `endings`. The result does not depend on
// `threads`.
[[nodiscard]] std::vector<detail::Posterior> leave_origins_out(
    const std::vector<Example>& examples, std::size_t count, std::size_t origins, std::size_t folds,
    unsigned threads, const std::vector<EndingExample>& endings = {});

}  // namespace triage::training
