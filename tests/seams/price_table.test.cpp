// SPDX-License-Identifier: MIT
#include "triage/price_table.hpp"

#include "support/catch.hpp"
#include "support/result.hpp"

using namespace triage;

TEST_CASE("a model takes the price of its longest listed prefix", "[prices]") {
  const PriceTable table =
      PriceTable::parse("# comment\nacme-4\t5\t25\t2026-06-24\nacme-4-mini\t1\t4\t2026-06-24\n")
          .value();
  CHECK(table.price("acme-4").value().input == 5);
  CHECK(table.price("acme-4-20260624").value().output == 25);
  CHECK(table.price("acme-4-mini@eu").value().input == 1);
  CHECK_ERRC(Errc::not_found, table.price("acme-42"));  // Another word.
  CHECK(table.cost("acme-4", {.input_tokens = 1'000'000, .output_tokens = 100'000}).value() ==
        Approx(7.5));
}

TEST_CASE("a model without a price is an error unless said otherwise", "[prices]") {
  PriceTable table = PriceTable::built_in();
  const auto none = table.cost("no-such-model", {.input_tokens = 1});
  CHECK_ERRC(Errc::not_found, none);
  CHECK(none.error().detail ==
        "no price is known for model \"no-such-model\"; set() one, or say unknown_is_free()");
  table.unknown_is_free();
  CHECK(table.cost("no-such-model", {.input_tokens = 1}).value() == 0);
  CHECK(table.price("claude-opus-4-1").value().as_of == "2026-06-24");
}

TEST_CASE("price tables that make no sense are refused with their line", "[prices]") {
  const auto problem = [](const char* text) {
    const auto table = PriceTable::parse(text);
    CHECK_ERRC(Errc::invalid_argument, table);
    return table.error().detail;
  };
  CHECK(problem("a\t1\t2\td\na\t-1\t2\td\n") ==
        "price table, line 2: has the model \"a\" a second time");
  CHECK(problem("a\t-1\t2\td\n") ==
        "price table, line 1: the input price of \"a\" is -1.000000; allowed is 0 or more, finite");
  CHECK(problem("a\tnan\t2\td") ==
        "price table, line 1: the input price of \"a\" is nan; allowed is 0 or more, finite");
  CHECK(problem("a\tone\t2\td") == "price table, line 1: \"one\" is not a number");
  CHECK(problem("a\t1\t2") == "price table, line 1: has 3 columns, not 4");
}
