// SPDX-License-Identifier: MIT
#pragma once
// The parts that lines of logs are made of. Private to this room.
//
// Each take_… reads one part where the reader stands; where there is none the reader stays, but for
// take_program, take_logger and take_id, whose callers put it back.

#include "classifier/undress/letters.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace triage::inline v0_1::detail {

enum class Level : std::uint8_t { none, error, warning, info };
enum class BracketKind : std::uint8_t {
  words,  // Says something: it is not part of a head.
  name,   // A thread, a process, a logger.
  log,    // A time or a level: only logs have these.
};

// "21:04:05", "21:04:05.123".
bool take_clock_time(undressing::Reader& reader);
// A date with a time, or a time, as logs have it.
bool take_timestamp(undressing::Reader& reader);
// "ERROR"; in lower case, too, if `any_case`. A colon or a blank must follow, or the end.
Level take_level(undressing::Reader& reader, bool any_case);
// What stands in brackets; sets `level` if it is a level.
BracketKind kind_of_bracket(std::string_view inside, Level& level);
// "agentd[123]: ", "agent: "
bool take_program(undressing::Reader& reader);
// "app.agent - ", "com.x.Agent : ", "agent/run.go:88 ", "app:run:42 | ", "my_crate::agent: "
bool take_logger(undressing::Reader& reader);
// A UUID, or as much of hexadecimal digits.
bool take_id(undressing::Reader& reader);
// "pid=12", "trace_id=…": a pair that says where and when, not what.
bool take_pair(undressing::Reader& reader);
// The value behind "=", without its quotes.
std::string take_pair_value(undressing::Reader& reader);

// "request_id", "duration", "host": where and when, not what.
[[nodiscard]] bool is_metadata_key(std::string_view key);
// "msg", "error": the member that has the words.
[[nodiscard]] bool is_message_key(std::string_view key);
// "12ms", "1.5 s", "3m2s"
[[nodiscard]] bool is_duration(std::string_view text);
// "req_0123abcd", a UUID, a hash, a number.
[[nodiscard]] bool is_id(std::string_view text);

}  // namespace triage::inline v0_1::detail
