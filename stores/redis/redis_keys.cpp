// SPDX-License-Identifier: MIT
// The key space of the Redis store: a hash for each space.
#include "redis_numbers.hpp"
#include "redis_scripts.hpp"
#include "redis_store.hpp"
#include "triage/clock.hpp"
#include "triage/detail/hex.hpp"
#include "triage/detail/try.hpp"
#include "triage/json.hpp"

#include <hiredis/hiredis.h>

#include <algorithm>

namespace triage::inline v0_1::detail {
namespace {

std::string random_word() { return triage::detail::hex_number(real_random()->next()); }

}  // namespace

Result<std::optional<VersionedValue>> RedisJournals::get(std::string_view space,
                                                         std::string_view key) {
  TRIAGE_TRY(reply, ask({"HGET", space_key(space), std::string(key)}));
  if (reply->type == REDIS_REPLY_NIL) return outcome::success(std::optional<VersionedValue>());
  const std::string stored = text_of(reply.get());
  const std::size_t colon = stored.find(':');
  if (colon == stored.npos || stored.size() < colon + 18) {
    return Error{Errc::corrupt, "the value of key \"" + printable(key) + "\" is cut off"};
  }
  return outcome::success(std::optional<VersionedValue>(
      VersionedValue{stored.substr(colon + 18), number<std::uint64_t>(stored)}));
}

Result<std::uint64_t> RedisJournals::put_if(std::string_view space, std::string_view key,
                                            std::uint64_t expected, std::string_view bytes) {
  TRIAGE_TRYV(check_space(space));
  TRIAGE_TRY(answer, run_script(redis_scripts::put, {space_key(space)},
                                {std::string(key), std::to_string(expected), random_word(),
                                 std::string(bytes)}));
  if (answer.word == "ok") return outcome::success(number<std::uint64_t>(answer.more));
  return Error{Errc::conflict, "key \"" + printable(key) + "\" has version " + answer.more +
                                   ", expected " + std::to_string(expected)};
}

Result<void> RedisJournals::erase_if(std::string_view space, std::string_view key,
                                     std::uint64_t expected) {
  TRIAGE_TRYV(check_space(space));
  TRIAGE_TRY(answer, run_script(redis_scripts::remove, {space_key(space)},
                                {std::string(key), std::to_string(expected)}));
  if (answer.word == "ok") return outcome::success();
  return Error{Errc::conflict, "key \"" + printable(key) + "\" has version " + answer.more +
                                   ", expected " + std::to_string(expected)};
}

Result<std::vector<std::string>> RedisJournals::list(std::string_view space,
                                                     std::string_view prefix) {
  TRIAGE_TRY(reply, ask({"HKEYS", space_key(space)}));
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < reply->elements; ++i) {
    std::string key = text_of(reply->element[i]);
    if (key.starts_with(prefix)) keys.push_back(std::move(key));
  }
  std::sort(keys.begin(), keys.end());
  return outcome::success(std::move(keys));
}

}  // namespace triage::inline v0_1::detail
