// SPDX-License-Identifier: MIT
#pragma once
// What a delivery has read of the run's inputs, state and memory: it is run again if any of it
// changes.

#include "definition/parts.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace triage::inline v0_1::workflow::detail {

// The scope of the run's inputs.
inline constexpr std::string_view inputs_scope = "i|";

struct Read {
  std::string scope{};
  std::string key{};
  std::string digest{};  // Of the value, see digest_of_read().
};

// A list: ["SCOPE"] before the reads of a scope, and KEY, DIGEST for each. It keeps their order, so
// that whoever reads the same first, and then more, stores only the difference (see Parts).
[[nodiscard]] Json list_of_reads(const std::vector<Read>& reads);
// stored: this list, a form of it, or an object {"i|KEY" or "LENGTH:SCOPEKEY": DIGEST} of an
// earlier version. Throws std::exception if it is damaged.
[[nodiscard]] std::vector<Read> reads_from(const Parts& parts, const Json& stored);

// Whether there may be such a scope in the state.
[[nodiscard]] bool is_scope(std::string_view scope);

}  // namespace triage::inline v0_1::workflow::detail
