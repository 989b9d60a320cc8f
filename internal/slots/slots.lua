-- One slot at Google. Times in microseconds unless said otherwise; the clock is Redis'.
-- KEYS  1 next free slot of the API   2 tail of the tenant's turns      3 log of the location's edits (sorted set, ms)
--       4 lease of the location       5 the user's items (sorted set)   6 pause of the API   7 pause of the location
--       8 since when this Redis knows of us (ms)                        9 tail of the low reads of the API
--      10 pace of the API (hash: share of the full rate, at ms)        11 log of the API's calls (sorted set, ms)
--      12 pause of the API's edits
-- ARGV  1 mode  2 member  3 edit  4 planned  5 spacing  6 horizon  7 edits per window  8 window ms  9 items per user
--       10 hold ms  11 pause ms  12 low  13 patience of a low read  14 calls per window (0: not counted)  15 late
--       16 low reads in a row  17 low reads: spacings between two  18 calls in one go (a read, then the write)
-- reply {verdict, wait, spacing}: 1 granted, 2 retry, 3 later, 4 requeue; of a peek also the wait for the location's last edit
-- TTL   every key ends when it no longer matters, but 8, which stands for as long as this Redis remembers us
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
local mode, member, edit, planned, low = ARGV[1], ARGV[2], ARGV[3] == '1', ARGV[4] == '1', ARGV[12] == '1'
local spacing, horizon = tonumber(ARGV[5]), tonumber(ARGV[6])
local edits, window, items, hold = tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[9]), tonumber(ARGV[10])
local calls, n_calls = tonumber(ARGV[14]), tonumber(ARGV[18])
local function store(key, at)
  redis.call('SET', key, string.format('%.0f', at), 'PX', math.ceil((at - now) / 1000) + 1000)
end
local function number(key)
  return math.max(now, tonumber(redis.call('GET', key) or now))
end
-- Repeated 429s slow the API down to 0.7 of its pace each, to a tenth at least; a fifth of the full rate grows back per window.
local function pace()
  local h = redis.call('HMGET', KEYS[10], 'share', 'at')
  if not h[1] then return 1, nil end
  return math.min(1, tonumber(h[1]) + (now / 1000 - tonumber(h[2])) / (5 * window)), tonumber(h[2])
end

