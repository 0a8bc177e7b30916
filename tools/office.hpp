// SPDX-License-Identifier: MIT
#pragma once
// What agents of made-up runs work with: tools, names of things, and how programs word errors.

#include "triage/clock.hpp"
#include "triage/json.hpp"

#include <array>
#include <memory>
#include <string>

namespace triage::evaluation {

// Stages that every item of work passes: found, got, made, put; then all are shipped together.
enum Stage : std::size_t { find, get, make, put, ship };

struct Office {
  std::array<const char*, 5> tools;
  std::array<const char*, 5> input_keys;
  std::array<const char*, 4> id_prefixes;  // Of what the first four stages hand on.
  const char* list_key;                    // Of what `find` answers.
  const char* side_tool;                   // Nobody minds if it fails.
  const char* check_tool;                  // Answers with problems; usually there are none.
  const char* mirror_tool;                 // Can do what `get` does.
  const char* subject;
};

// Draws numbers, names and wordings.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random_(seeded_random(seed)) {}
  [[nodiscard]] std::size_t below(std::size_t end) { return random_->next() % end; }
  [[nodiscard]] std::size_t between(std::size_t first, std::size_t last) {
    return first + below(last - first + 1);
  }
  [[nodiscard]] bool chance(double share) {
    return static_cast<double>(below(1'000'000)) < share * 1e6;
  }
  template <class T, std::size_t n>
  const T& one_of(const std::array<T, n>& all) {
    return all[below(n)];
  }
  [[nodiscard]] std::string id(const std::string& prefix) {
    return prefix + std::to_string(between(1000, 99999));
  }

 private:
  std::shared_ptr<Random> random_;
};

[[nodiscard]] const Office& some_office(Dice& dice);
// What a step prints that cannot reach or use what it works with.
[[nodiscard]] std::string plain_error(Dice& dice, const std::string& thing);
// What an overloaded or distant service prints.
[[nodiscard]] std::string distant_error(Dice& dice);
// What is printed where `thing` is asked for and is not there.
[[nodiscard]] std::string missing_error(Dice& dice, const std::string& thing);
// What is printed where a value has not the shape that the code takes for granted.
[[nodiscard]] std::string shape_error(Dice& dice);
// What a model's provider prints where a request is too long.
[[nodiscard]] std::string overflow_error(Dice& dice);
// Prose of so many words.
[[nodiscard]] std::string text(Dice& dice, std::size_t words);
// An answer that tells of an error; one that has another shape than others of the stage; one in
// which there is nothing.
[[nodiscard]] Json error_answer(Dice& dice, const std::string& error);
[[nodiscard]] Json odd_answer(Dice& dice, const Office& office, std::size_t stage);
[[nodiscard]] Json empty_answer(Dice& dice, const Office& office, std::size_t stage);
[[nodiscard]] std::string thought(Dice& dice, const std::string& subject);

}  // namespace triage::evaluation
