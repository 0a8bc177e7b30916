// SPDX-License-Identifier: MIT
#pragma once
// The lines of the JSON-file store: one JSON object each, with a checksum over its bytes.

#include "triage/checkpoint_store.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace triage::inline v0_1::detail {

// {"crc":"0a1b2c3d",MEMBERS}\n, where crc is the CRC-32C of `owner` (a run's id), a zero byte and
// everything behind the comma up to the line's end. `members` is JSON without the outer braces. So
// a flipped bit anywhere in the line is noticed, and so is a line that was moved to another file.
[[nodiscard]] std::string seal_line(std::string_view owner, std::string_view members);
// `line` without its end.
[[nodiscard]] bool is_sealed(std::string_view owner, std::string_view line) noexcept;

// "name": bytes as text, or where they are no UTF-8 "name_hex": as hexadecimal digits.
[[nodiscard]] std::string bytes_member(std::string_view name, std::string_view bytes);
// Errors: Errc::corrupt.
[[nodiscard]] Result<std::string> bytes_of(const Json& line, const std::string& name);

// Who may append to a run, and how it stands: said at the end of every batch, and of every change
// of hands.
struct RunStand {
  RunStatus status = RunStatus::running;
  std::uint64_t epoch = 0;
  std::string owner{};  // Text of an OwnerMark; empty: nobody.
  Sequence last = 0;
  WallTime updated{};
};

struct RunHead {
  RunInfo info{};           // What was said when it was started.
  std::uint64_t birth = 0;  // Random; tells it from an earlier run of its name.
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

// A line that was read. Exactly one of head, record and neither; `stand` says how the run stands
// behind the line, if it ends a batch.
struct ParsedLine {
  std::optional<RunHead> head{};
  std::optional<Record> record{};
  std::optional<RunStand> stand{};
};
// Errors: Errc::corrupt if it is not sealed, or says what this version cannot read.
[[nodiscard]] Result<ParsedLine> parse_line(const RunId& run, std::string_view line);
// What a damaged line seems to have been. One flipped bit hides neither.
struct LineGuess {
  bool record = false;  // Else it said how the run stands.
  Sequence seq = 0;     // 0: not known.
};
[[nodiscard]] LineGuess guess_line(std::string_view line) noexcept;
// The sequence of a record's line, without reading all of it; 0 for other lines and damaged ones.
[[nodiscard]] Sequence sequence_of_line(std::string_view owner, std::string_view line) noexcept;

}  // namespace triage::inline v0_1::detail
