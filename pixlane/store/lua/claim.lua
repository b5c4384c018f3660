-- Takes the lease of a job, just before it runs, and moves the watermark of the queue that the message came from.
--   KEYS 1 job  2 open  3 queues  4 src
--   ARGV 1 job key  2 token of this run  3 lease in ms  4 queue  5 when the message was sent, ms  6 most starts  7 most crashes
-- Returns {status, starts, crashes, source}; source: its bytes when it is stored and the status is ok; status is gone (closed already), busy (another run holds the lease), spent (a limit is
-- reached: give the verdict) or ok.
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
redis.call('HSET', KEYS[3], ARGV[4] .. ':claimed_at', now)
local mark = redis.call('HGET', KEYS[3], ARGV[4] .. ':watermark')
if not mark or tonumber(mark) < tonumber(ARGV[5]) then
  redis.call('HSET', KEYS[3], ARGV[4] .. ':watermark', ARGV[5])
end
local record = redis.call('HMGET', KEYS[1], 'job', 'lease_until', 'starts', 'crashes')
if not record[1] then
  redis.call('ZREM', KEYS[2], ARGV[1])
  return {'gone', 0, 0}
end
local starts, crashes = tonumber(record[3]), tonumber(record[4])
if record[2] and tonumber(record[2]) > now then
  return {'busy', starts, crashes}
end
if starts >= tonumber(ARGV[6]) or crashes >= tonumber(ARGV[7]) then
  return {'spent', starts, crashes}
end
local lease_until = now + ARGV[3]
redis.call('HSET', KEYS[1], 'lease_until', lease_until, 'lease_by', ARGV[2], 'starts', starts + 1)
redis.call('HDEL', KEYS[1], 'due')
redis.call('ZADD', KEYS[2], lease_until, ARGV[1])
return {'ok', starts + 1, crashes, redis.call('GET', KEYS[4])}
