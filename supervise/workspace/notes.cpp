// SPDX-License-Identifier: MIT
#include "supervise/workspace/notes.hpp"

#include "supervise/workspace/paths.hpp"
#include "triage/json.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>

namespace triage::inline v0_1::supervise {
namespace {

// In a message, beside paths in hexadecimal digits.
constexpr const char* not_kept_key = "not_kept_in";
constexpr const char* earlier_not_kept_key = "not_kept";
constexpr char path_tag = '?';
constexpr char empty_tag = 'E';

// Paths may be any bytes; commit messages may not.
std::string hex(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    std::array<char, 3> digits{};
    std::snprintf(digits.data(), digits.size(), "%02x", static_cast<unsigned char>(c));
    text += digits.data();
  }
  return text;
}

std::string unhex(std::string_view text) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    bytes += static_cast<char>(std::strtol(std::string(text.substr(i, 2)).c_str(), nullptr, 16));
  }
  return bytes;
}

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
  return bytes;
}

NotKept not_kept_from(std::string_view bytes) {
  NotKept found;
  for (const std::string& line : split_paths(bytes)) {
    (line.front() == empty_tag ? found.empty : found.paths).insert(line.substr(1));
  }
  return found;
}

std::string message_of(const NotKept& not_kept) { return hex(to_bytes(not_kept)); }

NotKept not_kept_in(std::string_view message) { return not_kept_from(unhex(message)); }

std::string to_message(const Notes& notes) {
  Json message = Json::object();
  for (const auto& [path, mode] : notes.modes) message[hex(path)] = mode;
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
      notes.modes[unhex(key)] = value.get<mode_t>() & all_bits;
    }
  }
  return notes;
}

}  // namespace triage::inline v0_1::supervise
