// SPDX-License-Identifier: MIT
#include "classifier/text/file_kinds.hpp"

#include <algorithm>
#include <array>

namespace triage::inline v0_1::detail {
namespace {

// Both lists are sorted.
constexpr std::array<std::string_view, 82> source_extensions{
    "adb", "asm",  "awk",  "bash",   "c",     "cc",   "cjs", "clj", "cmake",  "cob",    "cpp",
    "cr",  "cs",   "cu",   "cxx",    "dart",  "el",   "elm", "erl", "ex",     "exs",    "f",
    "f03", "f77",  "f90",  "f95",    "fish",  "fs",   "fsx", "go",  "gradle", "groovy", "h",
    "hpp", "hs",   "java", "jl",     "js",    "jsp",  "jsx", "kt",  "kts",    "lisp",   "lua",
    "m",   "mjs",  "mk",   "ml",     "mm",    "nim",  "pas", "php", "phtml",  "pl",     "pm",
    "ps1", "psm1", "py",   "pyx",    "r",     "raku", "rb",  "rkt", "rs",     "s",      "scala",
    "scm", "sh",   "sol",  "svelte", "swift", "t",    "tcl", "ts",  "tsx",    "v",      "vb",
    "vbs", "vhd",  "vue",  "zig",    "zsh"};
constexpr std::array<std::string_view, 43> data_extensions{
    "avro",    "bib",  "cfg",     "conf", "css",   "csv",   "eml",        "env",   "geojson",
    "graphql", "html", "ics",     "ini",  "json",  "jsonl", "jsonnet",    "log",   "md",
    "ndjson",  "nt",   "parquet", "pdf",  "plist", "po",    "properties", "proto", "rst",
    "sql",     "svg",  "tf",      "toml", "tsv",   "ttl",   "txt",        "wsdl",  "xls",
    "xlsx",    "xml",  "xsd",     "xsl",  "xslt",  "yaml",  "yml"};
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
