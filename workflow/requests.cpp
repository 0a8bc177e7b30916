// SPDX-License-Identifier: MIT
#include "requests.hpp"
#include "base/digest.hpp"
#include "finished.hpp"

#include <chrono>
#include <utility>

namespace triage::inline v0_1::workflow::detail {

bool is_expired(const Asked& asked, Clock& clock) {
  return asked.expires && clock.wall_now() >= *asked.expires;
}

Json asked_json(const Asked& asked) {
  Json json{{"executor", asked.executor},
            {"port", asked.port},
            {"type", asked.type},
            {"payload", asked.payload}};
  if (asked.expires) json["expires_ms"] = asked.expires->time_since_epoch().count();
  return json;
}

Asked asked_from(const std::string& id, const Json& json) {
  Asked asked{.id = id,
              .executor = json.value("executor", std::string()),
              .port = json.value("port", std::string()),
              .type = json.value("type", std::string()),
              .payload = json.value("payload", Json())};
  if (json.contains("expires_ms")) {
    asked.expires = WallTime(
        std::chrono::milliseconds(json["expires_ms"].get<std::chrono::milliseconds::rep>()));
  }
  return asked;
}

std::optional<Answer> answer_from(const Json& stored) {
  if (!stored.is_object()) return std::nullopt;
  if (stored.contains("value")) return Answer{.value = stored.at("value")};
  if (stored.contains("expired")) return Answer{.expired = true};
  return std::nullopt;
}

std::string answer_signal(std::string_view request, std::string_view timeline) {
  std::string what(request);
  if (!timeline.empty()) what += "\n" + std::string(timeline);
  return "triage/answer/" + triage::detail::digest(what).substr(0, 32);
}

std::string timeline_of(const State& state) {
  const Json* timeline = state.find(timeline_key);
  return timeline != nullptr && timeline->is_string() ? timeline->get<std::string>() : "";
}

}  // namespace triage::inline v0_1::workflow::detail
