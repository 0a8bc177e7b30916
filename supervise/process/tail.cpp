// SPDX-License-Identifier: MIT
#include "supervise/process/tail.hpp"

#include "triage/detail/stored_field.hpp"

#include <algorithm>
#include <charconv>

namespace triage::inline v0_1::supervise {
namespace {

constexpr std::size_t most_lines = 200;

using detail::text_field;

// An HTTP status, as a number or as a text that begins with one.
std::optional<int> status_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) return std::nullopt;
  int status = 0;
  if (found->is_number_integer()) {
    const auto number = found->get<std::int64_t>();
    status = number >= 100 && number <= 599 ? static_cast<int>(number) : 0;
  } else if (found->is_string()) {
    const auto& text = found->get_ref<const std::string&>();
    std::from_chars(text.data(), text.data() + text.size(), status);
  }
  return status >= 100 && status <= 599 ? std::optional(status) : std::nullopt;
}

void read_codes(const Json& object, Failure& failure) {
  for (const char* key : {"http_status", "status", "status_code", "code", "api_error_status"}) {
    if (!failure.http_status) failure.http_status = status_at(object, key);
  }
  for (const char* key : {"exception_type", "type", "name", "code"}) {
    const std::string name = text_field(object, key);
    if (failure.exception_type.empty() && name != "error") failure.exception_type = name;
  }
}

}  // namespace

void Tail::add(std::string_view bytes) {
  seen_ += bytes.size();
  if (bytes.size() >= longest) {
    kept_.assign(bytes.substr(bytes.size() - longest));
    return;
  }
  kept_.append(bytes);
  // Trimmed rarely, so that many short lines cost linear time.
  if (kept_.size() > 4 * longest) kept_.erase(0, kept_.size() - longest);
}

std::string Tail::text() const {
  const std::string_view kept = kept_;
  const std::string_view newest = kept.substr(kept.size() - std::min(kept.size(), longest));
  if (newest.size() == seen_) return std::string(newest);
  // A line without its beginning cannot be interpreted. Of a single one the broken word is left
  // out.
  std::size_t end = newest.find('\n');
  if (end == std::string_view::npos) end = newest.find_first_of(" \t\r");
  return std::string(end == std::string_view::npos ? "" : newest.substr(end + 1));
}

std::optional<Failure> json_error(const Json& object) {
  if (!object.is_object()) return std::nullopt;
  Failure failure;
  const auto error = object.find("error");
  if (error != object.end() && error->is_object()) {
    failure.text = text_field(*error, "message");
    read_codes(*error, failure);
  } else if (error != object.end() && error->is_string()) {
    failure.text = error->get<std::string>();
  } else if (text_field(object, "type") == "error") {
    failure.text = text_field(object, "message");
  } else {
    return std::nullopt;
  }
  read_codes(object, failure);
  if (failure.text.empty()) failure.text = show(object);
  return failure;
}

std::optional<Failure> last_json_error(std::string_view text) {
  for (std::size_t line = 0; line < most_lines && !text.empty(); ++line) {
    if (text.back() == '\n') text.remove_suffix(1);
    const std::size_t start = text.rfind('\n') + 1;  // 0 if there is none.
    const std::string_view last = text.substr(start);
    text = text.substr(0, start);
    const std::size_t brace = last.find_first_not_of(" \t\r");
    if (brace == std::string_view::npos || last[brace] != '{') continue;
    const Json object = Json::parse(last.begin(), last.end(), nullptr, false);
    if (auto found = json_error(object)) return found;
  }
  return std::nullopt;
}

}  // namespace triage::inline v0_1::supervise
