// SPDX-License-Identifier: MIT
#include "support/redis_server.hpp"

#include <hiredis/hiredis.h>

#include <memory>

namespace triage::test {

Result<void> RedisServer::ask(const std::vector<std::string>& words) const {
  const std::unique_ptr<redisContext, void (*)(redisContext*)> context(
      redisConnect("127.0.0.1", port_), redisFree);
  std::vector<const char*> texts;
  std::vector<std::size_t> sizes;
  for (const std::string& word : words) {
    texts.push_back(word.data());
    sizes.push_back(word.size());
  }
  const std::unique_ptr<redisReply, void (*)(void*)> reply(
      static_cast<redisReply*>(redisCommandArgv(context.get(), static_cast<int>(words.size()),
                                                texts.data(), sizes.data())),
      freeReplyObject);
  if (!reply) return Error{Errc::io, "no answer"};
  if (reply->type == REDIS_REPLY_ERROR) return Error{Errc::io, reply->str};
  return outcome::success();
}

Result<void> RedisServer::damage(const std::string& prefix, const std::string& run,
                                 std::uint64_t seq) const {
  // A stream accepts no entry between two others, so it is rewritten.
  const std::string script = R"(
local all = redis.call('XRANGE', KEYS[1], '-', '+')
redis.call('DEL', KEYS[1])
for _, entry in ipairs(all) do
  local body = entry[2][2]
  if entry[1] == ARGV[1] then
    local last = string.byte(body, #body)
    body = string.sub(body, 1, #body - 1) .. string.char(last % 2 == 0 and last + 1 or last - 1)
  end
  redis.call('XADD', KEYS[1], entry[1], 'b', body, 'c', entry[2][4])
end
return 'ok')";
  return ask({"EVAL", script, "1", prefix + "{" + run + "}:log", std::to_string(seq) + "-0"});
}

}  // namespace triage::test
