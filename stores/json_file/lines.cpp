// SPDX-License-Identifier: MIT
#include "lines.hpp"

#include "cbor_text.hpp"
#include "triage/detail/hex.hpp"
#include "triage/detail/json_depth.hpp"
#include "triage/detail/try.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace triage::inline v0_1::detail {
namespace {

constexpr std::string_view before_crc = "{\"crc\":\"";
constexpr std::size_t crc_digits = 8;
constexpr std::size_t head_size = before_crc.size() + crc_digits + 2;  // Plus the quote and comma.
constexpr int deepest_line = max_body_depth + 2;

std::string crc_text(std::string_view owner, std::string_view rest) {
  const std::uint32_t crc = crc32c(rest, crc32c(std::string_view("\0", 1), crc32c(owner)));
  return hex_number(crc, crc_digits);
}

// Appends a JSON string; false for bytes that are not UTF-8.
bool quote(std::string_view text, std::string& out) {
  try {
    out += Json(std::string(text)).dump();
    return true;
  } catch (const Json::exception&) {
    return false;
  }
}

std::string number(std::string_view name, std::int64_t value) {
  return "\"" + std::string(name) + "\":" + std::to_string(value);
}
std::string number(std::string_view name, std::uint64_t value) {
  return "\"" + std::string(name) + "\":" + std::to_string(value);
}
std::int64_t milliseconds(WallTime time) { return time.time_since_epoch().count(); }
WallTime to_time(const Json& line, const char* name) {
  return WallTime(std::chrono::milliseconds(line.at(name).get<std::int64_t>()));
}

std::string stand_members(const RunStand& stand) {
  return "\"status\":\"" + std::string(to_string(stand.status)) + "\"," +
         bytes_member("owner", stand.owner);
}

// Steps are stored under short names elsewhere; here people read them.
Json with_stored_names(Json step) {
  for (char letter = 'a'; letter <= 'z'; ++letter) {
    const std::string_view shown = step_member_shown(letter);
    const auto found = shown.empty() ? step.end() : step.find(shown);
    if (found == step.end()) continue;
    Json value = std::move(*found);
    step.erase(found);
    step[std::string(1, letter)] = std::move(value);
  }
  return step;
}

// What JSON text cannot say, or not under long names: as an object where that gives back the same,
// else the bytes.
void append_odd_body(std::string_view encoded, std::string& out) {
  const std::size_t before = out.size();
  out += "\"body\":";
  if (append_as_text(encoded, false, out)) return;
  out.resize(before);
  out += "\"body_cbor_hex\":\"" + to_hex(encoded) + "\"";
}

// The checksum is filled in at the end.
std::size_t begin_line(std::string& out) {
  const std::size_t begin = out.size();
  out += before_crc;
  out.append(crc_digits, '0');
  out += "\",";
  return begin;
}
void end_line(std::string_view owner, std::size_t begin, std::string& out) {
  out.push_back('}');
  const std::string crc = crc_text(owner, std::string_view(out).substr(begin + head_size));
  out.replace(begin + before_crc.size(), crc_digits, crc);
  out.push_back('\n');
}

std::optional<RecordKind> parse_kind(std::string_view name) {
  for (int i = 1; i <= 0xff && is_known(static_cast<RecordKind>(i)); ++i) {
    if (to_string(static_cast<RecordKind>(i)) == name) return static_cast<RecordKind>(i);
  }
  return std::nullopt;
}

Error unreadable(const RunId& run, std::string_view why) {
  return {Errc::corrupt, "a line of run \"" + run + "\" " + std::string(why)};
}

RunHead head_of(const RunId& run, const Json& line) {
  RunHead head;
  head.info.id = run;
  head.info.agent = bytes_of(line, "agent").value();
  head.info.label = bytes_of(line, "label").value();
  head.info.parent = bytes_of(line, "parent").value();
  head.info.started = to_time(line, "started_ms");
  head.birth = line.at("birth").get<std::uint64_t>();
  head.segment = line.at("segment").get<std::uint64_t>();
  head.generation = line.value("generation", std::uint64_t{0});
  return head;
}

Result<Record> record_of(const RunId& run, const Json& line) {
  const auto kind = parse_kind(line.at("kind").get_ref<const std::string&>());
  if (!kind) return unreadable(run, "has a kind that this version does not know");
  auto bytes = std::make_shared<std::string>();
  if (line.contains("body")) {
    encode_cbor(line.at("body"), *bytes);
  } else if (line.contains("step")) {
    encode_cbor(with_stored_names(line.at("step")), *bytes);
  } else {
    auto given = from_hex(line.at("body_cbor_hex").get_ref<const std::string&>());
    if (!given) return unreadable(run, "has a body that is not hexadecimal text");
    *bytes = *std::move(given);
  }
  return outcome::success(Record(line.at("seq").get<Sequence>(), *kind, to_time(line, "time_ms"),
                                 Record::Bytes(std::move(bytes))));
}

}  // namespace

std::string seal_line(std::string_view owner, std::string_view members) {
  std::string line;
  begin_line(line);
  line += members;
  end_line(owner, 0, line);
  return line;
}

bool is_sealed(std::string_view owner, std::string_view line) noexcept {
  if (line.size() <= head_size || !line.starts_with(before_crc)) return false;
  if (line.substr(head_size - 2, 2) != "\",") return false;
  return line.substr(before_crc.size(), crc_digits) == crc_text(owner, line.substr(head_size));
}

