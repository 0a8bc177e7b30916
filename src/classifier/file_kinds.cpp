// SPDX-License-Identifier: MIT
#include "classifier/file_kinds.hpp"

#include <algorithm>
#include <array>

namespace triage::inline v0_1::detail {
namespace {

// Both in alphabetical order.
constexpr std::array<std::string_view, 38> source_extensions{
    "bash", "c",   "cc", "cjs",  "cpp", "cs", "cxx",   "dart", "erl",   "ex", "exs", "f90", "go",
    "h",    "hpp", "hs", "java", "jl",  "js", "jsx",   "kt",   "lua",   "m",  "mjs", "ml",  "php",
    "pl",   "pm",  "py", "rb",   "rs",  "s",  "scala", "sh",   "swift", "ts", "tsx", "vb"};
constexpr std::array<std::string_view, 20> data_extensions{
    "cfg",     "conf", "csv",   "env", "html", "ini",  "json", "jsonl", "log",  "md",
    "parquet", "pdf",  "proto", "sql", "tf",   "toml", "txt",  "xml",   "yaml", "yml"};
static_assert(std::is_sorted(source_extensions.begin(), source_extensions.end()));
static_assert(std::is_sorted(data_extensions.begin(), data_extensions.end()));

}  // namespace

std::uint32_t file_kind_mark(std::string_view extension) noexcept {
  if (extension.size() > longest_extension) return 0;
  if (std::binary_search(source_extensions.begin(), source_extensions.end(), extension)) {
    return source_file_mark;
  }
  if (std::binary_search(data_extensions.begin(), data_extensions.end(), extension)) {
    return data_file_mark;
  }
  return 0;
}

}  // namespace triage::inline v0_1::detail
