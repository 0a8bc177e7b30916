// SPDX-License-Identifier: MIT
#pragma once
// The world of generated runs: tools, names of things, and the wording of errors.

#include "triage/clock.hpp"
#include "triage/json.hpp"

#include <array>
#include <memory>
#include <string>

namespace triage::evaluation {

// The stages of each work item: found, got, made, put; finally all are shipped together.
enum Stage : std::size_t { find, get, make, put, ship };

struct Office {
  std::array<const char*, 5> tools;
  std::array<const char*, 5> input_keys;
  std::array<const char*, 4> id_prefixes;  // Of what the first four stages hand on.
  const char* list_key;                    // In the result of `find`.
  const char* side_tool;                   // Its failures do not matter.
  const char* check_tool;                  // Returns problems; usually none.
  const char* mirror_tool;                 // Can replace `get`.
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
// Printed by a step that cannot reach or use its input.
[[nodiscard]] std::string plain_error(Dice& dice, const std::string& thing);
// Printed by an overloaded or remote service.
[[nodiscard]] std::string distant_error(Dice& dice);
// Printed when `thing` is requested but does not exist.
[[nodiscard]] std::string missing_error(Dice& dice, const std::string& thing);
// Printed when a value lacks the shape that code assumes.
[[nodiscard]] std::string shape_error(Dice& dice);
// Printed by a model provider when a request is too long.
[[nodiscard]] std::string overflow_error(Dice& dice);
// Prose with this many words.
[[nodiscard]] std::string text(Dice& dice, std::size_t words);
// A result that reports an error; one with a different shape from others of the stage; an empty
// one.
[[nodiscard]] Json error_answer(Dice& dice, const std::string& error);
[[nodiscard]] Json odd_answer(Dice& dice, const Office& office, std::size_t stage);
[[nodiscard]] Json empty_answer(Dice& dice, const Office& office, std::size_t stage);
[[nodiscard]] std::string thought(Dice& dice, const std::string& subject);

}  // namespace triage::evaluation
