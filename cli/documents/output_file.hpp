// SPDX-License-Identifier: MIT
#pragma once
// Files that options name and a command writes.

#include "triage/result.hpp"

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <span>
#include <string>

namespace triage::inline v0_1::cli {

struct OutputFile {
  const char* option = nullptr;
  std::string path{};     // Empty: the option was not given.
  bool database = false;  // It is one, which may be there already and is added to.
};

// For before any work: whether the files can be written, and nothing else is lost by that. Other
// files that are there already may be replaced. reads: the files that the command reads otherwise,
// and those of its store; "-" is standard input. Errors: Errc::invalid_argument for a SQLite
// database and its log, a file of a store of JSON files, one of `reads`, and one that two options
// name; Errc::io.
[[nodiscard]] Result<void> check_outputs(std::span<const OutputFile> files,
                                         std::span<const std::string> reads);

// Who may read a file that was written.
enum class Readable : std::uint8_t {
  by_owner,
  as_usual,  // As before, if it was there, and otherwise by the umask.
};

// The file is there with all that `write` writes, or stays as it was. A link leads to it; a pipe, a
// device and standard output are written to as they are. Errors: those of `write`; Errc::io.
[[nodiscard]] Result<void> write_output(const std::string& path,
                                        const std::function<Result<void>(std::ostream&)>& write,
                                        Readable readable = Readable::by_owner);

// Whether a SQLite database begins here; afterwards `in` is at its beginning.
[[nodiscard]] bool looks_like_database(std::istream& in);

}  // namespace triage::inline v0_1::cli
