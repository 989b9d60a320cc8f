-- One slot at Google. Times in microseconds unless said otherwise; the clock is Redis'.
-- KEYS  1 next free slot of the API   2 tail of the tenant's turns      3 log of the location's edits (sorted set, ms)
--       4 holder of the location      5 the user's items (sorted set)   6 pause of the API   7 pause of the location
--       8 since when this Redis knows of us (ms)
-- ARGV  1 mode  2 member  3 edit  4 planned  5 spacing  6 horizon  7 edits per window  8 window ms  9 items per user
--       10 hold ms  11 pause ms
-- reply {verdict, wait}: 1 granted, 2 retry, 3 later, 4 requeue
-- TTL   every key ends when it no longer matters
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
local mode, member, edit, planned = ARGV[1], ARGV[2], ARGV[3] == '1', ARGV[4] == '1'
local spacing, horizon = tonumber(ARGV[5]), tonumber(ARGV[6])
local edits, window, items, hold = tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[9]), tonumber(ARGV[10])
local function store(key, at)
  redis.call('SET', key, string.format('%.0f', at), 'PX', math.ceil((at - now) / 1000) + 1000)
end
local function number(key)
  return math.max(now, tonumber(redis.call('GET', key) or now))
end

if mode == 'release' then
  if redis.call('GET', KEYS[4]) == member then
    redis.call('DEL', KEYS[4])
    -- Google counts an edit when it arrives, which is after its slot and before now: the log takes the safe side.
    local e, ms = redis.call('ZRANGE', KEYS[3], -1, -1, 'WITHSCORES'), math.ceil(now / 1000)
    if e[1] and string.sub(e[1], 1, #member + 1) == member .. ':' and tonumber(e[2]) < ms then
      redis.call('ZADD', KEYS[3], ms, e[1])
      redis.call('PEXPIRE', KEYS[3], window + 1000)
    end
  end
  redis.call('ZREM', KEYS[5], member)
  return {1, 0}
elseif mode == 'pause' or mode == 'pause_location' then
  local key = mode == 'pause' and KEYS[6] or KEYS[7]
  if redis.call('PTTL', key) < tonumber(ARGV[11]) then redis.call('SET', key, 1, 'PX', math.max(1, ARGV[11])) end
  return {1, 0}
elseif mode == 'peek' then
  return {1, math.max(number(KEYS[1]), number(KEYS[2])) - now + 1000 * math.max(0, redis.call('PTTL', KEYS[6]))}
end

local paused = redis.call('PTTL', KEYS[6])
if edit then paused = math.max(paused, redis.call('PTTL', KEYS[7])) end
if paused > 0 then return {2, paused * 1000} end

-- The tenant's turn: an item that has not waited joins its tenant's tail.
if edit and not planned then
  local turn = number(KEYS[2])
  store(KEYS[2], turn + spacing)
  if turn - now > spacing then return {3, turn - now} end
end

if edit then
  local holder = redis.call('GET', KEYS[4])
  if holder and holder ~= member then return {2, 250000} end
  redis.call('ZREMRANGEBYSCORE', KEYS[5], '-inf', now / 1000)
  if not redis.call('ZSCORE', KEYS[5], member) and redis.call('ZCARD', KEYS[5]) >= items then return {2, 250000} end
  -- After a flush nobody knows the edits of the last window: half of them are taken as spent.
  local since = redis.call('GET', KEYS[8])
  if not since then
    since = math.floor(now / 1000)
    redis.call('SET', KEYS[8], since)
  end
  local allowed = edits
  if now / 1000 - tonumber(since) < window then allowed = math.max(1, math.floor(edits / 2)) end
  redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', now / 1000 - window)
  local n = redis.call('ZCARD', KEYS[3])
  if n >= allowed then
    local e = redis.call('ZRANGE', KEYS[3], n - allowed, n - allowed, 'WITHSCORES')
    return {2, math.max(1000, (tonumber(e[2]) + window) * 1000 - now + 1000)}
  end
end

local slot = number(KEYS[1])
if slot - now > horizon then return {4, slot - now - horizon} end
store(KEYS[1], slot + spacing)
if edit then
  local ms = math.ceil((slot - now) / 1000)
  redis.call('SET', KEYS[4], member, 'PX', ms + hold)
  redis.call('ZADD', KEYS[5], now / 1000 + ms + hold, member)
  redis.call('PEXPIRE', KEYS[5], ms + hold + 1000)
  redis.call('ZADD', KEYS[3], math.ceil(slot / 1000), member .. ':' .. string.format('%.0f', slot))
  redis.call('PEXPIRE', KEYS[3], window + ms + 1000)
end
return {1, slot - now}
