// SPDX-License-Identifier: MIT
#pragma once
// Atomic operations on the Redis server. KEYS: the run's facts, then its journal; or the hash of a
// space. Each returns a word and its values, and recognises a retry after a lost reply.
//
// An entry of a journal holds one or more records in the order of their sequences; its id is the
// last one's. Each is a field, whose name is the sequence, and whose value is "epoch:checksum:" and
// the content. Format 1 had one record an entry: fields "b" (content) and "c" (epoch:checksum).

namespace triage::inline v0_1::detail::redis_scripts {

// Prepended to every script that writes a run: `touch` renews the lease and the time to live.
#define TRIAGE_REDIS_TOUCH                                                                \
  "local function touch(lease, ttl)\n"                                                    \
  "  local now = redis.call('TIME')\n"                                                    \
  "  local till = now[1] * 1000 + math.floor(now[2] / 1000) + tonumber(lease)\n"          \
  "  redis.call('HSET', KEYS[1], 'until', string.format('%.0f', till), 'lease', lease)\n" \
  "  if tonumber(ttl) > 0 then\n"                                                         \
  "    redis.call('PEXPIRE', KEYS[1], ttl)\n"                                             \
  "    redis.call('PEXPIRE', KEYS[2], ttl)\n"                                             \
  "  end\n"                                                                               \
  "end\n"

// Prepended to every script that appends: `add` appends the records from argument `from` on, at
// most `most` an entry. One call of the server for many records costs a third of one for each.
#define TRIAGE_REDIS_ADD                                                                \
  "local function add(from, most)\n"                                                    \
  "  while from < #ARGV do\n"                                                           \
  "    local till = math.min(from + 2 * most - 1, #ARGV)\n"                             \
  "    redis.call('XADD', KEYS[2], ARGV[till - 1] .. '-0', unpack(ARGV, from, till))\n" \
  "    from = till + 1\n"                                                               \
  "  end\n"                                                                             \
  "end\n"

// birth, owner, lease, ttl, agent, label, parent, status, started, updated, last, records an entry;
// then sequence and value of each record.
inline constexpr const char* start = TRIAGE_REDIS_TOUCH TRIAGE_REDIS_ADD R"(
local birth = redis.call('HGET', KEYS[1], 'birth')
if birth then return {birth == ARGV[1] and 'ok' or 'exists'} end
redis.call('HSET', KEYS[1], 'birth', ARGV[1], 'epoch', '1', 'owner', ARGV[2], 'agent', ARGV[5],
  'label', ARGV[6], 'parent', ARGV[7], 'status', ARGV[8], 'started', ARGV[9], 'updated', ARGV[10],
  'last', ARGV[11])
add(13, tonumber(ARGV[12]))
touch(ARGV[3], ARGV[4])
return {'ok'}
)";

// Prepended to scripts that only the owner may run: birth, epoch, owner.
#define TRIAGE_REDIS_FENCE                                                              \
  "local run = redis.call('HMGET', KEYS[1], 'birth', 'epoch', 'owner', 'last')\n"       \
  "if run[1] ~= ARGV[1] then return {'fenced', 'the run was erased'} end\n"             \
  "if run[2] ~= ARGV[2] then return {'fenced', 'the newest epoch is ' .. run[2]} end\n" \
  "if run[3] ~= ARGV[3] then return {'fenced', 'it was released'} end\n"

// … lease, ttl, status, updated, the newest record that was acknowledged to this owner, records an
// entry; then the records. A server that came back without acknowledged records takes none behind
// the hole.
inline constexpr const char* append = TRIAGE_REDIS_TOUCH TRIAGE_REDIS_FENCE TRIAGE_REDIS_ADD R"(
local last = tonumber(run[4])
if last < tonumber(ARGV[8]) then return {'lost', run[4]} end
local function content(value)
  local colon = string.find(value, ':', 1, true)
  return string.sub(value, string.find(value, ':', colon + 1, true) + 1)
end
local function stored(seq)
  local entry = redis.call('XRANGE', KEYS[2], seq .. '-0', '+', 'COUNT', 1)[1]
  if not entry then return nil end
  if entry[2][1] == 'b' then return entry[1] == seq .. '-0' and entry[2][2] end
  for i = 1, #entry[2], 2 do
    if entry[2][i] == seq then return content(entry[2][i + 1]) end
  end
end
local fresh = 10
while fresh < #ARGV and tonumber(ARGV[fresh]) <= last do
  if stored(ARGV[fresh]) ~= content(ARGV[fresh + 1]) then return {'conflict', ARGV[fresh]} end
  fresh = fresh + 2
end
local newest = last
for i = fresh, #ARGV, 2 do
  if tonumber(ARGV[i]) <= newest then return {'conflict', ARGV[i]} end
  newest = tonumber(ARGV[i])
