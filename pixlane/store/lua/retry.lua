-- Opens again a job that was put aside, with a clean slate; it is due at once.
--   KEYS 1 job  2 open  3 dead letter  4 dead  5 src  6 refs
--   ARGV 1 job key  2 root of the keys  3 1 when its source is a path, so that no bytes are needed
-- Returns what became of it: open, running (somebody has submitted it again), no_letter or no_source.
local letter = redis.call('HMGET', KEYS[3], 'job', 'queue', 'tenant')
if not letter[1] then
  redis.call('ZREM', KEYS[4], ARGV[1])
  return 'no_letter'
end
local bytes = redis.call('STRLEN', KEYS[5])
if bytes == 0 and ARGV[3] ~= '1' then
  return 'no_source'
end
redis.call('DEL', KEYS[3])
redis.call('ZREM', KEYS[4], ARGV[1])
if redis.call('EXISTS', KEYS[1]) == 1 then
  return 'running'
end
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
if bytes > 0 then
  redis.call('PERSIST', KEYS[5])
  redis.call('SADD', KEYS[6], ARGV[1])
end
redis.call('HSET', KEYS[1], 'job', letter[1], 'sent_at', now, 'starts', 0, 'crashes', 0, 'waiters', 1, 'due', 1)
enter(ARGV[2], ARGV[1], letter[2], now, bytes, letter[3])
redis.call('ZADD', KEYS[2], now, ARGV[1])
return 'open'
