// SPDX-License-Identifier: MIT
#pragma once
// Atomic operations on the Redis server. KEYS: the run's facts, then its journal; or the hash of a
// space. Each returns a word and its values, and recognises a retry after a lost reply.

namespace triage::inline v0_1::detail::redis_scripts {

// Prepended to every script that writes a run: `touch` renews the lease and the time to live.
#define TRIAGE_REDIS_TOUCH                                                       \
  "local function touch(lease, ttl)\n"                                           \
  "  local now = redis.call('TIME')\n"                                           \
  "  local till = now[1] * 1000 + math.floor(now[2] / 1000) + tonumber(lease)\n" \
  "  redis.call('HSET', KEYS[1], 'until', string.format('%.0f', till))\n"        \
  "  if tonumber(ttl) > 0 then\n"                                                \
  "    redis.call('PEXPIRE', KEYS[1], ttl)\n"                                    \
  "    redis.call('PEXPIRE', KEYS[2], ttl)\n"                                    \
  "  end\n"                                                                      \
  "end\n"

// birth, owner, lease, ttl, agent, label, parent, status, started, updated, last; then sequence,
// content and checksum of each record.
inline constexpr const char* start = TRIAGE_REDIS_TOUCH R"(
local birth = redis.call('HGET', KEYS[1], 'birth')
if birth then return {birth == ARGV[1] and 'ok' or 'exists'} end
redis.call('HSET', KEYS[1], 'birth', ARGV[1], 'epoch', '1', 'owner', ARGV[2], 'agent', ARGV[5],
  'label', ARGV[6], 'parent', ARGV[7], 'status', ARGV[8], 'started', ARGV[9], 'updated', ARGV[10],
  'last', ARGV[11])
for i = 12, #ARGV, 3 do
  redis.call('XADD', KEYS[2], ARGV[i] .. '-0', 'b', ARGV[i + 1], 'c', ARGV[i + 2])
end
touch(ARGV[3], ARGV[4])
return {'ok'}
)";

// Prepended to scripts that only the owner may run: birth, epoch, owner.
#define TRIAGE_REDIS_FENCE                                                              \
  "local run = redis.call('HMGET', KEYS[1], 'birth', 'epoch', 'owner', 'last')\n"       \
  "if run[1] ~= ARGV[1] then return {'fenced', 'the run was erased'} end\n"             \
  "if run[2] ~= ARGV[2] then return {'fenced', 'the newest epoch is ' .. run[2]} end\n" \
  "if run[3] ~= ARGV[3] then return {'fenced', 'it was released'} end\n"

// … lease, ttl, status, updated; then the records.
inline constexpr const char* append = TRIAGE_REDIS_TOUCH TRIAGE_REDIS_FENCE R"(
local last = tonumber(run[4])
local fresh = {}
for i = 8, #ARGV, 3 do
  if tonumber(ARGV[i]) > last then
    last = tonumber(ARGV[i])
    fresh[#fresh + 1] = i
  else
    local id = ARGV[i] .. '-0'
    local stored = redis.call('XRANGE', KEYS[2], id, id)
    if #stored == 0 or stored[1][2][2] ~= ARGV[i + 1] then return {'conflict', ARGV[i]} end
  end
end
for _, i in ipairs(fresh) do
  redis.call('XADD', KEYS[2], ARGV[i] .. '-0', 'b', ARGV[i + 1], 'c', ARGV[i + 2])
end
redis.call('HSET', KEYS[1], 'status', ARGV[6])
if #fresh > 0 then
  redis.call('HSET', KEYS[1], 'last', string.format('%.0f', last), 'updated', ARGV[7])
end
touch(ARGV[4], ARGV[5])
return {'ok'}
)";

inline constexpr const char* renew = TRIAGE_REDIS_TOUCH TRIAGE_REDIS_FENCE R"(
touch(ARGV[4], ARGV[5])
return {'ok'}
)";

inline constexpr const char* release = TRIAGE_REDIS_FENCE R"(
redis.call('HSET', KEYS[1], 'owner', '')
return {'ok'}
)";

// Birth, epoch and owner as seen; the new owner, a random word, lease, ttl.
inline constexpr const char* acquire = TRIAGE_REDIS_TOUCH R"(
local run = redis.call('HMGET', KEYS[1], 'birth', 'epoch', 'owner', 'word')
if not run[1] then return {'gone'} end
if run[4] == ARGV[5] then return {'ok', run[2]} end
if run[1] ~= ARGV[1] or run[2] ~= ARGV[2] or run[3] ~= ARGV[3] then return {'busy'} end
local epoch = string.format('%.0f', tonumber(run[2]) + 1)
redis.call('HSET', KEYS[1], 'epoch', epoch, 'owner', ARGV[4], 'word', ARGV[5])
touch(ARGV[6], ARGV[7])
return {'ok', epoch}
)";

// Birth, epoch and owner as seen.
inline constexpr const char* erase = R"(
local run = redis.call('HMGET', KEYS[1], 'birth', 'epoch', 'owner')
if not run[1] then return {'gone'} end
if run[1] ~= ARGV[1] or run[2] ~= ARGV[2] or run[3] ~= ARGV[3] then return {'busy'} end
redis.call('DEL', KEYS[1], KEYS[2])
return {'ok'}
)";

// Key, expected version, a random word of 16 characters, bytes.
inline constexpr const char* put = R"(
local stored = redis.call('HGET', KEYS[1], ARGV[1])
local version = '0'
if stored then
  local colon = string.find(stored, ':', 1, true)
  version = string.sub(stored, 1, colon - 1)
  if string.sub(stored, colon + 1, colon + 16) == ARGV[3] then return {'ok', version} end
end
if version ~= ARGV[2] then return {'conflict', version} end
version = string.format('%.0f', tonumber(version) + 1)
redis.call('HSET', KEYS[1], ARGV[1], version .. ':' .. ARGV[3] .. ':' .. ARGV[4])
return {'ok', version}
)";

inline constexpr const char* remove = R"(
local stored = redis.call('HGET', KEYS[1], ARGV[1])
if not stored then return {'ok'} end
local version = string.sub(stored, 1, string.find(stored, ':', 1, true) - 1)
if version ~= ARGV[2] then return {'conflict', version} end
redis.call('HDEL', KEYS[1], ARGV[1])
return {'ok'}
)";

#undef TRIAGE_REDIS_TOUCH
#undef TRIAGE_REDIS_FENCE

}  // namespace triage::inline v0_1::detail::redis_scripts
