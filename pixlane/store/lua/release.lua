-- Gives a job back: it is due again after a delay, at the next sweep.
--   KEYS 1 job  2 open
--   ARGV 1 job key  2 token of the run that gives it back, or empty for one that never claimed it  3 delay in ms
--        4 1 when the start of that run does not count
-- Returns 1 when it was given back, 0 when it is closed or somebody else holds its lease.
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local record = redis.call('HMGET', KEYS[1], 'job', 'lease_until', 'lease_by')
if not record[1] then
  return 0
end
if record[2] and tonumber(record[2]) > now and record[3] ~= ARGV[2] then
  return 0
end
if ARGV[4] == '1' and record[3] == ARGV[2] then
  redis.call('HINCRBY', KEYS[1], 'starts', -1)
end
redis.call('HDEL', KEYS[1], 'lease_until', 'lease_by', 'lease_call', 'held_until', 'worker')
redis.call('HSET', KEYS[1], 'due', 1)
redis.call('ZADD', KEYS[2], now + ARGV[3], ARGV[1])
return 1
