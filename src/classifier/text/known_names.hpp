// SPDX-License-Identifier: MIT
#pragma once
// Tells names that many programs use from those that only one uses: rate_limit_exceeded says what
// went wrong, refund_timeout_handler does not, whatever its words mean elsewhere. Private.

#include "classifier/text/names.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace triage::inline v0_1::detail {

// Two neighbouring words of a text or of a name_like_this, in lower case, as a hash.
using WordsPair = std::uint32_t;

// All pairs of neighbouring words; changes in CamelCase begin a new one, and digits count as
// blanks.
[[nodiscard]] std::vector<WordsPair> word_pairs_of(std::string_view text);
// The pairs inside of the text's identifiers.
[[nodiscard]] std::vector<WordsPair> name_pairs_of(std::string_view text);

// The pairs that names of several programs have in common: a Bloom filter, a part of the model. Its
// bytes must outlive it.
class KnownNames {
 public:
  // With 10,000 pairs 1 of 180 others is taken for known.
  static constexpr std::size_t bytes = 32'768;

  KnownNames() = default;  // Knows every name.
  // A filter of `bytes` bytes.
  explicit KnownNames(std::string_view filter) : filter_(filter) {}

  [[nodiscard]] bool knows(WordsPair pair) const noexcept;
  // Adds a pair to a filter of `bytes` bytes; throws std::out_of_range for a shorter one.
  static void add(WordsPair pair, std::string& filter);

 private:
  std::string_view filter_{};
};

// Adds the identifiers of a line that have a pair of words which is not known. Not keys ("key=…"),
// types of exceptions, names in capitals, paths, files, or words with dashes outside of quotes,
// which may be ordinary ones; not what has six words or more, or four and stands alone, since that
// is a sentence. `places` is in order, without overlaps, before and afterwards. Linear.
void add_unknown_names(std::string_view line, const KnownNames& known,
                       std::vector<NamePlace>& places);

}  // namespace triage::inline v0_1::detail
