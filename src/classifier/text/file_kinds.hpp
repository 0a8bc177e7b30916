// SPDX-License-Identifier: MIT
#pragma once
// Tells a program's source files from data files by name. Private.

#include "classifier/text/tokens.hpp"

#include <cstdint>
#include <string_view>

namespace triage::inline v0_1::detail {

// An error in a source file is a bug in that program; in a data file, a wrong shape.
inline constexpr std::uint32_t source_file_mark = mark_hash("<source>");
inline constexpr std::uint32_t data_file_mark = mark_hash("<data>");
inline constexpr std::size_t longest_extension = 7;

// The mark for a file extension, without its dot and in lower case; 0 if it is neither.
[[nodiscard]] std::uint32_t file_kind_mark(std::string_view extension) noexcept;

}  // namespace triage::inline v0_1::detail
