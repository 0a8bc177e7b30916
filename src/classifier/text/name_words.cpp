// SPDX-License-Identifier: MIT
#include "classifier/text/name_words.hpp"

#include "search/word_set.hpp"

#include <algorithm>
#include <array>
#include <iterator>

namespace triage::inline v0_1::detail {
namespace {

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

constexpr WordSet name_words([] {
  std::array<std::string_view, std::size(known_words)> words{};
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = known_words[i].word;
  return words;
}());

}  // namespace

std::uint16_t name_roles(std::string_view word) noexcept {
  const std::size_t found = name_words.find(word);
  return found == name_words.none ? std::uint16_t{0}
                                  : static_cast<std::uint16_t>(known_words[found].roles);
}

}  // namespace triage::inline v0_1::detail