std::string bytes_member(std::string_view name, std::string_view bytes) {
  std::string text = "\"" + std::string(name) + "\":";
  if (quote(bytes, text)) return text;
  return "\"" + std::string(name) + "_hex\":\"" + to_hex(bytes) + "\"";
}

Result<std::string> bytes_of(const Json& line, const std::string& name) {
  if (const auto text = line.find(name); text != line.end() && text->is_string()) {
    return outcome::success(text->get<std::string>());
  }
  if (const auto text = line.find(name + "_hex"); text != line.end() && text->is_string()) {
    if (auto bytes = from_hex(text->get_ref<const std::string&>())) {
      return outcome::success(*std::move(bytes));
    }
  }
  return Error{Errc::corrupt, "\"" + name + "\" is missing, or no text"};
}

std::string head_line(const RunHead& head) {
  return seal_line(
      head.info.id,
      "\"triage\":\"run\"," + number("format", std::uint64_t{1}) + "," +
          bytes_member("run", head.info.id) + "," + bytes_member("agent", head.info.agent) + "," +
          bytes_member("label", head.info.label) + "," + bytes_member("parent", head.info.parent) +
          "," + number("started_ms", milliseconds(head.info.started)) + "," +
          number("birth", head.birth) + "," + number("segment", head.segment) +
          (head.generation > 0 ? "," + number("generation", head.generation) : ""));
}

void append_record_line(const RunId& run, const Record& record, std::string_view encoded,
                        std::size_t more, const RunStand& stand, std::string& out) {
  const std::size_t begin = begin_line(out);
  out += number("seq", record.seq()) + "," + number("epoch", stand.epoch) + ",\"kind\":\"";
  out += to_string(record.kind());
  out += "\"," + number("time_ms", milliseconds(record.time())) + ",";
  const std::size_t body = out.size();
  const bool is_step = record.kind() == RecordKind::step;
  out += is_step ? "\"step\":" : "\"body\":";
  if (!append_as_text(encoded, is_step, out)) {
    out.resize(body);
    append_odd_body(encoded, out);
  }
  out += "," + (more > 0 ? number("more", std::uint64_t{more}) : stand_members(stand));
  end_line(run, begin, out);
}

std::string stand_line(const RunId& run, const RunStand& stand) {
  return seal_line(run, number("epoch", stand.epoch) + "," + number("last", stand.last) + "," +
                            number("updated_ms", milliseconds(stand.updated)) + "," +
                            stand_members(stand));
}

Result<ParsedLine> parse_line(const RunId& run, std::string_view line) {
  if (!is_sealed(run, line)) return unreadable(run, "does not match its checksum");
  if (nested_deeper(line, deepest_line)) return unreadable(run, "is nested too deep");
  const Json json = Json::parse(line, nullptr, false);
  if (!json.is_object()) return unreadable(run, "is not a JSON object");
  try {
    ParsedLine parsed;
    if (json.contains("triage")) {
      if (json.at("format").get<std::uint64_t>() != 1) {
        return Error{Errc::unsupported, "run \"" + run + "\" was written by a newer version"};
      }
      parsed.head = head_of(run, json);
      return outcome::success(std::move(parsed));
    }
    if (json.contains("seq")) {
      TRIAGE_TRY(record, record_of(run, json));
      parsed.record = std::move(record);
    }
    if (const auto status = json.find("status"); status != json.end()) {
      const auto known = parse_run_status(status->get_ref<const std::string&>());
      if (!known) return unreadable(run, "has a status that this version does not know");
      TRIAGE_TRY(owner, bytes_of(json, "owner"));
      parsed.stand = RunStand{.status = *known,
                              .epoch = json.at("epoch").get<std::uint64_t>(),
                              .owner = std::move(owner)};
      parsed.stand->last = parsed.record ? parsed.record->seq() : json.at("last").get<Sequence>();
      parsed.stand->updated = parsed.record ? parsed.record->time() : to_time(json, "updated_ms");
    }
    return outcome::success(std::move(parsed));
  } catch (const std::exception& e) {
    return unreadable(run, std::string("lacks what it must say: ") + e.what());
  }
}

Sequence sequence_of_line(std::string_view owner, std::string_view line) noexcept {
  constexpr std::string_view name = "\"seq\":";
  if (!is_sealed(owner, line) || !line.substr(head_size).starts_with(name)) return 0;
  Sequence seq = 0;
  const char* const begin = line.data() + head_size + name.size();
  const auto [end, error] = std::from_chars(begin, line.data() + line.size(), seq);
  return error == std::errc{} ? seq : 0;
}

LineGuess guess_line(std::string_view line) noexcept {
  const auto has = [&](std::string_view name) { return line.find(name) != line.npos; };
  LineGuess guess{.record = has("\"kind\":") || has("\"body") || has("\"time_ms\":")};
  constexpr std::string_view name = "\"seq\":";
  const std::size_t at = line.find(name);
  if (at == line.npos) return guess;
  const char* const begin = line.data() + at + name.size();
  const auto [end, error] = std::from_chars(begin, line.data() + line.size(), guess.seq);
  if (error != std::errc{}) guess.seq = 0;
  return guess;
}

}  // namespace triage::inline v0_1::detail
