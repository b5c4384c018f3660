-- Takes the lease of a job, just before it runs, and moves the watermark of the queue that the message came from. The other
-- jobs of its message are held for the same worker until their turn.
--   KEYS 1 job  2 open  3 queues  4 src  5 ... records of the others
--   ARGV 1 job key  2 token of this run  3 lease in ms  4 queue  5 when the message was sent, ms  6 most starts  7 most crashes
--        8 name of the worker  9 ms after which a job is looked at though its lease goes on  10 mark of this call
--        11 ms for which the others are held  12 root of the keys  13 life of a source in s  14 error of a job whose deadline has
--        passed, JSON  15 life of that error in s  16 ... keys of the others
-- Returns {status, starts, crashes, source}: ok with the bytes of the source where they are stored, gone (closed already), busy
-- (another run has the lease), expired (nobody wants it so late), cancelled (nobody wants it any more) or spent (a limit is
-- reached: give the verdict).
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
redis.call('HSET', KEYS[3], ARGV[4] .. ':claimed_at', now)
local mark = redis.call('HGET', KEYS[3], ARGV[4] .. ':watermark')
if not mark or tonumber(mark) < tonumber(ARGV[5]) then
  redis.call('HSET', KEYS[3], ARGV[4] .. ':watermark', ARGV[5])
end

for i = 16, #ARGV do
  local name = KEYS[i - 11]
  local other = redis.call('HMGET', name, 'job', 'lease_until', 'due')
  if other[1] and not other[2] and not other[3] then
    redis.call('HSET', name, 'held_until', now + ARGV[11], 'worker', ARGV[8])
    redis.call('ZADD', KEYS[2], now + ARGV[9], ARGV[i])
  end
end

local record = redis.call('HMGET', KEYS[1], 'job', 'lease_until', 'starts', 'crashes', 'lease_call', 'expires_at', 'cancelled')
if not record[1] then
  redis.call('ZREM', KEYS[2], ARGV[1])
  return {'gone', 0, 0}
end
local starts, crashes = tonumber(record[3]), tonumber(record[4])
if record[2] and tonumber(record[2]) > now then
  if record[5] == ARGV[10] then  -- the answer to this call was lost, and it is asked again
    return {'ok', starts, crashes, redis.call('GET', KEYS[4])}
  end
  return {'busy', starts, crashes}
end
if record[7] then
  finish(ARGV[12], ARGV[1], tonumber(ARGV[13]), '', 0)
  return {'cancelled', starts, crashes}
end
if record[6] and tonumber(record[6]) <= now then
  finish(ARGV[12], ARGV[1], tonumber(ARGV[13]), ARGV[14], ARGV[15])
  return {'expired', starts, crashes}
end
if starts >= tonumber(ARGV[6]) or crashes >= tonumber(ARGV[7]) then
  return {'spent', starts, crashes}
end
local lease_until = now + ARGV[3]
redis.call('HSET', KEYS[1], 'lease_until', lease_until, 'lease_by', ARGV[2], 'lease_call', ARGV[10], 'worker', ARGV[8],
  'starts', starts + 1)
redis.call('HDEL', KEYS[1], 'due', 'held_until')
redis.call('ZADD', KEYS[2], math.min(lease_until, now + ARGV[9]), ARGV[1])
return {'ok', starts + 1, crashes, redis.call('GET', KEYS[4])}
