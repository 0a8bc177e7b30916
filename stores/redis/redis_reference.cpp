// SPDX-License-Identifier: MIT
#include "triage/stores/redis_reference.hpp"

#include "redis_connection.hpp"
#include "triage/detail/try.hpp"

#include <hiredis/hiredis.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <set>
#include <vector>

namespace triage::inline v0_1 {
namespace detail {
namespace {

constexpr const char* data_prefix = "triage:checkpoint:";
constexpr const char* index_key = "triage:checkpoint:index";
constexpr std::size_t read_at_once = 100;  // Checkpoints in one answer: each may be large.

std::string run_index(const std::string& run) { return "triage:checkpoint:run:" + run + ":index"; }

std::vector<std::string> texts_in(const redisReply& reply) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < reply.elements; ++i) texts.push_back(text_of(reply.element[i]));
  return texts;
}

// As a sorted set shows it, without loss.
std::string score_of(double timestamp) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.17g", timestamp);
  return text.data();
}

Result<ReferenceCheckpoint> checkpoint_in(const std::string& id, const redisReply& reply) {
  if (reply.type != REDIS_REPLY_STRING) {
    return Error{Errc::corrupt,
                 "checkpoint \"" + printable(id) + "\" is in the index, but its key is gone"};
  }
  TRIAGE_TRY(stored, parse_reference(id, "value", text_of(&reply)));
  const auto member = [&](const char* name) {
    return stored.is_object() && stored.contains(name) ? stored[name] : Json();
  };
  const Json time = member("timestamp");
  const Json run = member("run_id");
  if (!time.is_number()) {
    return Error{Errc::corrupt, "checkpoint \"" + printable(id) + "\" has no time"};
  }
  return ReferenceCheckpoint{.id = id,
                             .timestamp = time.get<double>(),
                             .run = run.is_string() ? run.get<std::string>() : std::string(),
                             .state = member("state"),
                             .trajectory = member("trajectory")};
}

class RedisReference final : public ReferenceStore {
 public:
  RedisReference(RedisAddress address, std::chrono::milliseconds timeout)
      : connection_(std::move(address), nullptr, timeout) {}

  ~RedisReference() override {
    for (const auto& [id, run] : added_) {
      std::vector<RedisWords> words{{"MULTI"}, {"DEL", data_prefix + id}, {"ZREM", index_key, id}};
      if (!run.empty()) words.push_back({"ZREM", run_index(run), id});
      words.push_back({"EXEC"});
      if (!connection_.ask_all(words)) return;
    }
  }

  Result<void> look() {
    TRIAGE_TRYV(connection_.ask({"PING"}));
    return outcome::success();
  }

  Result<void> visit(const Visit& visit) override {
    TRIAGE_TRY(reply, connection_.ask({"ZRANGE", index_key, "0", "-1"}));
    const std::vector<std::string> ids = texts_in(*reply);
    for (std::size_t first = 0; first < ids.size(); first += read_at_once) {
      const std::size_t end = std::min(first + read_at_once, ids.size());
      std::vector<RedisWords> questions;
      for (std::size_t i = first; i < end; ++i) questions.push_back({"GET", data_prefix + ids[i]});
      TRIAGE_TRY(answers, connection_.ask_all(questions));
      for (std::size_t i = first; i < end; ++i) {
        TRIAGE_TRY(answer, std::move(answers[i - first]));
        TRIAGE_TRYV(visit(checkpoint_in(ids[i], *answer)));
      }
    }
    return outcome::success();
  }

  Result<void> add(const ReferenceCheckpoint& checkpoint) override {
    const std::string key = data_prefix + checkpoint.id;
    TRIAGE_TRY(there, connection_.ask({"GET", key}));
    if (there->type == REDIS_REPLY_STRING) {
      const auto stored = checkpoint_in(checkpoint.id, *there);
      if (stored && same_reference(stored.value(), checkpoint)) return outcome::success();
      return Error{Errc::conflict, "checkpoint \"" + printable(checkpoint.id) +
                                       "\" is there already, with another content"};
    }
    const Json value{{"id", checkpoint.id},
                     {"timestamp", checkpoint.timestamp},
                     {"state", checkpoint.state},
                     {"trajectory", checkpoint.trajectory},
                     {"run_id", checkpoint.run.empty() ? Json() : Json(checkpoint.run)}};
    const std::string score = score_of(checkpoint.timestamp);
    std::vector<RedisWords> words{
        {"MULTI"}, {"SET", key, reference_text(value)}, {"ZADD", index_key, score, checkpoint.id}};
    if (!checkpoint.run.empty()) {
      words.push_back({"ZADD", run_index(checkpoint.run), score, checkpoint.id});
    }
    words.push_back({"EXEC"});
    added_.emplace(checkpoint.id,
                   checkpoint.run);  // Before anybody knows: the answer may get lost.
    TRIAGE_TRY(answers, connection_.ask_all(words));
    for (auto& answer : answers) {
      TRIAGE_TRYV(std::move(answer));
    }
    return outcome::success();
  }

  Result<void> finish() override {
    added_.clear();
    return outcome::success();
  }

 private:
  RedisConnection connection_;
  std::set<std::pair<std::string, std::string>> added_{};  // Ids and runs, not kept yet.
};

}  // namespace
}  // namespace detail

Result<std::unique_ptr<ReferenceStore>> open_redis_reference(const std::string& url,
                                                             std::chrono::milliseconds timeout) {
  TRIAGE_TRY(address, detail::parse_redis_url(url));
  if (!address.prefix.empty()) {
    return Error{Errc::invalid_argument,
                 "triage-agent has no other prefix than \"triage:checkpoint:\""};
  }
  auto store = std::make_unique<detail::RedisReference>(std::move(address), timeout);
  TRIAGE_TRYV(store->look());
  return outcome::success(std::unique_ptr<ReferenceStore>(std::move(store)));
}

}  // namespace triage::inline v0_1
