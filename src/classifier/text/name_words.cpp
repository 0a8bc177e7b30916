// SPDX-License-Identifier: MIT
#include "classifier/text/name_words.hpp"

#include "base/ascii.hpp"

#include <algorithm>
#include <array>
#include <iterator>

namespace triage::inline v0_1::detail {
namespace {

constexpr std::size_t longest_known = 16;

struct Known {
  std::string_view word;
  int roles;
};
constexpr Known known_words[] = {
    {"a", link | pronoun},
    {"action", noun},
    {"actions", noun},
    {"agent", noun},
    {"agents", noun},
    {"allowed", listing},
    {"among", verdict},
    {"an", link | pronoun},
    {"and", joining | pronoun},
    {"any", pronoun},
    {"are", verdict | pronoun},
    {"argument", about},
    {"arguments", about},
    {"assistant", noun},
    {"available", listing},
    {"but", verdict | pronoun},
    {"call", about | calling},
    {"called", link | calling | about},
    {"calling", about | calling},
    {"calls", about | calling},
    {"can't", verdict},
    {"cannot", verdict | about},
    {"capability", noun},
    {"choice", about},
    {"choices", listing | about},
    {"choose", listing},
    {"command", noun},
    {"commands", noun},
    {"configured", listing},
    {"connector", noun},
    {"could", verdict | about},
    {"couldn't", verdict},
    {"declared", listing},
    {"defined", listing | about},
    {"definition", about},
    {"did", verdict | about},
    {"does", verdict | about},
    {"doesn't", verdict},
    {"error", about},
    {"execution", about},
    {"existed", verdict | about},
    {"existing", listing},
    {"exists", verdict | about},
    {"failed", verdict | about},
    {"found", about},
    {"from", verdict | about | pronoun},
    {"function", noun},
    {"functions", noun},
    {"handler", noun},
    {"has", verdict | about},
    {"have", about},
    {"id", about},
    {"in", about | pronoun},
    {"include", listing},
    {"input", about},
    {"inputs", about},
    {"instead", listing},
    {"invalid", denial},
    {"invocation", about},
    {"invoke", calling},
    {"invoked", calling},
    {"is", verdict | about},
    {"isn't", verdict | about},
    {"it", pronoun | about},
    {"known", listing},
    {"list", about},
    {"looked", pronoun},
    {"may", about},
    {"mean", listing},
    {"message", about},
    {"method", noun},
    {"methods", noun},
    {"missing", verdict | denial | about},
    {"model", about},
    {"models", about},
    {"must", about},
    {"name", link | about},
    {"named", link},
    {"names", about},
    {"no", denial | pronoun},
    {"node", noun},
    {"nonexistent", denial},
    {"not", verdict | about | pronoun},
    {"of", about | pronoun},
    {"one", pronoun},
    {"options", listing | about},
    {"or", joining | pronoun},
    {"output", about},
    {"outputs", about},
    {"parameter", about},
    {"parameters", about},
    {"params", about},
    {"picked", calling},
    {"plugin", noun},
    {"plugins", noun},
    {"procedure", noun},
    {"ran", calling},
    {"registered", listing | about},
    {"requested", calling},
    {"required", about},
    {"response", about},
    {"result", about},
    {"results", about},
    {"returned", about | verdict},
    {"run", about | calling},
    {"schema", about},
    {"selected", calling},
    {"server", about},
    {"set", about},
    {"skill", noun},
    {"skills", noun},
    {"subagent", noun},
    {"subcommand", noun},
    {"such", denial | pronoun},
    {"supported", listing},
    {"that", about | verdict | pronoun},
    {"the", link | pronoun},
    {"there", pronoun | about},
    {"this", pronoun | about},
    {"timed", about | verdict},
    {"to", about | pronoun},
    {"tool", noun},
    {"tools", noun},
    {"type", about},
    {"unavailable", verdict | denial},
    {"undefined", denial},
    {"unknown", verdict | denial},
    {"unrecognised", denial},
    {"unrecognized", denial},
    {"unregistered", verdict | denial},
    {"unsupported", denial},
    {"use", about | calling},
    {"used", calling | about},
    {"valid", listing},
    {"was", verdict | about},
    {"wasn't", verdict},
    {"were", about},
    {"what", pronoun},
    {"which", verdict | about | pronoun},
    {"with", about},
    {"won't", about},
    {"you", pronoun},
};
static_assert(std::is_sorted(std::begin(known_words), std::end(known_words),
                             [](const Known& a, const Known& b) { return a.word < b.word; }));

// Where the words with each first letter begin, and the end.
constexpr std::size_t letters = 26;
constexpr std::array<std::uint8_t, letters + 1> first_with = [] {
  std::array<std::uint8_t, letters + 1> begins{};
  for (std::size_t letter = 0; letter <= letters; ++letter) {
    std::size_t at = 0;
    while (at < std::size(known_words) &&
           static_cast<std::size_t>(known_words[at].word[0] - 'a') < letter) {
      ++at;
    }
    begins[letter] = static_cast<std::uint8_t>(at);
  }
  return begins;
}();
static_assert(std::size(known_words) < 256);

}  // namespace

std::uint16_t name_roles(std::string_view word) noexcept {
  if (word.empty() || word.size() > longest_known || !is_letter(word[0])) return 0;
  std::array<char, longest_known> buffer{};
  std::transform(word.begin(), word.end(), buffer.begin(), lower);
  const std::string_view key(buffer.data(), word.size());
  const auto letter = static_cast<std::size_t>(key[0] - 'a');
  for (std::size_t i = first_with[letter]; i < first_with[letter + 1]; ++i) {
    if (known_words[i].word == key) return static_cast<std::uint16_t>(known_words[i].roles);
  }
  return 0;
}

}  // namespace triage::inline v0_1::detail
