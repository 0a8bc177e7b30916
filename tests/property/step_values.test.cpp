// SPDX-License-Identifier: MIT
// JSON values of a step given as text or CBOR are stored as the tree of the same value is.
#include "fuzz/step_values.hpp"

#include "support/catch.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>
#include <vector>

using namespace triage;

namespace {

using Engine = std::mt19937_64;

std::size_t below(Engine& engine, std::size_t end) { return engine() % end; }

std::string random_name(Engine& engine) {
  static const std::vector<std::string> parts{
      "a", "b", "url", "\"", "\\", "/", "\n", "\x7f", "ä", "€", "\xF0\x9F\x98\x80", " "};
  std::string name;
  for (std::size_t i = below(engine, 5); i > 0; --i) name += parts[below(engine, parts.size())];
  return name;
}

Json random_value(Engine& engine, int depth) {
  switch (below(engine, depth > 0 ? 10U : 7U)) {
    case 0: return nullptr;
    case 1: return engine() % 2 == 0;
    case 2: return engine() >> below(engine, 64);
    case 3: return -static_cast<std::int64_t>(engine() >> (1 + below(engine, 63)));
    case 4:
      return std::ldexp(static_cast<double>(engine() >> 11U) - 0x1p52,
                        static_cast<int>(below(engine, 2000)) - 1050);
    case 5:
    case 6: return random_name(engine);
    case 7: {
      Json array = Json::array();
      for (std::size_t i = below(engine, 40); i > 0; --i) {
        array.push_back(random_value(engine, depth - 1));
      }
      return array;
    }
    default: {
      Json object = Json::object();
      for (std::size_t i = below(engine, 30); i > 0; --i) {
        object[random_name(engine)] = random_value(engine, depth - 1);
      }
      return object;
    }
  }
}

std::string blanks(Engine& engine) {
  static const std::vector<std::string> kinds{"", "", "", " ", "\n", "\t\r "};
  return kinds[below(engine, kinds.size())];
}

// A text of the value: members in any order, some twice, with blanks and written escapes.
std::string written(const Json& value, Engine& engine) {
  if (!value.is_structured()) {
    return value.dump(-1, ' ', /*ensure_ascii=*/engine() % 2 == 0);
  }
  std::vector<std::string> parts;
  for (const auto& [key, element] : value.items()) {
    std::string part = written(element, engine);
    if (value.is_object()) {
      const std::string name = Json(key).dump(-1, ' ', engine() % 2 == 0) + blanks(engine) + ":";
      part = name + blanks(engine) + part;
    }
    parts.push_back(std::move(part));
  }
  if (value.is_object()) {
    std::shuffle(parts.begin(), parts.end(), engine);
    if (!parts.empty() && engine() % 4 == 0) {  // The last one counts.
      const std::string& later = parts[below(engine, parts.size())];
      if (later.find('\\') == std::string::npos) {
        parts.insert(parts.begin(), later.substr(0, later.find('"', 1) + 1) + ": [1]");
      }
    }
  }
  std::string text(1, value.is_object() ? '{' : '[');
  for (std::size_t i = 0; i < parts.size(); ++i) {
    text += (i == 0 ? "" : ",") + blanks(engine) + parts[i] + blanks(engine);
  }
  return text + (value.is_object() ? '}' : ']');
}

std::string stored_tree(const Json& tree) {
  std::string bytes;
  detail::encode_step({.tool_input = tree}, bytes);
  return bytes;
}

}  // namespace

TEST_CASE("a step is stored alike whether its values are a tree, a text or CBOR", "[property]") {
  Engine engine(7);
  for (int round = 0; round < 500; ++round) {
    const Json tree = random_value(engine, 4);
    const std::string text = written(tree, engine);
    INFO(text);
    REQUIRE(test::stored_with(text, StepValues::Format::json) == stored_tree(tree));
    // nlohmann shortens some numbers, which no reader can tell from longer ones.
    const std::vector<std::uint8_t> cbor = Json::to_cbor(tree);
    REQUIRE(test::stored_with({reinterpret_cast<const char*>(cbor.data()), cbor.size()},
                              StepValues::Format::cbor) == stored_tree(tree));
  }
}

TEST_CASE("a text that a parser refuses is refused with a step", "[property]") {
  Engine engine(8);
  static constexpr std::string_view alphabet = "{}[]\",:\\u0019eE+-. \n\x01\xC3\xBF\xEDtnf";
  int refused = 0;
  for (int round = 0; round < 30'000; ++round) {
    std::string text = written(random_value(engine, 2), engine);
    for (std::size_t i = below(engine, 4); i > 0 && !text.empty(); --i) {
      const std::size_t at = below(engine, text.size());
      const char c = alphabet[below(engine, alphabet.size())];
      switch (engine() % 3) {
        case 0: text[at] = c; break;
        case 1: text.insert(at, 1, c); break;
        default: text.erase(at, 1 + below(engine, 3)); break;
      }
    }
    INFO(text);
    REQUIRE((test::stored_as_tree(text) ==
             (text.empty() ? "" : test::stored_with(text, StepValues::Format::json))));
    test::store_and_check(text);
    refused += test::stored_as_tree(text).empty() ? 1 : 0;
  }
  CHECK(refused > 5'000);
}

TEST_CASE("numbers of a text are stored as a parser reads them", "[property]") {
  for (const std::string_view number : {"0",
                                        "-0",
                                        "-0.0",
                                        "1.0",
                                        "18446744073709551615",
                                        "18446744073709551616",
                                        "-9223372036854775808",
                                        "-9223372036854775809",
                                        "1e308",
                                        "1e309",
                                        "-1e400",
                                        "1e-320",
                                        "1e-400",
                                        "-1e-400",
                                        "0.1e1",
                                        "1E+2",
                                        "01",
                                        "1.",
                                        ".5",
                                        "+1",
                                        "-",
                                        "1e",
                                        "0x10",
                                        "NaN",
                                        "Infinity",
                                        "123456789012345678901234567890",
                                        "4.9406564584124654e-324"}) {
    INFO(number);
    CHECK(test::stored_with(number, StepValues::Format::json) == test::stored_as_tree(number));
  }
}
