// SPDX-License-Identifier: MIT
#include "support/redis_server.hpp"

#include <hiredis/hiredis.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <sstream>
#include <system_error>

namespace triage::test {

std::string RedisServer::program() {
  if (const char* const wanted = std::getenv("TRIAGE_TEST_REDIS")) return wanted;
  const char* const folders = std::getenv("PATH");
  std::istringstream path(folders == nullptr ? "" : folders);
  bool valkey = false;
  for (std::string folder; std::getline(path, folder, ':');) {
    std::error_code none;
    if (std::filesystem::exists(folder + "/redis-server", none)) return "redis-server";
    valkey = valkey || std::filesystem::exists(folder + "/valkey-server", none);
  }
  return valkey ? "valkey-server" : "redis-server";
}

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
  local fields = entry[2]
  for i = 1, #fields, 2 do
    if fields[i] == ARGV[1] then
      local value = fields[i + 1]
      local last = string.byte(value, #value)
      fields[i + 1] = string.sub(value, 1, #value - 1) ..
        string.char(last % 2 == 0 and last + 1 or last - 1)
    end
  end
  redis.call('XADD', KEYS[1], entry[1], unpack(fields))
end
return 'ok')";
  return ask({"EVAL", script, "1", prefix + "{" + run + "}:log", std::to_string(seq)});
}

}  // namespace triage::test
