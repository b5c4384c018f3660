-- Takes the jobs that are overdue, pushes their deadline ahead and says which must be sent again.
--   KEYS 1 open  2 queues  3 workers
--   ARGV 1 root of the keys  2 most jobs  3 ms until an unclaimed job is looked at again  4 ms without a claim after which
--        a queue counts as idle  5 ms by which the watermark must have passed  6 since when the sweeper is up, server ms
--        7 name of this worker  8 ms after which a worker that did not sweep is struck off  9 ms after which it counts as dead
--        10 life of a source in s  11 error of a job whose deadline has passed, JSON  12 life of that error in s
--        13 number of queues  14 ... the queues of this worker, the first served first; then the workers known to be dead
-- Returns {jobs looked at, server time in ms, {key, queue, job as JSON, fate} ...}; the fate is empty: to be sent; or expired or
-- cancelled: ended just now.
--
-- A lease that ran out, a job of a dead worker, or a job given back, is sent at once. A job that nobody claimed waits in a long
-- queue more often than its message is lost, so it is sent again only when messages sent later have been claimed, or when this
-- worker stands idle: nothing was claimed from its queue, nor from one that is served before it, for so long that the message
-- cannot be there.
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local resend, idle, slack, patience = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[9])

-- Whoever did not sweep itself (it is new, or the server was away or its clock was set) does not judge others by their last sweep.
local function is_recent(seen)
  return seen and math.abs(now - tonumber(seen)) <= patience
end
local may_judge = is_recent(redis.call('ZSCORE', KEYS[3], ARGV[7]))
redis.call('ZADD', KEYS[3], now, ARGV[7])
redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', now - ARGV[8])

local idle_queue, last, first_dead = {}, tonumber(ARGV[6]), 14 + ARGV[13]
for i = 14, first_dead - 1 do
  last = math.max(last, tonumber(redis.call('HGET', KEYS[2], ARGV[i] .. ':claimed_at') or 0))
  idle_queue[ARGV[i]] = now - last > idle
end

local lives = {}
for i = first_dead, #ARGV do
  lives[ARGV[i]] = false
  redis.call('ZREM', KEYS[3], ARGV[i])
end
local function is_alive(worker)
  if not worker then
    return true
  end
  if lives[worker] == nil then
    lives[worker] = not may_judge or is_recent(redis.call('ZSCORE', KEYS[3], worker)) or false
  end
  return lives[worker]
end

local watermarks = {}
local function passed(queue, sent_at)
  if watermarks[queue] == nil then
    watermarks[queue] = tonumber(redis.call('HGET', KEYS[2], queue .. ':watermark') or 0)
  end
  return watermarks[queue] > sent_at + slack
end

-- With no open job nothing waits and nothing weighs: what a record that was deleted by hand has left is put right.
if redis.call('EXISTS', KEYS[1]) == 0 then
  redis.call('DEL', ARGV[1] .. 'loads')
  for i = 14, first_dead - 1 do
    redis.call('DEL', ARGV[1] .. 'line:' .. ARGV[i])
  end
end

-- A deadline that nobody sets so far ahead: the clock was set back.
local far = now + 2 * math.max(resend, idle, patience) + 60000
for _, key in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], far, '+inf', 'LIMIT', 0, ARGV[2])) do
  redis.call('ZADD', KEYS[1], now + resend, key)
end

-- The jobs of a worker that is known to be dead are not overdue yet.
local until_when = first_dead <= #ARGV and now + patience or now
local entries = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', until_when, 'WITHSCORES', 'LIMIT', 0, ARGV[2])
local answer = {#entries / 2, now}
for i = 1, #entries, 2 do
  local key, is_due = entries[i], tonumber(entries[i + 1]) <= now
  local name = ARGV[1] .. 'job:' .. key
  local record = redis.call('HMGET', name, 'job', 'queue', 'sent_at', 'lease_until', 'held_until', 'worker', 'due',
    'expires_at', 'cancelled')
  local taken_until = tonumber(record[4] or record[5] or nil)
  if not record[1] then
    redis.call('ZREM', KEYS[1], key)
    for j = 14, first_dead - 1 do
      redis.call('ZREM', ARGV[1] .. 'line:' .. ARGV[j], key)
    end
  elseif taken_until and taken_until > now and is_alive(record[6]) then
    redis.call('ZADD', KEYS[1], math.min(taken_until, now + patience), key)
  elseif record[9] then
    finish(ARGV[1], key, tonumber(ARGV[10]), '', 0)
    answer[#answer + 1] = {key, record[2], record[1], 'cancelled'}
  elseif record[8] and tonumber(record[8]) <= now then
    finish(ARGV[1], key, tonumber(ARGV[10]), ARGV[11], ARGV[12])
    answer[#answer + 1] = {key, record[2], record[1], 'expired'}
  elseif taken_until or is_due then
    redis.call('ZADD', KEYS[1], math.min(now + resend, tonumber(record[8] or math.huge)), key)
    if taken_until or record[7] or idle_queue[record[2]] or passed(record[2], tonumber(record[3])) then
      redis.call('HDEL', name, 'lease_until', 'lease_by', 'lease_call', 'held_until', 'worker', 'due')
      redis.call('HSET', name, 'sent_at', now)
      answer[#answer + 1] = {key, record[2], record[1], ''}
    end
  end
end
return answer
