-- One of those who want a job gives it up. With the last of them it ends; one that runs is not run again.
--   KEYS 1 job
--   ARGV 1 job key  2 root of the keys  3 who gives it up  4 life of the source in s
-- Returns what became of it: gone (ended before), wanted (by others), running or ended.
if redis.call('EXISTS', KEYS[1]) == 0 then
  return 'gone'
end
local waiters = tonumber(redis.call('HGET', KEYS[1], 'waiters') or 1)
if redis.call('HDEL', KEYS[1], 'waiter:' .. ARGV[3]) == 1 then
  waiters = redis.call('HINCRBY', KEYS[1], 'waiters', -1)
end
if waiters > 0 then
  return 'wanted'
end
local t = redis.call('TIME')
local lease_until = redis.call('HGET', KEYS[1], 'lease_until')
if lease_until and tonumber(lease_until) > t[1] * 1000 + math.floor(t[2] / 1000) then
  redis.call('HSET', KEYS[1], 'cancelled', 1)
  return 'running'
end
finish(ARGV[2], ARGV[1], tonumber(ARGV[4]), '', 0)
return 'ended'
