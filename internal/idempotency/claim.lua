-- The claim on one idempotency key. Safe to run twice for one call: the owner's nonce is the value.
-- KEYS[1]  string: the owner's nonce while being admitted, "settled" afterwards
-- ARGV     claim | settle | abort, nonce, lease in ms, life of "settled" in ms
-- reply    {1 mine, 2 another call's, 3 settled; ms left of the other call's lease}
local v = redis.call('GET', KEYS[1])
if ARGV[1] == 'claim' then
  if v == 'settled' then return {3, 0} end
  if v and v ~= ARGV[2] then return {2, redis.call('PTTL', KEYS[1])} end
  redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
elseif ARGV[1] == 'settle' then
  redis.call('SET', KEYS[1], 'settled', 'PX', ARGV[4])
elseif v == ARGV[2] then
  redis.call('DEL', KEYS[1])
end
return {1, 0}
