// SPDX-License-Identifier: MIT
#include "interchange_lines.hpp"

#include "triage/detail/hex.hpp"
#include "triage/detail/json_depth.hpp"
#include "triage/detail/try.hpp"

#include <array>
#include <istream>
#include <ostream>

namespace triage::inline v0_1::detail {
namespace {

constexpr int format = 1;
constexpr int deepest_line = max_body_depth + 2;
constexpr std::array<std::pair<OwnSpace, std::string_view>, 3> spaces = {{
    {OwnSpace::suspensions, "suspensions"},
    {OwnSpace::signals, "signals"},
    {OwnSpace::forks, "forks"},
}};

// A JSON string, or {"hex": digits} for text that is not UTF-8 or looks like such an object.
Json text_json(const std::string& text) {
  try {
    static_cast<void>(Json(text).dump());
    return text;
  } catch (const Json::exception&) {
    return {{"hex", to_hex(text)}};
  }
}

std::optional<std::string> text_in(const Json& line, const char* name) {
  const auto found = line.find(name);
  if (found == line.end()) return std::nullopt;
  if (found->is_string()) return found->get<std::string>();
  if (!found->is_object() || !found->contains("hex") || !(*found)["hex"].is_string()) {
    return std::nullopt;
  }
  return from_hex((*found)["hex"].get<std::string>());
}

template <class T>
std::optional<T> number_in(const Json& line, const char* name) {
  const auto found = line.find(name);
  if (found == line.end() || !found->is_number_integer()) return std::nullopt;
  return found->get<T>();
}

std::int64_t to_ms(WallTime time) { return time.time_since_epoch().count(); }
WallTime to_time(std::int64_t ms) { return WallTime(std::chrono::milliseconds(ms)); }

// The body as JSON, if that encodes to the same bytes.
std::optional<Json> readable_body(const std::string& bytes) {
  const Result<Json> body = decode_cbor(bytes);
  if (!body) return std::nullopt;
  try {
    const Json again = Json::parse(body.value().dump());
    std::string encoded;
    encode_cbor(again, encoded);
    if (encoded == bytes) return body.value();
  } catch (const Json::exception&) {  // The bytes are not UTF-8.
  }
  return std::nullopt;
}

std::optional<RecordKind> kind_named(std::string_view name) {
  for (unsigned value = 1; is_known(static_cast<RecordKind>(value)); ++value) {
    if (to_string(static_cast<RecordKind>(value)) == name) return static_cast<RecordKind>(value);
  }
  return std::nullopt;
}

std::optional<RunInfo> run_in(const Json& line) {
  const auto id = text_in(line, "run");
  const auto agent = text_in(line, "agent");
  const auto label = text_in(line, "label");
  const auto parent = text_in(line, "parent");
  const auto status = parse_run_status(text_in(line, "status").value_or(""));
  const auto started = number_in<std::int64_t>(line, "started_ms");
  const auto updated = number_in<std::int64_t>(line, "updated_ms");
  const auto last = number_in<Sequence>(line, "last");
  if (!id || !check_run_id(*id) || !agent || !label || !parent || !status || !started || !updated ||
      !last) {
    return std::nullopt;
  }
  return RunInfo{.id = *id,
                 .agent = *agent,
                 .label = *label,
                 .parent = *parent,
                 .status = *status,
                 .started = to_time(*started),
                 .updated = to_time(*updated),
                 .last = *last};
}

std::optional<Record> record_in(const Json& line) {
  const auto seq = number_in<Sequence>(line, "seq");
  const auto time = number_in<std::int64_t>(line, "time_ms");
  const auto kind = kind_named(text_in(line, "kind").value_or(""));
  if (!seq || !time || !kind) return std::nullopt;
  std::optional<std::string> bytes;
  if (const auto body = line.find("body"); body != line.end()) {
    bytes.emplace();
    encode_cbor(*body, *bytes);
  } else if (const auto hex = text_in(line, "body_cbor_hex")) {
    bytes = from_hex(*hex);
  }
  if (!bytes) return std::nullopt;
  return Record(*seq, *kind, to_time(*time),
                std::make_shared<const std::string>(*std::move(bytes)));
}

std::optional<ExportedKey> key_in(const Json& line) {
  const auto name = text_in(line, "space");
  const auto key = text_in(line, "key");
  const auto bytes = text_in(line, "value");
  if (!name || !key || !bytes) return std::nullopt;
  for (const auto& [space, called] : spaces) {
    if (called == *name) return ExportedKey{space, *key, *bytes};
  }
  return std::nullopt;
}

}  // namespace

void ExportWriter::line(const Json& value) {
  const std::string text = value.dump() + "\n";
  crc_ = crc32c(text, crc_);
  out_ << text;
}

void ExportWriter::head() { line({{"triage", "export"}, {"format", format}}); }

void ExportWriter::run(const RunInfo& info) {
  ++sums_.runs;
  line({{"run", info.id},
        {"agent", text_json(info.agent)},
        {"label", text_json(info.label)},
        {"parent", info.parent},
        {"status", to_string(info.status)},
        {"started_ms", to_ms(info.started)},
        {"updated_ms", to_ms(info.updated)},
        {"last", info.last}});
}

void ExportWriter::record(const Record& record) {
  ++sums_.records;
  std::string bytes;
  record.encode_body(bytes);
  Json value{
      {"seq", record.seq()}, {"kind", to_string(record.kind())}, {"time_ms", to_ms(record.time())}};
  if (auto body = readable_body(bytes)) {
    value["body"] = *std::move(body);
  } else {
    value["body_cbor_hex"] = to_hex(bytes);
  }
  line(value);
}

void ExportWriter::key(const ExportedKey& key) {
  for (const auto& [space, called] : spaces) {
    if (space != key.space) continue;
    line({{"space", called}, {"key", text_json(key.key)}, {"value", text_json(key.bytes)}});
  }
}

Result<void> ExportWriter::end() {
  out_ << Json{{"runs", sums_.runs}, {"records", sums_.records}, {"crc32c", crc_}}.dump() << '\n';
  out_.flush();
  if (out_) return outcome::success();
  return Error{Errc::io, "the export cannot be written"};
}

Error ExportReader::corrupt(std::string_view why) const {
  return {Errc::corrupt, "line " + std::to_string(number_) + " of the export " + std::string(why)};
}

Result<ExportLine> ExportReader::next() {
  ++number_;
  std::string text;
  std::getline(in_, text);
  if (!in_ || in_.eof()) {
    return corrupt("is missing or cut off: the file is not whole, so nothing of it is used");
  }
  const std::uint32_t before = crc_;
  crc_ = crc32c("\n", crc32c(text, crc_));
  if (nested_deeper(text, deepest_line)) return corrupt("is nested too deep");
  const Json line = Json::parse(text, nullptr, false);
  if (!line.is_object()) return corrupt("is not a JSON object");
  ExportLine read;
  if (number_ == 1) {
    if (line.value("triage", Json()) != "export") return corrupt("is not the head of an export");
    if (line.value("format", Json()) == format) return outcome::success(std::move(read));
    return Error{Errc::unsupported, "the export has another format; this version reads format 1"};
  }
  if (line.contains("crc32c")) {
    read.end = ExportEnd{number_in<std::uint64_t>(line, "runs").value_or(0),
                         number_in<std::uint64_t>(line, "records").value_or(0)};
    if (number_in<std::uint32_t>(line, "crc32c") != before || read.end->runs != sums_.runs ||
        read.end->records != sums_.records) {
      return corrupt("does not fit what is before it: something was changed or is missing");
    }
    if (in_.peek() != std::istream::traits_type::eof()) return corrupt("is not the last one");
  } else if (line.contains("run")) {
    ++sums_.runs;
    read.run = run_in(line);
    if (!read.run) return corrupt("does not describe a run");
  } else if (line.contains("seq")) {
    ++sums_.records;
    read.record = record_in(line);
    if (!read.record) return corrupt("does not describe a record");
  } else {
    read.key = key_in(line);
    if (!read.key) return corrupt("says nothing that this version knows");
  }
  return outcome::success(std::move(read));
}

}  // namespace triage::inline v0_1::detail
