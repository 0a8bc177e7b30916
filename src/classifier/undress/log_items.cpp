// SPDX-License-Identifier: MIT
#include "classifier/undress/log_items.hpp"

#include "search/word_set.hpp"

#include <array>

namespace triage::inline v0_1::detail {
namespace {

using namespace undressing;

constexpr std::array<std::string_view, 12> months{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                  "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
constexpr std::array<std::string_view, 7> days{"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};

// Restores the reader if the part is not there.
template <class Read>
bool whole(Reader& reader, Read read) {
  const std::size_t begin = reader.at;
  if (read()) return true;
  reader.at = begin;
  return false;
}

bool take_one_of(Reader& reader, const std::string_view* begin, const std::string_view* end) {
  for (const std::string_view* name = begin; name != end; ++name) {
    if (reader.take(*name)) return true;
  }
  return false;
}
bool take_month(Reader& reader) {
  return take_one_of(reader, months.data(), months.data() + months.size());
}

void take_zone(Reader& reader) {
  whole(reader, [&] {
    reader.take(' ');
    if (reader.take('Z') || reader.take("UTC") || reader.take("GMT")) return true;
    if (reader.next() != '+' && reader.next() != '-') return false;
    ++reader.at;
    if (!reader.digits(2, 4)) return false;
    if (reader.take(':')) reader.digits(2, 2);
    return true;
  });
}

// "2024-01-31", "2024/01/31", "31/Jan/2024", "31-Jan-2024", "20240131"
bool take_date(Reader& reader) {
  return whole(reader, [&] {
    if (whole(reader, [&] {
          if (!reader.digits(4, 4)) return false;
          const char mark = reader.next();
          if (mark != '-' && mark != '/' && mark != '.') return false;
          return reader.take(mark) && reader.digits(1, 2) && reader.take(mark) &&
                 reader.digits(1, 2);
        })) {
      return true;
    }
    if (!reader.digits(1, 2)) return false;
    const char mark = reader.next();
    if (mark != '-' && mark != '/' && mark != ' ') return false;
    return reader.take(mark) && take_month(reader) && reader.take(mark) && reader.digits(2, 4);
  });
}

// "Oct 11 22:14:15", "Fri Sep 09 10:42:29.902022 2011", "Sun, 22 Nov 2026 21:00:00 GMT"
bool take_named_date(Reader& reader) {
  return whole(reader, [&] {
    if (take_one_of(reader, days.data(), days.data() + days.size())) {
      reader.take(',');
      if (!reader.take(' ')) return false;
    }
    if (is_digit(reader.next()))
      return take_date(reader) && reader.take(' ') && take_clock_time(reader);
    if (!take_month(reader) || !reader.take(' ')) return false;
    reader.blanks();
    if (!reader.digits(1, 2) || !reader.take(' ') || !take_clock_time(reader)) return false;
    whole(reader,
          [&] { return reader.take(' ') && reader.digits(4, 4) && !is_word(reader.next()); });
    return true;
  });
}

bool ends_here(const Reader& reader) {
  const char c = reader.next();
  return reader.done() || is_space(c) || c == ':' || c == ']' || c == ',' || c == '|';
}

struct LevelName {
  std::string_view name;
  Level level;
};
constexpr LevelName level_names[] = {
    {"error", Level::error},     {"err", Level::error},    {"fatal", Level::error},
    {"critical", Level::error},  {"crit", Level::error},   {"severe", Level::error},
    {"emerg", Level::error},     {"alert", Level::error},  {"fail", Level::error},
    {"warning", Level::warning}, {"warn", Level::warning}, {"wrn", Level::warning},
    {"info", Level::info},       {"inf", Level::info},     {"information", Level::info},
    {"debug", Level::info},      {"dbg", Level::info},     {"trace", Level::info},
    {"notice", Level::info},     {"verbose", Level::info}, {"ftl", Level::error},
};

constexpr WordSet level_words([] {
  std::array<std::string_view, std::size(level_names)> words{};
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = level_names[i].name;
  return words;
}());

Level level_named(std::string_view word, bool any_case) {
  const std::size_t found = level_words.find(word);
  if (found == level_words.none) return Level::none;
  const bool upper = std::all_of(word.begin(), word.end(), is_upper);
  return upper || any_case ? level_names[found].level : Level::none;
}

// Words that start a message but look like a program's name in a log.
constexpr WordSet message_words(std::to_array<std::string_view>(
    {"error",     "errors",       "failed",     "failure",   "timeout",    "warning",  "fatal",
     "exception", "denied",       "invalid",    "unknown",   "unable",     "missing",  "refused",
     "rejected",  "unauthorized", "forbidden",  "conflict",  "aborted",    "panic",    "killed",
     "note",      "hint",         "cause",      "reason",    "usage",      "expected", "got",
     "truncated", "stopped",      "incomplete", "skipped",   "blocked",    "overflow", "limit",
     "quota",     "tool",         "tools",      "schema",    "validation", "plan",     "http",
     "https",     "argument",     "arguments",  "parameter", "field",      "loop",     "result",
     "output",    "status"}));
bool begins_message(std::string_view word) { return message_words.contains(word); }

// Without "_" and other marks.
constexpr WordSet metadata_keys(
    std::to_array<std::string_view>({"id",          "requestid",    "reqid",
                                     "xrequestid",  "request",      "req",
                                     "trace",       "traceid",      "span",
                                     "spanid",      "parentid",     "correlationid",
                                     "correlation", "cid",          "rid",
                                     "tid",         "pid",          "thread",
                                     "threadid",    "process",      "host",
                                     "hostname",    "instance",     "pod",
                                     "container",   "namespace",    "node",
                                     "region",      "zone",         "cluster",
                                     "service",     "env",          "version",
                                     "build",       "commit",       "sha",
                                     "duration",    "durationms",   "elapsed",
                                     "elapsedms",   "took",         "tookms",
                                     "latency",     "latencyms",    "time",
                                     "timems",      "ms",           "ts",
                                     "timestamp",   "at",           "date",
                                     "attempt",     "attempts",     "try",
                                     "tries",       "retries",      "retry",
                                     "retrycount",  "session",      "sessionid",
                                     "user",        "userid",       "tenant",
                                     "org",         "account",      "accountid",
                                     "run",         "runid",        "job",
                                     "jobid",       "task",         "taskid",
                                     "step",        "stepid",       "agent",
                                     "agentid",     "worker",       "workerid",
                                     "component",   "module",       "logger",
                                     "caller",      "source",       "file",
                                     "line",        "func",         "function",
                                     "level",       "lvl",          "severity",
                                     "seq",         "ref",          "reference",
                                     "errorid",     "eventid",      "event",
                                     "ip",          "client",       "clientip",
                                     "port",        "method",       "path",
                                     "url",         "route",        "conversationid",
                                     "threadname",  "invocationid", "executionid",
                                     "workflowid",  "messageid",    "batch",
                                     "shard",       "partition",    "offset",
                                     "cost",        "rayid",        "cfray",
                                     "hostid",      "incident",     "incidentid",
                                     "ticket",      "uuid",         "guid",
                                     "uptime",      "cached",       "gitsha",
                                     "xtraceid",    "operationid",  "opid",
                                     "callid",      "toolcallid"}));

bool is_source_name(std::string_view name) {
  for (const std::string_view ending :
       {".go", ".py", ".rs", ".js", ".ts", ".java", ".rb", ".cc", ".cpp", ".cs", ".ex", ".kt"}) {
    if (name.ends_with(ending)) return true;
  }
  return false;
}

}  // namespace

bool take_clock_time(Reader& reader) {
  return whole(reader, [&] {
    if (!reader.digits(1, 2) || !reader.take(':') || !reader.digits(2, 2)) return false;
    if (reader.take(':') && !reader.digits(2, 2)) return false;
    if ((reader.next() == '.' || reader.next() == ',') && is_digit(reader.next(1))) {
      ++reader.at;
      reader.digits(1, 9);
    }
    return !is_letter(reader.next()) || reader.next() == 'Z';
  });
}

bool take_timestamp(Reader& reader) {
  const char first = reader.next();
  if (!is_digit(first) && !is_upper(first)) return false;
  if (take_named_date(reader)) return true;
  return whole(reader, [&] {
    if (take_date(reader)) {
      const char mark = reader.next();
      if (mark == 'T' || mark == ' ' || mark == '_' || mark == ':' || mark == ',') {
        whole(reader, [&] {
          ++reader.at;
          reader.blanks();
          return take_clock_time(reader);
        });
      }
    } else {
      std::size_t colons = 0;
      for (std::size_t i = 0; i < 9; ++i) colons += reader.next(i) == ':' ? 1U : 0U;
      if (colons < 2 || !take_clock_time(reader)) return false;
    }
    take_zone(reader);
    return ends_here(reader);
  });
}

Level take_level(Reader& reader, bool any_case) {
  if (!is_upper(reader.next()) && !(any_case && is_lower(reader.next()))) return Level::none;
  const std::size_t begin = reader.at;
  const std::string_view word = reader.take_while(is_letter);
  const Level level = level_named(word, any_case);
  const bool ends = ends_here(reader) || reader.next() == '/' || reader.next() == '!';
  // "error: …" after a time is a level; "error while …" is a sentence.
  const bool upper = !word.empty() && is_upper(word.back());
  const bool sentence = !upper && is_blank(reader.next()) && is_lower(reader.next(1));
  if (level == Level::none || !ends || sentence) {
    reader.at = begin;
    return Level::none;
  }
  reader.take('!');
  return level;
}

BracketKind kind_of_bracket(std::string_view inside, Level& level) {
  Reader reader{inside};
  const bool timed = take_timestamp(reader);
  reader.take_while([](char c) { return is_blank(c) || c == ':' || c == ','; });
  const Level found = take_level(reader, true);
  if (found != Level::none && level == Level::none) level = found;
  if (found != Level::none || timed) return BracketKind::log;
  const std::size_t colon = inside.find(':');
  if (colon != std::string_view::npos) {  // "core:error"
    const Level module = level_named(inside.substr(colon + 1), true);
    if (module != Level::none) {
      level = module;
      return BracketKind::log;
    }
  }
  if (inside.starts_with("pid ") || inside.starts_with("client ")) return BracketKind::name;
  const bool number = std::all_of(inside.begin(), inside.end(), is_digit);
  if (number && inside.size() == 3 && (inside[0] == '4' || inside[0] == '5')) {
    return BracketKind::words;  // A status.
  }
  const bool name = std::all_of(inside.begin(), inside.end(), [](char c) {
    return is_word(c) || c == '-' || c == '.' || c == '#' || c == ':' || c == '/' || c == '@' ||
           c == '+' || c == '$';
  });
  return name ? BracketKind::name : BracketKind::words;
}

bool take_program(Reader& reader) {
  const std::string_view name = reader.take_while(
      [](char c) { return is_word(c) || c == '-' || c == '.' || c == '/' || c == '@'; });
  if (name.empty() || name.size() > 48 || !is_letter(name.front())) return false;
  if (reader.take('[')) {
    const std::string_view process =
        reader.take_while([](char c) { return is_word(c) || c == '.' || c == '-'; });
    return process.size() > 1 && reader.take("]:");
  }
  const bool lower = std::none_of(name.begin(), name.end(), is_upper);
  return lower && !begins_message(name) && reader.next() == ':' && is_blank(reader.next(1)) &&
         reader.take(':');
}

bool take_logger(Reader& reader) {
  const std::string_view name = reader.take_while([](char c) {
    return is_word(c) || c == '.' || c == '-' || c == '/' || c == ':' || c == '$' || c == '*' ||
           c == '[' || c == ']' || c == '<' || c == '>';
  });
  if (name.size() < 2 || name.size() > 96 || name.front() == '[' || name.starts_with("http") ||
      name.find("://") != std::string_view::npos)
    return false;
  const std::string_view rest = reader.rest();
  const bool dashed = rest.starts_with(" - ") || rest.starts_with(" | ") ||
                      rest.starts_with(" : ") || rest.starts_with(" -- ") ||
                      rest.starts_with(" > ");
  const bool dotted = name.find_first_of("._/:") < name.size() - 1;
  if (dashed && (dotted || !begins_message(name))) return true;
  if (!dotted) return false;
  if (name.ends_with(":")) {  // "my_crate::agent: ", but not an exception's name.
    const std::size_t last = name.find_last_of(".:/", name.size() - 2);
    const char first = last == std::string_view::npos ? name.front() : name[last + 1];
    return is_lower(first) || is_digit(first);
  }
  const std::size_t place = name.find(':');  // "agent/run.go:88"
  return place != std::string_view::npos && is_source_name(name.substr(0, place)) &&
         place + 1 < name.size() &&
         std::all_of(name.begin() + static_cast<std::ptrdiff_t>(place) + 1, name.end(), is_digit) &&
         is_blank(reader.next());
}

bool take_id(Reader& reader) {
  const std::string_view id = reader.take_while([](char c) { return is_hex(c) || c == '-'; });
  const auto digits = std::count_if(id.begin(), id.end(), is_digit);
  return id.size() >= 16 && digits >= 4 && is_blank(reader.next());
}

bool take_pair(Reader& reader) {
  return whole(reader, [&] {
    const std::string_view key =
        reader.take_while([](char c) { return is_word(c) || c == '.' || c == '-'; });
    if (key.empty() || !reader.take('=') || !is_metadata_key(key)) return false;
    (void)take_pair_value(reader);
    return true;
  });
}

std::string take_pair_value(Reader& reader) {
  const char quote = reader.next();
  if (quote != '"' && quote != '\'') {
    return std::string(reader.take_while([](char c) { return !is_space(c); }));
  }
  std::string value;
  ++reader.at;
  while (!reader.done() && reader.next() != quote) {
    if (reader.next() == '\\' && reader.at + 1 < reader.text.size()) {
      ++reader.at;
      const char c = reader.next();
      value += c == 'n' ? '\n' : c == 't' ? '\t' : c;
    } else {
      value += reader.next();
    }
    ++reader.at;
  }
  reader.take(quote);
  return value;
}

bool is_metadata_key(std::string_view key) {
  std::array<char, 24> buffer{};
  std::size_t length = 0;
  for (const char c : key) {
    if (!is_word(c) || c == '_') continue;
    if (length == buffer.size()) return false;
    buffer[length++] = c;
  }
  return metadata_keys.contains({buffer.data(), length});
}

bool is_message_key(std::string_view key) {
  for (const std::string_view known :
       {"msg", "message", "err", "error", "detail", "details", "reason", "event", "error_message",
        "exception", "cause", "desc", "description", "text", "stderr", "error.message",
        "errormsg"}) {
    if (same_word(key, known)) return true;
  }
  return false;
}

bool is_duration(std::string_view text) {
  Reader reader{text};
  std::size_t parts = 0;
  while (!reader.done()) {
    const std::string_view number =
        reader.take_while([](char c) { return is_digit(c) || c == '.' || c == ','; });
    reader.take(' ');
    const std::string_view unit =
        reader.take_while([](char c) { return is_letter(c) || is_high(c); });
    if (number.empty() || !is_digit(number.front())) return false;
    bool known = false;
    for (const std::string_view name :
         {"ms", "s", "sec", "secs", "second", "seconds", "m", "min", "mins", "minutes", "h", "us",
          "ns", "\xC2\xB5s", "milliseconds"}) {
      known = known || same_word(unit, name);
    }
    if (!known) return false;
    ++parts;
    reader.take(' ');
  }
  return parts > 0 && parts <= 3;
}

bool is_id(std::string_view text) {
  if (text.size() < 4 || text.size() > 96) return false;
  std::size_t digits = 0;
  std::size_t hexes = 0;
  for (const char c : text) {
    if (!is_word(c) && c != '-' && c != ':' && c != '.') return false;
    digits += is_digit(c) ? 1U : 0U;
    hexes += is_hex(c) ? 1U : 0U;
  }
  return digits == text.size() || (digits >= 2 && (text.size() >= 8 || 2 * hexes > text.size()));
}

}  // namespace triage::inline v0_1::detail
