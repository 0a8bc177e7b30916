// SPDX-License-Identifier: MIT
#pragma once
// The lines of the JSON-file store: JSON objects with a checksum over their bytes.

#include "triage/checkpoint_store.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace triage::inline v0_1::detail {

// {"crc":"0a1b2c3d",MEMBERS}\n, where crc is the CRC-32C of `owner` (a run's id), a zero byte and
// everything after the comma up to the line's end. `members` is JSON without the outer braces. This
// detects any flipped bit in the line, and a line moved to another file.
[[nodiscard]] std::string seal_line(std::string_view owner, std::string_view members);
// `line` without its newline.
[[nodiscard]] bool is_sealed(std::string_view owner, std::string_view line) noexcept;

// "name": bytes as text, or "name_hex": as hexadecimal digits if they are not UTF-8.
[[nodiscard]] std::string bytes_member(std::string_view name, std::string_view bytes);
// Errors: Errc::corrupt.
[[nodiscard]] Result<std::string> bytes_of(const Json& line, const std::string& name);

// Who may append to a run, and its status; written at the end of every batch and with every change
// of ownership.
struct RunStand {
  RunStatus status = RunStatus::running;
  std::uint64_t epoch = 0;
  std::string owner{};  // Text of an OwnerMark; empty: none.
  Sequence last = 0;
  WallTime updated{};
};

struct RunHead {
  RunInfo info{};           // As given when it was started.
  std::uint64_t birth = 0;  // Random; distinguishes it from an earlier run of the same name.
  std::uint64_t segment = 1;
  // Of all files of the run; grows when fewer records take the place of many. A file of an older
  // one is what was there before.
  std::uint64_t generation = 0;
};

[[nodiscard]] std::string head_line(const RunHead& head);
// `encoded`: the record's body. `more`: records of the same batch still to come. With 0 the line
// says how the run stands.
void append_record_line(const RunId& run, const Record& record, std::string_view encoded,
                        std::size_t more, const RunStand& stand, std::string& out);
[[nodiscard]] std::string stand_line(const RunId& run, const RunStand& stand);

// A parsed line. At most one of head and record is set; `stand` is set if the line ends a batch.
struct ParsedLine {
  std::optional<RunHead> head{};
  std::optional<Record> record{};
  std::optional<RunStand> stand{};
};
// Errors: Errc::corrupt if it is not sealed, or contains what this version cannot read.
[[nodiscard]] Result<ParsedLine> parse_line(const RunId& run, std::string_view line);
// What a damaged line probably was. A single flipped bit hides neither field.
struct LineGuess {
  bool record = false;  // Otherwise it was a stand.
  Sequence seq = 0;     // 0: unknown.
};
[[nodiscard]] LineGuess guess_line(std::string_view line) noexcept;
// The sequence of a record's line, without reading all of it; 0 for other lines and damaged ones.
[[nodiscard]] Sequence sequence_of_line(std::string_view owner, std::string_view line) noexcept;

}  // namespace triage::inline v0_1::detail
