-- Takes the jobs that are overdue, pushes their deadline ahead and says which must be sent again.
--   KEYS 1 open  2 queues  3 workers
--   ARGV 1 prefix of the records  2 most jobs  3 ms until an unclaimed job is looked at again  4 ms without a claim after which
--        a queue counts as idle  5 ms by which the watermark must have passed  6 since when the sweeper is up, server ms
--        7 name of this worker  8 ms after which a worker that did not sweep is struck off
--        9 ... the queues of this worker, the first served first
-- Returns {jobs looked at, server time in ms, {key, queue, job as JSON} ...}.
--
-- A lease that ran out, or a job given back, is sent at once. A job that nobody claimed waits in a long queue more often than
-- its message is lost, so it is sent again only when messages sent later have been claimed, or when this worker stands idle:
-- nothing was claimed from its queue, nor from one that is served before it, for so long that the message cannot be there.
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local resend, idle, slack = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])

redis.call('ZADD', KEYS[3], now, ARGV[7])
redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', now - ARGV[8])

local idle_queue, last = {}, tonumber(ARGV[6])
for i = 9, #ARGV do
  last = math.max(last, tonumber(redis.call('HGET', KEYS[2], ARGV[i] .. ':claimed_at') or 0))
  idle_queue[ARGV[i]] = now - last > idle
end

local watermarks = {}
local function passed(queue, sent_at)
  if watermarks[queue] == nil then
    watermarks[queue] = tonumber(redis.call('HGET', KEYS[2], queue .. ':watermark') or 0)
  end
  return watermarks[queue] > sent_at + slack
end

local keys = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, ARGV[2])
local answer = {#keys, now}
for _, key in ipairs(keys) do
  local name = ARGV[1] .. key
  local record = redis.call('HMGET', name, 'job', 'queue', 'sent_at', 'lease_until', 'due')
  if not record[1] then
    redis.call('ZREM', KEYS[1], key)
  elseif record[4] and tonumber(record[4]) > now then
    redis.call('ZADD', KEYS[1], record[4], key)
  else
    redis.call('ZADD', KEYS[1], now + resend, key)
    if record[4] or record[5] or idle_queue[record[2]] or passed(record[2], tonumber(record[3])) then
      redis.call('HDEL', name, 'lease_until', 'lease_by', 'due')
      redis.call('HSET', name, 'sent_at', now)
      answer[#answer + 1] = {key, record[2], record[1]}
    end
  end
end
return answer
