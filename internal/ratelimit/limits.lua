-- All limits of one call, all or nothing. Safe to run twice for one call: the call's nonce is the member.
-- KEYS[i]  bucket i: a sorted set (w: member nonce, score time in ms; c: score end of lease) or a set (d)
-- ARGV[1]  take | peek | refund     ARGV[2]  nonce of the call
-- then per bucket: kind (w sliding window, d calendar day, c at the same time), limit, life in ms
-- reply    {index of the refusing bucket or 0, ms until it has room, remaining of each bucket}
-- TTL      each key lives as long as its newest entry matters
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local mode, nonce = ARGV[1], ARGV[2]
local refusing, wait = 0, 0
local used, mine = {}, {}
for i = 1, #KEYS do
  local kind, limit, life = ARGV[3 * i], tonumber(ARGV[3 * i + 1]), tonumber(ARGV[3 * i + 2])
  if mode == 'refund' then
    if kind == 'd' then redis.call('SREM', KEYS[i], nonce) else redis.call('ZREM', KEYS[i], nonce) end
    used[i] = 0
  elseif kind == 'd' then
    used[i] = redis.call('SCARD', KEYS[i])
    mine[i] = nonce ~= '' and redis.call('SISMEMBER', KEYS[i], nonce) == 1
    if not mine[i] and used[i] >= limit and life > wait then refusing, wait = i, life end
  else
    local gone = now
    if kind == 'w' then gone = now - life end
    redis.call('ZREMRANGEBYSCORE', KEYS[i], '-inf', gone)
    used[i] = redis.call('ZCARD', KEYS[i])
    mine[i] = nonce ~= '' and redis.call('ZSCORE', KEYS[i], nonce) ~= false
    if not mine[i] and used[i] >= limit then
      local w = 1000
      if kind == 'w' then
        -- room appears when the oldest entries that are in the way have left the window
        local e = redis.call('ZRANGE', KEYS[i], used[i] - limit, used[i] - limit, 'WITHSCORES')
        w = tonumber(e[2]) + life - now + 1
      end
      if refusing == 0 or w > wait then refusing, wait = i, w end
    end
  end
end
local reply = {refusing, wait}
for i = 1, #KEYS do
  local kind, limit, life = ARGV[3 * i], tonumber(ARGV[3 * i + 1]), tonumber(ARGV[3 * i + 2])
  if mode == 'take' and refusing == 0 then
    if not mine[i] then used[i] = used[i] + 1 end
    if kind == 'd' then
      redis.call('SADD', KEYS[i], nonce)
    elseif kind == 'w' then
      if not mine[i] then redis.call('ZADD', KEYS[i], now, nonce) end
    else
      redis.call('ZADD', KEYS[i], now + life, nonce)
    end
    redis.call('PEXPIRE', KEYS[i], life + 1000)
  end
  reply[2 + i] = math.max(0, limit - used[i])
end
return reply
