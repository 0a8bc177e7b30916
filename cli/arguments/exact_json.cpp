// SPDX-License-Identifier: MIT
#include "exact_json.hpp"

#include "supervise/protocol/protocol_records.hpp"

#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace triage::inline v0_1::cli {
namespace {

// Follows the parser, which keeps the last value of a key only.
class Keys {
 public:
  bool operator()(int, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) open_.emplace_back();
    if (event == Json::parse_event_t::object_end) open_.pop_back();
    if (event == Json::parse_event_t::key) {
      const auto& key = parsed.get_ref<const std::string&>();
      if (!open_.back().insert(key).second && !twice_) twice_ = key;
    }
    return true;
  }
  [[nodiscard]] const std::optional<std::string>& twice() const noexcept { return twice_; }

 private:
  std::vector<std::set<std::string>> open_{};
  std::optional<std::string> twice_{};
};

}  // namespace

Result<std::optional<Json>> exact_json(std::string_view text) {
  Keys keys;
  Json value = Json::parse(text, std::ref(keys), false);
  if (value.is_discarded()) return outcome::success(std::optional<Json>());
  const std::string_view number = supervise::integer_beyond_64_bits(text);
  if (!number.empty()) return supervise::too_large(number);
  if (!keys.twice()) return outcome::success(std::optional<Json>(std::move(value)));
  return Error{Errc::invalid_argument, "the key \"" + printable(*keys.twice()).substr(0, 100) +
                                           "\" is twice in one object; allowed is each once"};
}

}  // namespace triage::inline v0_1::cli
