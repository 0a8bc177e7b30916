// SPDX-License-Identifier: MIT
#include "triage/price_table.hpp"

#include "triage/detail/try.hpp"
#include "triage/json.hpp"

#include <charconv>
#include <cmath>
#include <utility>
#include <vector>

namespace triage::inline v0_1 {

namespace detail {
extern const std::string_view prices_text;  // Generated from data/prices.tsv.
}

namespace {

Error wrong_line(std::size_t number, const std::string& what) {
  return {Errc::invalid_argument, "price table, line " + std::to_string(number) + ": " + what};
}

std::vector<std::string_view> columns_of(std::string_view line) {
  std::vector<std::string_view> columns;
  for (;;) {
    const std::size_t tab = line.find('\t');
    columns.push_back(line.substr(0, tab));
    if (tab == std::string_view::npos) return columns;
    line.remove_prefix(tab + 1);
  }
}

Result<double> number_of(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) {
    return Error{Errc::invalid_argument, "\"" + printable(text) + "\" is not a number"};
  }
  return outcome::success(value);
}

bool ends_word(std::string_view name, std::size_t at) {
  const std::string_view separators = "-:@./_ ";
  return at == name.size() || separators.find(name[at]) != std::string_view::npos;
}

}  // namespace

Result<void> PriceTable::set(std::string model, ModelPrice price) {
  if (model.empty()) return Error{Errc::invalid_argument, "a price needs a model's name"};
  for (const auto& [side, value] :
       {std::pair<const char*, double>("input", price.input), {"output", price.output}}) {
    if (!std::isfinite(value) || value < 0) {
      return Error{Errc::invalid_argument, "the " + std::string(side) + " price of \"" +
                                               printable(model) + "\" is " + std::to_string(value) +
                                               "; allowed is 0 or more, finite"};
    }
  }
  prices_.insert_or_assign(std::move(model), std::move(price));
  return outcome::success();
}

Result<PriceTable> PriceTable::parse(std::string_view text) {
  PriceTable table;
  std::size_t number = 0;
  while (!text.empty()) {
    ++number;
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.empty() || line.front() == '#') continue;
    const std::vector<std::string_view> columns = columns_of(line);
    if (columns.size() != 4) {
      return wrong_line(number, "has " + std::to_string(columns.size()) + " columns, not 4");
    }
    const auto input = number_of(columns[1]);
    const auto output = number_of(columns[2]);
    if (!input) return wrong_line(number, input.error().detail);
    if (!output) return wrong_line(number, output.error().detail);
    if (table.prices_.contains(columns[0])) {
      return wrong_line(number, "has the model \"" + printable(columns[0]) + "\" a second time");
    }
    const auto stored = table.set(
        std::string(columns[0]),
        {.input = input.value(), .output = output.value(), .as_of = std::string(columns[3])});
    if (!stored) return wrong_line(number, stored.error().detail);
  }
  return outcome::success(std::move(table));
}

const PriceTable& PriceTable::built_in() {
  static const PriceTable table = parse(detail::prices_text).value();
  return table;
}

Result<ModelPrice> PriceTable::price(std::string_view model) const {
  for (std::size_t size = model.size(); size > 0; --size) {
    if (!ends_word(model, size)) continue;
    const auto found = prices_.find(model.substr(0, size));
    if (found != prices_.end()) return outcome::success(found->second);
  }
  if (unknown_is_free_) return outcome::success(ModelPrice{});
  return Error{Errc::not_found, "no price is known for model \"" + printable(model) +
                                    "\"; set() one, or say unknown_is_free()"};
}

Result<double> PriceTable::cost(std::string_view model, const Usage& usage) const {
  TRIAGE_TRY(found, price(model));
  return outcome::success((static_cast<double>(usage.input_tokens) * found.input +
                           static_cast<double>(usage.output_tokens) * found.output) /
                          1e6);
}

}  // namespace triage::inline v0_1