end
add(fresh, tonumber(ARGV[9]))
redis.call('HSET', KEYS[1], 'status', ARGV[6])
if newest > last then
  redis.call('HSET', KEYS[1], 'last', string.format('%.0f', newest), 'updated', ARGV[7])
end
touch(ARGV[4], ARGV[5])
return {'ok'}
)";

// Prepended to scripts that fill a new journal: the newest sequence of a journal; 0: none.
#define TRIAGE_REDIS_NEWEST                                              \
  "local function newest(key)\n"                                         \
  "  local entry = redis.call('XREVRANGE', key, '+', '-', 'COUNT', 1)\n" \
  "  return #entry > 0 and string.match(entry[1][1], '^%d+') or '0'\n"   \
  "end\n"

// Fills the journal that will take the place of the run's. KEYS: the new journal, the old one. Time
// to live until it does, in milliseconds; the newest sequence that the script before left there (0:
// none); then what comes next, in the order of sequences: either "keep", first, last; or "put",
// sequence, value. What is there already is left out, so it may be asked again. Returns the newest
// sequence. A server drops what has a time to live after that time or when it is full, and one that
// came back may have lost the end of it.
inline constexpr const char* fill = TRIAGE_REDIS_NEWEST R"(
local top = tonumber(newest(KEYS[1]))
if top < tonumber(ARGV[2]) then return {'gone'} end
local function copy(entry, first, last)
  if entry[2][1] == 'b' then
    redis.call('XADD', KEYS[1], entry[1], unpack(entry[2]))
    return
  end
  local kept = {}
  for i = 1, #entry[2], 2 do
    local seq = tonumber(entry[2][i])
    if seq >= first and seq <= last then
      kept[#kept + 1] = entry[2][i]
      kept[#kept + 1] = entry[2][i + 1]
    end
  end
  if #kept > 0 then redis.call('XADD', KEYS[1], kept[#kept - 1] .. '-0', unpack(kept)) end
end
local i = 3
while i <= #ARGV do
  if ARGV[i] == 'put' then
    if tonumber(ARGV[i + 1]) > top then
      redis.call('XADD', KEYS[1], ARGV[i + 1] .. '-0', ARGV[i + 1], ARGV[i + 2])
    end
    i = i + 3
  else
    local first = math.max(tonumber(ARGV[i + 1]), top + 1)
    local last = tonumber(ARGV[i + 2])
    if first <= last then
      for _, entry in ipairs(redis.call('XRANGE', KEYS[2], string.format('%.0f', first) .. '-0',
          ARGV[i + 2] .. '-0')) do
        copy(entry, first, last)
      end
      -- The next entry may begin before `last`.
      local next = redis.call('XRANGE', KEYS[2], string.format('%.0f', last + 1) .. '-0', '+',
        'COUNT', 1)[1]
      if next and next[2][1] ~= 'b' then copy(next, first, last) end
    end
    i = i + 3
  end
end
if redis.call('EXISTS', KEYS[1]) == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
return {'ok', newest(KEYS[1])}
)";

// … lease, ttl, a random word, the last sequence that was seen, the newest one of the new journal.
// KEYS: also the new journal.
inline constexpr const char* exchange =
    TRIAGE_REDIS_TOUCH TRIAGE_REDIS_FENCE TRIAGE_REDIS_NEWEST R"(
if redis.call('HGET', KEYS[1], 'exchanged') == ARGV[6] then return {'ok'} end
if run[4] ~= ARGV[7] then return {'moved'} end
if newest(KEYS[3]) ~= ARGV[8] or ARGV[8] == '0' then return {'gone'} end
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

// Takes a name off the list unless another run of this name is being started. KEYS: the list, the
// mark of the newest start. The name; the birth of the run that it had, or nothing.
inline constexpr const char* unlist = R"(
local starting = redis.call('GET', KEYS[2])
if starting and starting ~= ARGV[2] then return {'starting'} end
redis.call('DEL', KEYS[2])
redis.call('SREM', KEYS[1], ARGV[1])
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

// Raises the format of what lies under the prefix. KEYS: the format; from, to.
inline constexpr const char* raise = R"(
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('SET', KEYS[1], ARGV[2]) end
return {'ok'}
)";

inline constexpr const char* remove = R"(
local stored = redis.call('HGET', KEYS[1], ARGV[1])
if not stored then return {'ok'} end
local version = string.sub(stored, 1, string.find(stored, ':', 1, true) - 1)
if version ~= ARGV[2] then return {'conflict', version} end
redis.call('HDEL', KEYS[1], ARGV[1])
return {'ok'}
)";

#undef TRIAGE_REDIS_ADD
#undef TRIAGE_REDIS_NEWEST
#undef TRIAGE_REDIS_TOUCH
#undef TRIAGE_REDIS_FENCE

}  // namespace triage::inline v0_1::detail::redis_scripts
