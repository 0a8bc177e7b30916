// SPDX-License-Identifier: MIT
#include "requests.hpp"
#include "base/digest.hpp"
#include "records/finished.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <set>
#include <utility>

namespace triage::inline v0_1::workflow::detail {

bool is_expired(const Asked& asked, Clock& clock) {
  return asked.expires && clock.wall_now() >= *asked.expires;
}

std::pair<std::string, int> delivery_asking(std::string_view request) {
  std::string_view rest = request;  // "PATH/OCCURRENCE/PORT/N"
  for (int i = 0; i < 2; ++i) rest = rest.substr(0, std::min(rest.rfind('/'), rest.size()));
  const std::size_t slash = rest.rfind('/');
  int occurrence = 0;
  if (slash != std::string_view::npos) {
    std::from_chars(rest.data() + slash + 1, rest.data() + rest.size(), occurrence);
  }
  if (occurrence < 1) return {};
  return {std::string(rest.substr(0, slash)), occurrence};
}

Json asked_json(const Asked& asked) {
  Json json{{"executor", asked.executor},
            {"port", asked.port},
            {"type", asked.type},
            {"payload", asked.payload}};
  if (!asked.branch.empty()) json["branch"] = asked.branch;
  if (!asked.anew.empty()) json["anew"] = asked.anew;
  if (asked.expires) json["expires_ms"] = asked.expires->time_since_epoch().count();
  return json;
}

Asked asked_from(const std::string& id, const Json& json) {
  Asked asked{.id = id,
              .executor = json.value("executor", std::string()),
              .port = json.value("port", std::string()),
              .type = json.value("type", std::string()),
              .payload = json.value("payload", Json()),
              .branch = json.value("branch", std::string()),
              .anew = json.value("anew", std::string())};
  if (json.contains("expires_ms")) {
    asked.expires = WallTime(
        std::chrono::milliseconds(json["expires_ms"].get<std::chrono::milliseconds::rep>()));
  }
  return asked;
}

std::optional<Answer> answer_from(const Json& stored) {
  if (!stored.is_object()) return std::nullopt;
  const auto to = stored.find("question");
  Answer answer{.expired = !stored.contains("value")};
  if (answer.expired && !stored.contains("expired")) return std::nullopt;
  if (!answer.expired) answer.value = stored.at("value");
  if (to != stored.end() && to->is_string()) answer.to = to->get<std::string>();
  return answer;
}

std::string question_of(std::string_view type, const Json& payload) {
  return triage::detail::digest(std::string(type) + "\n" + show(payload)).substr(0, 16);
}

std::vector<Asked> open_requests(const State& state) {
  std::vector<Asked> open;
  if (state.empty()) return open;
  const auto has = [&](const std::string& key) {
    const Json* value = state.find(key);
    return value != nullptr && !value->is_null();
  };
  const State::Values& values = *state.values();
  for (auto one = values.lower_bound(request_prefix);
       one != values.end() && one->first.rfind(request_prefix, 0) == 0; ++one) {
    Asked asked = asked_from(one->first.substr(request_prefix.size()), *one->second);
    // "PATH/OCCURRENCE/PORT/N"
    const std::size_t end = asked.id.find('/', asked.executor.size() + 1);
    const bool finished = has(std::string(finished_prefix) + asked.id.substr(0, end));
    if (!finished && !has(std::string(answer_prefix) + asked.id)) open.push_back(std::move(asked));
  }
  return open;
}

std::vector<Asked> open_requests(const State& state, const RunId& run) {
  std::vector<Asked> open = open_requests(state);
  std::erase_if(open,
                [&](const Asked& one) { return one.port == decision_port && one.branch != run; });
  return open;
}

void KnownRequests::add(const Asked& asked) {
  const std::scoped_lock lock(mutex_);
  added_.insert_or_assign(asked.id, asked);
}

std::optional<Asked> KnownRequests::find(const std::string& id) const {
  {
    const std::scoped_lock lock(mutex_);
    if (const auto added = added_.find(id); added != added_.end()) return added->second;
  }
  const Json* before = before_.find(std::string(request_prefix) + id);
  if (before == nullptr || !before->is_object()) return std::nullopt;
  return asked_from(id, *before);
}

std::map<std::string, Asked> KnownRequests::of(const std::string& prefix) const {
  std::map<std::string, Asked> all;
  if (!before_.empty()) {
    const std::string keys = std::string(request_prefix) + prefix;
    const State::Values& values = *before_.values();
    for (auto one = values.lower_bound(keys); one != values.end() && one->first.rfind(keys, 0) == 0;
         ++one) {
      std::string id = one->first.substr(request_prefix.size());
      Asked asked = asked_from(id, *one->second);
      all.emplace(std::move(id), std::move(asked));
    }
  }
  const std::scoped_lock lock(mutex_);
  for (auto one = added_.lower_bound(prefix);
       one != added_.end() && one->first.rfind(prefix, 0) == 0; ++one) {
    all.insert_or_assign(one->first, one->second);
  }
  std::erase_if(all, [](const auto& one) { return one.second.port == decision_port; });
  return all;
}

std::string answer_signal(const Asked& asked, std::string_view timeline) {
  std::string what = asked.id;
  if (!timeline.empty()) what += "\n" + std::string(timeline);
  if (!asked.branch.empty()) what += "\nbranch " + asked.branch;
  if (!asked.anew.empty()) what += "\nanew " + asked.anew;
  return std::string(answer_signal_prefix) + triage::detail::digest(what).substr(0, 32);
}

std::string timeline_of(const State& state) {
  const Json* timeline = state.find(timeline_key);
  return timeline != nullptr && timeline->is_string() ? timeline->get<std::string>() : "";
}

}  // namespace triage::inline v0_1::workflow::detail
