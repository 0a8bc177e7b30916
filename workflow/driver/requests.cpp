// SPDX-License-Identifier: MIT
#include "requests.hpp"
#include "base/digest.hpp"
#include "records/finished.hpp"

#include <algorithm>
#include <chrono>
#include <set>
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
  if (!asked.branch.empty()) json["branch"] = asked.branch;
  if (asked.expires) json["expires_ms"] = asked.expires->time_since_epoch().count();
  return json;
}

Asked asked_from(const std::string& id, const Json& json) {
  Asked asked{.id = id,
              .executor = json.value("executor", std::string()),
              .port = json.value("port", std::string()),
              .type = json.value("type", std::string()),
              .payload = json.value("payload", Json()),
              .branch = json.value("branch", std::string())};
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

int KnownRequests::asked_by(const std::string& branch, const std::string& prefix) const {
  std::set<std::string> ids;
  const auto count = [&](const Asked& asked) {
    if (asked.branch == branch && asked.port != decision_port) ids.insert(asked.id);
  };
  if (!before_.empty()) {
    const std::string keys = std::string(request_prefix) + prefix;
    const State::Values& values = *before_.values();
    for (auto one = values.lower_bound(keys); one != values.end() && one->first.rfind(keys, 0) == 0;
         ++one) {
      count(asked_from(one->first.substr(request_prefix.size()), *one->second));
    }
  }
  const std::scoped_lock lock(mutex_);
  for (auto one = added_.lower_bound(prefix);
       one != added_.end() && one->first.rfind(prefix, 0) == 0; ++one) {
    count(one->second);
  }
  return static_cast<int>(ids.size());
}

namespace {

using Kind = RecoveryAction::Kind;

bool tries_again(Kind kind) {
  return kind == Kind::retry || kind == Kind::replan || kind == Kind::rollback ||
         kind == Kind::resume;
}

// Those that a workflow can carry out.
std::vector<std::string> allowed_of(const RecoveryAction& wanted) {
  std::vector<std::string> allowed;
  for (const Kind kind :
       {Kind::retry, Kind::replan, Kind::rollback, Kind::resume, Kind::escalate, Kind::abort}) {
    const std::string name(to_string(kind));
    const auto& own = wanted.allowed_actions;
    if (own.empty() || std::find(own.begin(), own.end(), name) != own.end()) {
      allowed.push_back(name);
    }
  }
  return allowed;
}

std::string text_in(const Json& object, const char* key) {
  const bool there = object.is_object() && object.contains(key) && object[key].is_string();
  return there ? object[key].get<std::string>() : std::string();
}

std::optional<Kind> kind_of(const Json& answer) {
  return parse_recovery_kind(answer.is_string() ? answer.get<std::string>()
                                                : text_in(answer, "action"));
}

}  // namespace

Json decision_payload(const RecoveryAction& wanted, const std::string& failure) {
  Json payload{{"failure", failure}, {"allowed", allowed_of(wanted)}};
  if (!wanted.message.empty()) payload["message"] = wanted.message;
  if (wanted.until) {  // As for any run that is due.
    const auto& own = wanted.allowed_actions;
    const std::string resume(to_string(Kind::resume));
    const bool may = own.empty() || std::find(own.begin(), own.end(), resume) != own.end();
    payload["then"] = may ? resume : own.front();
  }
  return payload;
}

Result<void> check_decision(const Asked& asked, const Json& answer) {
  const Json allowed = asked.payload.is_object() ? asked.payload.value("allowed", Json()) : Json();
  const auto kind = kind_of(answer);
  std::string names;
  for (const Json& one : allowed) {
    if (kind && one == to_string(*kind)) return outcome::success();
    names += (names.empty() ? "" : ", ") + show(one);
  }
  return Error{Errc::invalid_argument, "the decision is " + printable(show(answer)) +
                                           "; allowed are " + names +
                                           ", or an object with one of them as \"action\" and "
                                           "perhaps a \"message\""};
}

Decision decision_from(const Asked& asked, const Answer& answer) {
  const Json& payload = asked.payload;
  const Json value = !answer.expired       ? answer.value
                     : payload.is_object() ? payload.value("then", Json())
                                           : Json();
  const auto kind = kind_of(value);
  if (kind && tries_again(*kind)) return {.tries_again = true, .error = {Errc::escalated, ""}};
  std::string text = answer.expired ? "nobody decided in time" : "it was decided to give up";
  if (!text_in(value, "message").empty()) text = text_in(value, "message");
  return {.error = {kind == Kind::abort ? Errc::aborted : Errc::escalated,
                    text + "; the failure was: " + text_in(payload, "failure")}};
}

std::string answer_signal(const Asked& asked, std::string_view timeline) {
  std::string what = asked.id;
  if (!timeline.empty()) what += "\n" + std::string(timeline);
  if (!asked.branch.empty()) what += "\nbranch " + asked.branch;
  return "triage/answer/" + triage::detail::digest(what).substr(0, 32);
}

std::string timeline_of(const State& state) {
  const Json* timeline = state.find(timeline_key);
  return timeline != nullptr && timeline->is_string() ? timeline->get<std::string>() : "";
}

}  // namespace triage::inline v0_1::workflow::detail