-- The lease of a location names the entry in its log: two entries may have the same score.
local entry = redis.call('GET', KEYS[4])
local held = entry and string.sub(entry, 1, #member + 1) == member .. ':'

if mode == 'release' then
  if held then
    redis.call('DEL', KEYS[4])
    local counted, ms = redis.call('ZSCORE', KEYS[3], entry), math.ceil(now / 1000)
    if counted then
      -- Google counts an edit when it arrives, which is after its slot and before now: the log takes the safe side.
      if tonumber(counted) < ms then
        redis.call('ZADD', KEYS[3], ms, entry)
        redis.call('PEXPIRE', KEYS[3], window + 1000)
      end
      -- The same for the API's calls, where waiting for slow answers would cost quota: a call arrives within a second of its start.
      local at = math.min(ms, math.ceil((tonumber(string.sub(entry, #member + 2)) + tonumber(ARGV[15]) + 1000000) / 1000))
      if calls > 0 and (tonumber(redis.call('ZSCORE', KEYS[11], entry) or at)) < at then redis.call('ZADD', KEYS[11], at, entry) end
    end
  end
  redis.call('ZREM', KEYS[5], member)
  return {1, 0, 0}
elseif mode == 'pause' then
  if redis.call('PTTL', KEYS[6]) < tonumber(ARGV[11]) then redis.call('SET', KEYS[6], 1, 'PX', math.max(1, ARGV[11])) end
  local share, at = pace()
  local since = at and now / 1000 - at or window
  if since >= window / 120 then -- calls that were under way together are refused together: that is one refusal
    if since < window then share = math.max(0.1, share * 0.7) end
    redis.call('HSET', KEYS[10], 'share', string.format('%.4f', share), 'at', string.format('%.0f', now / 1000))
    redis.call('PEXPIRE', KEYS[10], 6 * window)
  end
  return {1, 0, 0}
elseif mode == 'pause_location' or mode == 'pause_edits' then
  local key = mode == 'pause_edits' and KEYS[12] or KEYS[7]
  if redis.call('PTTL', key) < tonumber(ARGV[11]) then redis.call('SET', key, 1, 'PX', math.max(1, ARGV[11])) end
  return {1, 0, 0}
end

-- After a flush nobody knows the edits of the last window: half of them are taken as spent.
local function allowance(since)
  if now / 1000 - tonumber(since) < window then return math.max(1, math.floor(edits / 2)) end
  return edits
end

spacing = math.ceil(spacing / pace())
if mode == 'peek' then
  local paused = math.max(0, redis.call('PTTL', KEYS[6]), redis.call('PTTL', KEYS[12]))
  -- The last of n_calls further edits of the location: each goes a window behind the one that stands allowed places before it.
  local allowed = allowance(redis.call('GET', KEYS[8]) or now / 1000)
  local log = redis.call('ZRANGEBYSCORE', KEYS[3], '(' .. string.format('%.0f', now / 1000 - window), '+inf', 'WITHSCORES')
  local place, last = #log / 2 + n_calls, 1000 * math.max(0, redis.call('PTTL', KEYS[7]))
  local windows = math.ceil(place / allowed) - 1
  if windows > 0 then
    last = math.max(last, ((tonumber(log[2 * (place - windows * allowed)]) or now / 1000) + windows * window) * 1000 - now)
  end
  return {1, math.max(number(KEYS[1]), number(KEYS[2])) - now + 1000 * paused, spacing, last}
end

local paused = redis.call('PTTL', KEYS[6])
if edit then paused = math.max(paused, redis.call('PTTL', KEYS[7]), redis.call('PTTL', KEYS[12])) end
if paused > 0 then return {2, paused * 1000, spacing} end

-- The tenant's turn: an item that has not waited joins its tenant's tail.
if edit and not planned then
  local turn = number(KEYS[2])
  store(KEYS[2], turn + n_calls * spacing)
  if turn - now > spacing then return {3, turn - now, spacing} end
end

if edit then
  if entry and not held then return {2, 250000, spacing} end
  redis.call('ZREMRANGEBYSCORE', KEYS[5], '-inf', now / 1000)
  if not redis.call('ZSCORE', KEYS[5], member) and redis.call('ZCARD', KEYS[5]) >= items then return {2, 250000, spacing} end
  local since = redis.call('GET', KEYS[8])
  if not since then
    since = math.floor(now / 1000)
    redis.call('SET', KEYS[8], since)
  end
  local allowed = allowance(since)
  redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', now / 1000 - window)
  local n = redis.call('ZCARD', KEYS[3])
  if n >= allowed then
    local e = redis.call('ZRANGE', KEYS[3], n - allowed, n - allowed, 'WITHSCORES')
    return {2, math.max(1000, (tonumber(e[2]) + window) * 1000 - now + 1000), spacing}
  end
end

local slot = number(KEYS[1])
if calls > 0 then -- calls that arrived late stand closer together than their slots: the window decides as well
  redis.call('ZREMRANGEBYSCORE', KEYS[11], '-inf', now / 1000 - window)
  local from = '(' .. string.format('%.0f', slot / 1000 - window)
  local n = redis.call('ZCOUNT', KEYS[11], from, '+inf')
  if n >= calls then
    local e = redis.call('ZRANGEBYSCORE', KEYS[11], from, '+inf', 'WITHSCORES', 'LIMIT', n - calls, 1)
    slot = math.max(slot, (tonumber(e[2]) + window) * 1000 + 1000)
  end
end
-- Low reads have a share of their own, and a few in a row; beyond it they get what nobody else has booked.
local reads
if low then
  local between = spacing * tonumber(ARGV[17])
  reads = number(KEYS[9]) + between
  local ahead, booked = reads - now - between * tonumber(ARGV[16]), slot - now - 500000
  if ahead > 0 and booked > 0 then return {2, math.min(ahead, booked), spacing} end
  if slot - now > tonumber(ARGV[13]) then return {2, slot - now - tonumber(ARGV[13]), spacing} end
end
-- Who has a backlog books half as far ahead, so that a single item of another tenant comes soon.
local ahead = planned and horizon / 2 or horizon
if slot - now > ahead then return {4, slot - now - ahead, spacing} end
store(KEYS[1], slot + n_calls * spacing)
if low then store(KEYS[9], reads) end
local ms = math.ceil((slot - now) / 1000)
entry = member .. ':' .. string.format('%.0f', slot)
if calls > 0 then
  redis.call('ZADD', KEYS[11], math.ceil(slot / 1000), entry)
  for i = 2, n_calls do redis.call('ZADD', KEYS[11], math.ceil((slot + (i - 1) * spacing) / 1000), entry .. ':' .. i) end
  redis.call('PEXPIRE', KEYS[11], window + ms + 1000)
end
if edit then
  redis.call('SET', KEYS[4], entry, 'PX', ms + hold)
  redis.call('ZADD', KEYS[5], now / 1000 + ms + hold, member)
  redis.call('PEXPIRE', KEYS[5], ms + hold + 1000)
  redis.call('ZADD', KEYS[3], math.ceil(slot / 1000), entry)
  redis.call('PEXPIRE', KEYS[3], window + ms + 1000)
end
return {1, slot - now, spacing}
