// SPDX-License-Identifier: MIT
#pragma once
// Prices of language model calls, as data.

#include "triage/result.hpp"
#include "triage/usage.hpp"

#include <map>
#include <string>
#include <string_view>

namespace triage::inline v0_1 {

// US dollars per million tokens; finite, 0 or more.
struct ModelPrice {
  double input = 0.0;
  double output = 0.0;
  std::string as_of{};  // Date of the price list; informative.
};

// Prices by model name. An unlisted name has the price of its longest listed prefix that ends at a
// word boundary ("opus-5" for "opus-5-20260624"). A value.
class PriceTable {
 public:
  PriceTable() = default;

  // Lines of "model <tab> input <tab> output <tab> date"; lines that begin with # are comments.
  // Errors: Errc::invalid_argument, naming line, field and value: a negative price, a model twice.
  [[nodiscard]] static Result<PriceTable> parse(std::string_view text);
  // The table in data/prices.tsv. Prices change: check as_of.
  [[nodiscard]] static const PriceTable& built_in();

  // Errors: Errc::invalid_argument for an empty name or a price out of range.
  Result<void> set(std::string model, ModelPrice price);
  // From now on, unknown models are free.
  void unknown_is_free() { unknown_is_free_ = true; }

  // Errors: Errc::not_found for a model without a price.
  [[nodiscard]] Result<ModelPrice> price(std::string_view model) const;
  // The cost of these tokens. Errors: as for price().
  [[nodiscard]] Result<double> cost(std::string_view model, const Usage& usage) const;

 private:
  std::map<std::string, ModelPrice, std::less<>> prices_{};
  bool unknown_is_free_ = false;
};

}  // namespace triage::inline v0_1
