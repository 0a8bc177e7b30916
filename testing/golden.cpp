// SPDX-License-Identifier: MIT
#include "triage/testing/golden.hpp"

#include "triage/json.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <utility>

namespace triage::inline v0_1::testing {
namespace {

constexpr std::size_t most_lines = 2'000;  // The comparison table has the product of both.
constexpr std::size_t around = 3;

bool belongs_to_an_id(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '.' ||
         c == '_' || c == ':' || c == '-';
}

// Replaces run ids that are whole words by their names: an id may be as short as "1".
std::string with_names(const std::string& text, const std::map<std::string, std::string>& names) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && belongs_to_an_id(text[end])) ++end;
    // A sentence may end with an id.
    std::size_t word_end = end;
    while (word_end > at && (text[word_end - 1] == '.' || text[word_end - 1] == ':')) --word_end;
    const std::string word = text.substr(at, word_end - at);
    const auto name = names.find(word);
    result += (name == names.end() ? word : name->second) + text.substr(word_end, end - word_end);
    if (end < text.size()) result += text[end++];
    at = end;
  }
  return result;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  if (!text.empty() && text.back() != '\n') lines.back() += "  (no newline at the end)";
  return lines;
}

struct Line {
  char mark = ' ';
  std::string text{};
};

// By longest common subsequence. Source: D. Hirschberg, 1975; here with a plain table.
std::vector<Line> merged(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  std::vector<std::vector<std::uint32_t>> common(a.size() + 1,
                                                 std::vector<std::uint32_t>(b.size() + 1, 0));
  for (std::size_t i = a.size(); i-- > 0;) {
    for (std::size_t j = b.size(); j-- > 0;) {
      common[i][j] =
          a[i] == b[j] ? common[i + 1][j + 1] + 1 : std::max(common[i + 1][j], common[i][j + 1]);
    }
  }
  std::vector<Line> all;
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() || j < b.size()) {
    if (i < a.size() && j < b.size() && a[i] == b[j]) {
      all.push_back({' ', a[i++]});
      ++j;
    } else if (j == b.size() || (i < a.size() && common[i + 1][j] >= common[i][j + 1])) {
      all.push_back({'-', a[i++]});
    } else {
      all.push_back({'+', b[j++]});
    }
  }
  return all;
}

std::vector<Line> side_by_side(const std::vector<std::string>& a,
                               const std::vector<std::string>& b) {
  std::vector<Line> all;
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    if (i < a.size() && i < b.size() && a[i] == b[i]) {
      all.push_back({' ', a[i]});
      continue;
    }
    if (i < a.size()) all.push_back({'-', a[i]});
    if (i < b.size()) all.push_back({'+', b[i]});
  }
  return all;
}

std::string event_line(const RecordedEvent& event,
                       const std::map<std::string, std::string>& names) {
  std::string line = event.name;
  if (event.attempt > 0) line += " #" + std::to_string(event.attempt);
  if (event.failure_type) line += " " + std::string(to_string(*event.failure_type));
  if (event.action) line += " -> " + std::string(to_string(*event.action));
  if (!event.step_action.empty())
    line += " [" + with_names(printable(event.step_action), names) + "]";
  if (event.error_code) line += " " + std::string(to_string(*event.error_code));
  if (!event.text.empty()) line += ": " + with_names(printable(event.text), names);
  return line;
}

}  // namespace

std::string trace_text(const std::vector<RecordedEvent>& events) {
  std::map<std::string, std::string> names;
  for (const RecordedEvent& event : events) {
    if (!event.run_id.empty()) {
      names.try_emplace(event.run_id, "RUN" + std::to_string(names.size() + 1));
    }
  }
  const bool several = names.size() > 1;
  if (!several) {
    for (auto& [id, name] : names) name = "RUN";
  }
  std::string text;
  for (const RecordedEvent& event : events) {
    if (several) text += (event.run_id.empty() ? "-" : names.at(event.run_id)) + " ";
    text += event_line(event, names) + "\n";
  }
  return text;
}

std::string text_difference(const std::string& expected, const std::string& actual) {
  if (expected == actual) return {};
  const auto a = lines_of(expected);
  const auto b = lines_of(actual);
  const bool small = a.size() <= most_lines && b.size() <= most_lines;
  const std::vector<Line> all = small ? merged(a, b) : side_by_side(a, b);
  std::vector<bool> shown(all.size(), false);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].mark == ' ') continue;
    const std::size_t end = std::min(all.size(), i + around + 1);
    for (std::size_t k = i - std::min(i, around); k < end; ++k) shown[k] = true;
  }
  std::string text;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (shown[i]) {
      text.append(1, all[i].mark).append(" ").append(all[i].text).append("\n");
    } else if (i == 0 || shown[i - 1]) {
      text += "  ...\n";
    }
  }
  return text;
}

std::string compare_golden(const std::filesystem::path& file, const std::string& actual) {
  std::ifstream stored(file, std::ios::binary);
  std::string expected;
  if (stored) expected.assign(std::istreambuf_iterator<char>(stored), {});
  if (stored && expected == actual) return {};
  const char* accept = std::getenv("TRIAGE_ACCEPT_GOLDEN");
  if (accept != nullptr && std::string(accept) == "1") {
    std::error_code failed;
    if (file.has_parent_path()) std::filesystem::create_directories(file.parent_path(), failed);
    std::ofstream out(file, std::ios::binary);
    out << actual;
    out.close();
    return out ? "" : file.string() + " cannot be written";
  }
  return file.string() + (stored ? " differs" : " is not there") +
         "; run the test with TRIAGE_ACCEPT_GOLDEN=1 to accept what is new:\n" +
         text_difference(expected, actual);
}

}  // namespace triage::inline v0_1::testing
