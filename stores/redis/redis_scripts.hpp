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

// … lease, ttl, status, updated, the newest record that was acknowledged to this owner; then the
// records. A server that came back without acknowledged records takes none behind the hole.
inline constexpr const char* append = TRIAGE_REDIS_TOUCH TRIAGE_REDIS_FENCE R"(
local last = tonumber(run[4])
if last < tonumber(ARGV[8]) then return {'lost', run[4]} end
local fresh = {}
for i = 9, #ARGV, 3 do
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

// Fills the journal that will take the place of the run's. KEYS: the new journal, the old one. Time
// to live until it does, in milliseconds; then what comes next, in the order of sequences: either
// "keep", first, last; or "put", sequence, content, checksum. What is there already is left out, so
// it may be asked again.
inline constexpr const char* fill = R"(
local newest = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)
local top = #newest > 0 and tonumber(string.match(newest[1][1], '^%d+')) or 0
local i = 2
while i <= #ARGV do
  if ARGV[i] == 'put' then
    if tonumber(ARGV[i + 1]) > top then
      redis.call('XADD', KEYS[1], ARGV[i + 1] .. '-0', 'b', ARGV[i + 2], 'c', ARGV[i + 3])
    end
    i = i + 4
  else
    local first = math.max(tonumber(ARGV[i + 1]), top + 1)
    for _, entry in ipairs(redis.call('XRANGE', KEYS[2], string.format('%.0f', first) .. '-0',
        ARGV[i + 2] .. '-0')) do
      redis.call('XADD', KEYS[1], entry[1], unpack(entry[2]))
    end
    i = i + 3
  end
end
if redis.call('EXISTS', KEYS[1]) == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
return {'ok'}
)";

// … lease, ttl, a random word, the last sequence that was seen. KEYS: also the new journal.
inline constexpr const char* exchange = TRIAGE_REDIS_TOUCH TRIAGE_REDIS_FENCE R"(
if redis.call('HGET', KEYS[1], 'exchanged') == ARGV[6] then return {'ok'} end
if run[4] ~= ARGV[7] then return {'moved'} end
if redis.call('EXISTS', KEYS[3]) == 0 then return {'gone'} end
redis.call('RENAME', KEYS[3], KEYS[2])
redis.call('PERSIST', KEYS[2])
redis.call('HSET', KEYS[1], 'exchanged', ARGV[6])
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
