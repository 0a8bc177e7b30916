// SPDX-License-Identifier: MIT
#pragma once
// The parts of log lines. Private to this room.
//
// Each take_… reads one part at the reader's position. If the part is not there the reader does not
// move, except with take_program, take_logger and take_id, whose callers restore it.

#include "classifier/undress/letters.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace triage::inline v0_1::detail {

enum class Level : std::uint8_t { none, error, warning, info };
enum class BracketKind : std::uint8_t {
  words,  // Part of the message, not of the head.
  name,   // A thread, a process, a logger.
  log,    // A time or a level, which only logs have.
};

// "21:04:05", "21:04:05.123".
bool take_clock_time(undressing::Reader& reader);
// A date with a time, or a time, in log formats.
bool take_timestamp(undressing::Reader& reader);
// "ERROR"; also in lower case if `any_case`. A colon, a space or the end must follow.
Level take_level(undressing::Reader& reader, bool any_case);
// Classifies what is in brackets; sets `level` if it is a level.
BracketKind kind_of_bracket(std::string_view inside, Level& level);
// "agentd[123]: ", "agent: "
bool take_program(undressing::Reader& reader);
// "app.agent - ", "com.x.Agent : ", "agent/run.go:88 ", "app:run:42 | ", "my_crate::agent: "
bool take_logger(undressing::Reader& reader);
// "web-1  | ": which of several containers the line is of.
inline bool take_container(undressing::Reader& reader) {
  const std::size_t begin = reader.at;
  const std::string_view name =
      reader.take_while([](char c) { return undressing::is_word(c) || c == '-' || c == '.'; });
  const bool numbered = name.size() > 2 && is_digit(name.back()) && is_letter(name.front()) &&
                        name.find_first_of("-_") != std::string_view::npos;
  reader.blanks();
  if (numbered && reader.take("| ")) return true;
  reader.at = begin;
  return false;
}
// A UUID, or as many hexadecimal digits.
bool take_id(undressing::Reader& reader);
// "pid=12", "trace_id=…": a pair of metadata.
bool take_pair(undressing::Reader& reader);
// The value after "=", without quotes.
std::string take_pair_value(undressing::Reader& reader);

// "request_id", "duration", "host": where and when, not what.
[[nodiscard]] bool is_metadata_key(std::string_view key);
// "msg", "error": the member with the message.
[[nodiscard]] bool is_message_key(std::string_view key);
// "12ms", "1.5 s", "3m2s"
[[nodiscard]] bool is_duration(std::string_view text);
// "req_0123abcd", a UUID, a hash, a number.
[[nodiscard]] bool is_id(std::string_view text);

}  // namespace triage::inline v0_1::detail
