// SPDX-License-Identifier: MIT
#include "supervise/workspace/notes.hpp"

#include "supervise/workspace/paths.hpp"
#include "triage/detail/hex.hpp"
#include "triage/json.hpp"

#include <algorithm>

namespace triage::inline v0_1::supervise {
namespace {

// In a message, beside paths in hexadecimal digits: paths may be any bytes, messages may not.
constexpr const char* not_kept_key = "not_kept_in";
constexpr const char* earlier_not_kept_key = "not_kept";
constexpr char path_tag = '?';
constexpr char empty_tag = 'E';
constexpr char others_tag = 'O';  // With a state, a space and the path.

}  // namespace

bool NotKept::covers(const std::string& path) const {
  if (paths.contains(path)) return true;
  for (std::size_t end = path.find('/'); end != std::string::npos; end = path.find('/', end + 1)) {
    if (paths.contains(path.substr(0, end + 1))) return true;
  }
  return false;
}

std::string to_bytes(const NotKept& not_kept) {
  std::string bytes;
  for (const std::string& path : not_kept.paths) bytes += path_tag + path + '\0';
  for (const std::string& path : not_kept.empty) bytes += empty_tag + path + '\0';
  for (const auto& [path, before] : not_kept.others) {
    bytes += others_tag + before + ' ' + path + '\0';
  }
  return bytes;
}

NotKept not_kept_from(std::string_view bytes) {
  NotKept found;
  for (const std::string& line : split_paths(bytes)) {
    if (line.front() == others_tag) {
      const std::size_t space = std::min(line.find(' '), line.size() - 1);
      found.others[line.substr(space + 1)] = line.substr(1, space - 1);
    } else {
      (line.front() == empty_tag ? found.empty : found.paths).insert(line.substr(1));
    }
  }
  return found;
}

std::string message_of(const NotKept& not_kept) { return detail::to_hex(to_bytes(not_kept)); }

NotKept not_kept_in(std::string_view message) {
  return not_kept_from(detail::from_hex(message.substr(0, message.find('\n'))).value_or(""));
}

std::string to_message(const Notes& notes) {
  Json message = Json::object();
  for (const auto& [path, mode] : notes.modes) message[detail::to_hex(path)] = mode;
  if (notes.not_kept) message[not_kept_key] = *notes.not_kept;
  return message.dump();
}

Notes notes_from(std::string_view message) {
  Notes notes;
  const Json fields = Json::parse(message.begin(), message.end(), nullptr, false);
  if (!fields.is_object()) return notes;
  for (const auto& [key, value] : fields.items()) {
    if (key == not_kept_key && value.is_string()) {
      notes.not_kept = value.get<std::string>();
    } else if (key == earlier_not_kept_key && value.is_string()) {
      notes.earlier_not_kept = value.get<std::string>();
      if (notes.earlier_not_kept.empty()) notes.not_kept.emplace();
    } else if (value.is_number_unsigned()) {
      const auto path = detail::from_hex(key);
      if (path) notes.modes[*path] = value.get<mode_t>() & all_bits;
    }
  }
  return notes;
}

}  // namespace triage::inline v0_1::supervise
