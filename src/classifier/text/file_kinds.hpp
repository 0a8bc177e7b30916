// SPDX-License-Identifier: MIT
#pragma once
// Whose file a name is: a program's source, or data that a program reads. Private.

#include "classifier/text/tokens.hpp"

#include <cstdint>
#include <string_view>

namespace triage::inline v0_1::detail {

// A complaint about a source file is a bug of that program; about a data file, a wrong shape.
inline constexpr std::uint32_t source_file_mark = mark_hash("<source>");
inline constexpr std::uint32_t data_file_mark = mark_hash("<data>");
inline constexpr std::size_t longest_extension = 7;

// The mark for a file name's extension, without its dot and in lower case; 0 if it says nothing.
[[nodiscard]] std::uint32_t file_kind_mark(std::string_view extension) noexcept;

}  // namespace triage::inline v0_1::detail
