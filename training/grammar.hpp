// SPDX-License-Identifier: MIT
#pragma once
// Grammars of failures: patterns with alternatives that each stand for many wordings.

#include "triage/result.hpp"
#include "triage/taxonomy.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace triage::training {

// One wording of a pattern.
struct Wording {
  std::string text{};
  FailureType label = FailureType::unknown;
  std::string reason{};
  std::size_t line = 0;  // Of the pattern, from 1.
};

// At most `count` different wordings per pattern of a grammar; the same grammar gives the same
// wordings. Its lines:
//   # a comment
//   name = alternative|alternative          a macro, used as <name>; blanks count
//   label <tab> reason <tab> pattern        [a|b] chooses one, [a|] may be left out
// Literal brackets, bars and backslashes are escaped with a backslash; \n ends a line. Errors:
// Errc::invalid_argument, naming `name`, the line and the problem.
[[nodiscard]] Result<std::vector<Wording>> expand_grammar(std::string_view grammar,
                                                          std::string_view name, std::size_t count);

// What the patterns of a grammar say without their macros: each text up to the next bar or macro,
// with blanks for brackets. The same errors, but for those of brackets and macros.
[[nodiscard]] Result<std::vector<std::string>> texts_between_macros(std::string_view grammar,
                                                                    std::string_view name);

}  // namespace triage::training
