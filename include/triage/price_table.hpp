// SPDX-License-Identifier: MIT
#pragma once
// What calls of language models cost, as data.

#include "triage/result.hpp"
#include "triage/usage.hpp"

#include <map>
#include <string>
#include <string_view>

namespace triage::inline v0_1 {

// US dollars for a million tokens; finite, 0 or more.
struct ModelPrice {
  double input = 0.0;
  double output = 0.0;
  std::string as_of{};  // Date of the price list, for people.
};

// Prices by model name. A name that is not listed takes the price of the longest listed prefix that
// ends where a word of the name ends ("opus-5" for "opus-5-20260624"). A value.
class PriceTable {
 public:
  PriceTable() = default;

  // Lines of "model <tab> input <tab> output <tab> date"; lines that begin with # are comments.
  // Errors: Errc::invalid_argument, naming line, field and value: a negative price, a model twice.
  [[nodiscard]] static Result<PriceTable> parse(std::string_view text);
  // The table in data/prices.tsv. Prices change: look at as_of.
  [[nodiscard]] static const PriceTable& built_in();

  // Errors: Errc::invalid_argument for an empty name or a price out of range.
  Result<void> set(std::string model, ModelPrice price);
  // From now on a model that nothing is known of costs nothing, because you say so.
  void unknown_is_free() { unknown_is_free_ = true; }

  // Errors: Errc::not_found for a model without a price.
  [[nodiscard]] Result<ModelPrice> price(std::string_view model) const;
  // What these tokens cost. Errors: as for price().
  [[nodiscard]] Result<double> cost(std::string_view model, const Usage& usage) const;

 private:
  std::map<std::string, ModelPrice, std::less<>> prices_{};
  bool unknown_is_free_ = false;
};

}  // namespace triage::inline v0_1
