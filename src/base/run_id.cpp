// SPDX-License-Identifier: MIT
#include "triage/run_id.hpp"

#include "base/ascii.hpp"
#include "base/id_rule.hpp"
#include "triage/json.hpp"

#include <array>
#include <charconv>

namespace triage::inline v0_1 {
namespace {

constexpr std::size_t longest_id = 128;

constexpr bool allowed(char c) noexcept {
  return detail::is_alnum(c) || c == '.' || c == '_' || c == ':' || c == '-';
}

}  // namespace

Result<void> detail::check_id(std::string_view what, std::string_view id) {
  constexpr std::string_view rule =
      "; allowed are 1 to 128 of A-Z a-z 0-9 . _ : - , not beginning with a dot";
  const auto refuse = [&](const std::string& why) {
    return Error{Errc::invalid_argument, std::string(what) + " " + why + std::string(rule)};
  };
  if (id.empty()) return refuse("is empty");
  if (id.size() > longest_id) return refuse("has " + std::to_string(id.size()) + " characters");
  if (id.front() == '.') return refuse("\"" + printable(id) + "\" begins with a dot");
  for (const char c : id) {
    if (!allowed(c)) {
      return refuse("\"" + printable(id) + "\" contains \"" + printable(std::string_view(&c, 1)) +
                    "\"");
    }
  }
  return outcome::success();
}

Result<void> check_run_id(std::string_view id) { return detail::check_id("run id", id); }

RunId make_run_id(WallTime now, Random& random) {
  constexpr std::string_view digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
  std::array<char, 26> text{};
  auto time = static_cast<std::uint64_t>(now.time_since_epoch().count());
  for (std::size_t i = 10; i-- > 0; time >>= 5U) text[i] = digits[time & 31U];
  std::uint64_t bits = random.next();
  for (std::size_t i = 10; i < 18; ++i, bits >>= 5U) text[i] = digits[bits & 31U];
  bits = random.next();
  for (std::size_t i = 18; i < 26; ++i, bits >>= 5U) text[i] = digits[bits & 31U];
  return {text.data(), text.size()};
}

std::string to_string(const CheckpointId& id) { return id.run + "@" + std::to_string(id.sequence); }

Result<CheckpointId> parse_checkpoint_id(std::string_view text) {
  const auto at = text.rfind('@');
  const auto refuse = [&] {
    return Error{Errc::invalid_argument, "checkpoint id \"" + printable(text.substr(0, 200)) +
                                             "\": expected RUN@SEQUENCE, such as crawl-1@42"};
  };
  if (at == std::string_view::npos) return refuse();
  CheckpointId id{RunId(text.substr(0, at)), 0};
  const std::string_view number = text.substr(at + 1);
  const auto [end, error] =
      std::from_chars(number.data(), number.data() + number.size(), id.sequence);
  if (error != std::errc{} || end != number.data() + number.size() || number.empty()) {
    return refuse();
  }
  if (!check_run_id(id.run)) return refuse();
  return id;
}

}  // namespace triage::inline v0_1
