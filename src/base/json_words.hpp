// SPDX-License-Identifier: MIT
#pragma once
// What nlohmann says about a value of the wrong kind, in words for people.

#include <string>
#include <string_view>

namespace triage::inline v0_1::detail {

// what(): of an exception, without "[json.exception…]" and in words that do not name nlohmann's
// functions. Of any other exception: as it is.
[[nodiscard]] std::string json_words(std::string_view what);

}  // namespace triage::inline v0_1::detail
