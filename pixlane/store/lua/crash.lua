-- Charges a death to the job that the dead run had leased; a job of the same message that had not begun is due now, uncharged.
--   KEYS 1 job  2 open
--   ARGV 1 job key  2 token of the run that died  3 most crashes
-- Returns {what became of it, crashes}: retry, verdict (the limit is reached), loose (was not running) or none (closed, or
-- running elsewhere).
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local record = redis.call('HMGET', KEYS[1], 'job', 'lease_until', 'lease_by', 'crashes')
if not record[1] then
  return {'none', 0}
end
local crashes = tonumber(record[4])
local fate = 'loose'
if record[3] == ARGV[2] then
  crashes = redis.call('HINCRBY', KEYS[1], 'crashes', 1)
  fate = crashes >= tonumber(ARGV[3]) and 'verdict' or 'retry'
elseif record[2] and tonumber(record[2]) > now then
  return {'none', crashes}
end
redis.call('HDEL', KEYS[1], 'lease_until', 'lease_by', 'lease_call', 'held_until', 'worker')
redis.call('HSET', KEYS[1], 'due', 1)
redis.call('ZADD', KEYS[2], now, ARGV[1])
return {fate, crashes}
