// SPDX-License-Identifier: MIT
#include "triage/policies/yaml.hpp"

#include "triage/detail/problems.hpp"
#include "triage/detail/try.hpp"
#include "triage/json.hpp"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace triage::inline v0_1 {
namespace {

constexpr std::size_t most_values = 100'000;
constexpr std::size_t most_bytes = 64U << 20U;  // Of all texts and paths.

// Thrown while converting and caught by the function that started it.
struct BadYaml {
  int line;
  std::string why;
};

bool is_any_of(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

template <class Number, class... How>
std::errc read_number(std::string_view text, Number& number, How... how) {
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number, how...);
  return read.ptr == end ? read.ec : std::errc::invalid_argument;
}

// A number as YAML's core schema writes it: -7, +7, 0o17, 0x1F, .5, 1e3. Null if JSON does not have
// it, .nan or -.inf, or if it is a whole one too large to be kept exactly.
std::optional<Json> number_in(std::string_view text) {
  if (is_any_of(text, {".nan", ".NaN", ".NAN"})) return nullptr;
  std::uint64_t natural = 0;
  const int base = text.starts_with("0x") ? 16 : text.starts_with("0o") ? 8 : 10;
  if (base != 10) {
    const std::errc read = read_number(text.substr(2), natural, base);
    if (read == std::errc::result_out_of_range) return nullptr;
    return read == std::errc{} ? std::optional<Json>(natural) : std::nullopt;
  }
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  if (is_any_of(text.substr(text.starts_with('-') ? 1 : 0), {".inf", ".Inf", ".INF"})) {
    return nullptr;
  }
  std::int64_t whole = 0;
  const std::errc read = read_number(text, whole);
  if (read == std::errc{}) return whole;
  if (read_number(text, natural) == std::errc{}) return natural;
  if (read == std::errc::result_out_of_range) return nullptr;
  double number = 0;
  if (read_number(text, number) == std::errc{} && std::isfinite(number)) return number;
  return std::nullopt;
}

bool is_finite(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Converts YAML to JSON and remembers the line of each path.
class Converter {
 public:
  Json convert(const YAML::Node& node, const std::string& path, int depth) {
    const int line = node.Mark().line + 1;
    lines_.emplace(path, line);
    if (depth > max_json_depth) {
      throw BadYaml{line, "is nested deeper than 256 levels, the most that is allowed"};
    }
    if (++values_ > most_values) {
      throw BadYaml{line, "expands to more than 100000 values, the most that is allowed"};
    }
    bytes_ += path.size() + (node.IsScalar() ? node.Scalar().size() : 0);
    if (bytes_ > most_bytes) {
      throw BadYaml{line, "expands to more than 64 MB, the most that is allowed"};
    }
    if (!node.Tag().empty() && node.Tag() != "?" && node.Tag() != "!") {
      throw BadYaml{line, "has the tag \"" + printable(node.Tag()) + "\"; no tags are allowed"};
    }
    switch (node.Type()) {
      case YAML::NodeType::Map: return map(node, path, depth);
      case YAML::NodeType::Sequence: return sequence(node, path, depth);
      case YAML::NodeType::Scalar: return scalar(node);
      default: return nullptr;
    }
  }

  // The line of the longest path that is a prefix of `text`; 0 if there is none.
  [[nodiscard]] int line_of(const std::string& text) const {
    int line = 0;
    std::size_t longest = 0;
    for (const auto& [path, at] : lines_) {
      const bool whole =
          path.size() == text.size() ||
          (path.size() < text.size() && text.compare(0, path.size(), path) == 0 &&
           std::string_view(" .:[").find(text[path.size()]) != std::string_view::npos);
      if (whole && path.size() > longest && text.compare(0, path.size(), path) == 0) {
        longest = path.size();
        line = at;
      }
    }
    return line;
  }

 private:
  Json map(const YAML::Node& node, const std::string& path, int depth) {
    Json object = Json::object();
    for (const auto& entry : node) {
      const int line = entry.first.Mark().line + 1;
      if (!entry.first.IsScalar()) throw BadYaml{line, "has a key that is not text"};
      const std::string& key = entry.first.Scalar();
      if (object.contains(key)) {
        throw BadYaml{line, "has the key \"" + printable(key) +
                                "\" twice in one object; allowed is each key once"};
      }
      const std::string below = path.empty() ? key : path + "." + key;
      object[key] = convert(entry.second, below, depth + 1);
      lines_[below] = line;  // The line of the key, not of its value.
    }
    return object;
  }

  Json sequence(const YAML::Node& node, const std::string& path, int depth) {
    Json array = Json::array();
    for (const auto& element : node) {
      array.push_back(convert(element, path + "[" + std::to_string(array.size()) + "]", depth + 1));
    }
    return array;
  }

  static Json scalar(const YAML::Node& node) {
    const std::string& text = node.Scalar();
    if (node.Tag() == "!") return text;  // It was quoted.
    if (is_any_of(text, {"", "~", "null", "Null", "NULL"})) return nullptr;
    if (is_any_of(text, {"true", "True", "TRUE"})) return true;
    if (is_any_of(text, {"false", "False", "FALSE"})) return false;
    const auto number = number_in(text);
    if (number && number->is_null()) {
      throw BadYaml{
          node.Mark().line + 1,
          "has the number " + printable(text) +
              (is_finite(text) ? ", which is too large; quote it if it is meant as a text"
                               : ", which JSON does not have; quote it if it is meant as a text")};
    }
    return number.value_or(text);
  }

  std::map<std::string, int> lines_{};
  std::size_t values_ = 0;
  std::size_t bytes_ = 0;
};

Error at_line(int line, const std::string& text) {
  if (line <= 0) return {Errc::invalid_argument, text};
  return {Errc::invalid_argument, "line " + std::to_string(line) + ": " + text};
}

// The parser would put other characters in the place of bytes that are none.
Result<void> check_utf8(std::string_view text, std::string_view what) {
  int line = 1;
  for (std::size_t begin = 0; begin < text.size(); ++line) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    try {
      static_cast<void>(Json(std::string(text.substr(begin, end - begin))).dump());
    } catch (const Json::exception&) {
      return at_line(line, std::string(what) + " is not UTF-8, which alone is allowed");
    }
    begin = end + 1;
  }
  return outcome::success();
}

// Converts the text's only document. Errors call it `what`.
Result<Json> convert_yaml(std::string_view text, std::string_view what, Converter& converter) {
  TRIAGE_TRYV(check_utf8(text, what));
  try {
    const std::vector<YAML::Node> documents = YAML::LoadAll(std::string(text));
    if (documents.size() > 1) {
      return at_line(documents[1].Mark().line + 1, "a second document begins; allowed is one");
    }
    Json document;
    if (!documents.empty()) document = converter.convert(documents[0], "", 0);
    return outcome::success(std::move(document));
  } catch (const BadYaml& bad) {
    return at_line(bad.line, std::string(what) + " " + bad.why);
  } catch (const YAML::Exception& error) {
    return at_line(error.mark.line + 1,
                   std::string(what) + " is not YAML: " + printable(error.msg));
  }
}

// The same for JSON, too, of which YAML's parser does not know all: no surrogates (\ud83d\uded1),
// no names of more than 1024 bytes.
Result<Json> convert_text(std::string_view text, std::string_view what, Converter& converter) {
  const std::size_t begin = std::min(text.find_first_not_of(" \t\r\n"), text.size());
  if (text.substr(begin).starts_with('{')) {
    if (auto json = json_from_text(text); json && check_json(json.value(), what)) {
      static_cast<void>(convert_yaml(text, what, converter));  // For the lines of its paths.
      return json;
    }
  }
  return convert_yaml(text, what, converter);
}

// Adds to each problem the line of its path, and tells them in the order of the text.
Error with_lines(const Error& error, const Converter& converter) {
  std::multimap<int, std::string> by_line;
  detail::for_each_line(error.detail, [&](std::string_view problem) {
    std::string text(problem);
    by_line.emplace(converter.line_of(text), std::move(text));
  });
  std::string all;
  for (const auto& [line, text] : by_line) detail::add_problems(all, at_line(line, text).detail);
  return {Errc::invalid_argument, all};
}

}  // namespace

Result<PolicyDocument> document_from_yaml(std::string_view text, const StrategyRegistry& registry,
                                          std::shared_ptr<KeySpace> shared) {
  Converter converter;
  TRIAGE_TRY(document, convert_text(text, "the policy document", converter));
  auto made = document_from_json(document, registry, std::move(shared));
  if (made) return made;
  return with_lines(made.error(), converter);
}

Result<Json> json_from_yaml(std::string_view text, std::string_view what) {
  Converter converter;
  return convert_text(text, what, converter);
}

Result<Json> json_from_yaml(std::string_view text, std::string_view what,
                            const std::function<Result<void>(const Json&)>& check) {
  Converter converter;
  TRIAGE_TRY(document, convert_text(text, what, converter));
  if (const auto checked = check(document); !checked) return with_lines(checked.error(), converter);
  return outcome::success(std::move(document));
}

}  // namespace triage::inline v0_1
