// SPDX-License-Identifier: MIT
#pragma once
// Other names for what a text speaks of: a name must not say what went wrong.

#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace triage::training {

// Makes names of the words that the lexicon knows: the model has opinions about these.
class OtherNames {
 public:
  OtherNames();

  // The text with another name for each name_like_this, the same one wherever it occurs. Keys, as
  // in name_like_this=1, stay. The same seed gives the same names.
  [[nodiscard]] std::string give(std::string_view text);

 private:
  [[nodiscard]] std::string name();
  [[nodiscard]] std::string_view word() { return words_[random_() % words_.size()]; }

  std::vector<std::string_view> words_{};
  std::mt19937 random_{1};
};

}  // namespace triage::training
