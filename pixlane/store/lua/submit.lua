-- Opens a job, or joins the one that is open already.
--   KEYS 1 job  2 open  3 outcome  4 src  5 refs  6 forgotten  7 the broker's list of waiting messages  8 inbox
--        9, 10, 11 url, meta and err, where they are on this server: nothing is done when the answer is there; or none of them
--   ARGV 1 job key  2 job as JSON  3 queue  4 ms until an unclaimed job is looked at again
--        5, 6 the message before and after the time at which it is sent; empty: the caller sends it
--        7 root of the keys  8 most open jobs of a queue  9 most bytes of sources  10 ms that the oldest job of a queue may wait
--        11 tenant or empty  12 most open jobs of one tenant; 8, 9, 10, 12: 0 for no limit
--        13 ms until the job is given up, 0: never  14 who wants it, or empty  15 most of those that are known one by one
--        16 entry of the inbox that becomes this job, or empty  17 bytes of the source, to be stored first; or absent
-- Returns {1 when a message must be sent, or was, server time in ms}; or {-1, server time, which limit, limit, actual value, ms
-- after which to try again} when the job was refused.
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local root, line, wanted_for = ARGV[7], ARGV[7] .. 'line:' .. ARGV[3], tonumber(ARGV[13])
if KEYS[9] and (redis.call('EXISTS', KEYS[9], KEYS[10]) == 2 or redis.call('EXISTS', KEYS[11]) == 1) then
  if ARGV[16] ~= '' then
    redis.call('XDEL', KEYS[8], ARGV[16])
  end
  return {0, now}
end
local is_new = redis.call('EXISTS', KEYS[1]) == 0
local bytes = ARGV[17] and #ARGV[17] or redis.call('STRLEN', KEYS[4])

-- What waits already, against the limits. By Little's law a queue whose oldest job has waited for so long with so many after it
-- has worked off a hundredth of them in a hundredth of that time.
if is_new then
  local depth, tenants_jobs = redis.call('ZCARD', line), 0
  if ARGV[11] ~= '' then
    tenants_jobs = tonumber(redis.call('HGET', root .. 'loads', 'tenant:' .. ARGV[11]) or 0)
  end
  local oldest = redis.call('ZRANGE', line, 0, 0, 'WITHSCORES')[2]
  local age = oldest and math.max(0, now - tonumber(oldest)) or 0
  local load = tonumber(redis.call('HGET', root .. 'loads', 'bytes') or 0)
  local function refused(what, limit, actual)
    -- Its source may be here already; who tries again brings it again.
    if redis.call('SCARD', KEYS[5]) == 0 and redis.call('EXISTS', root .. '{' .. string.sub(ARGV[1], 1, 64) .. '}:kept') == 0 then
      redis.call('EXPIRE', KEYS[4], 30)
    end
    return {-1, now, what, limit, actual, math.floor(math.min(30000, math.max(500, age / 100)))}
  end
  local jobs_limit, bytes_limit, age_limit, share = tonumber(ARGV[8]), tonumber(ARGV[9]), tonumber(ARGV[10]), tonumber(ARGV[12])
  if jobs_limit > 0 and depth >= jobs_limit then
    return refused('jobs', jobs_limit, depth)
  elseif share > 0 and tenants_jobs >= share then
    return refused('tenant', share, tenants_jobs)
  elseif bytes_limit > 0 and load > 0 and bytes > 0 and load + bytes > bytes_limit then
    return refused('bytes', bytes_limit, load + bytes)
  elseif age_limit > 0 and age > age_limit then
    return refused('age', age_limit, age)
  end
end
if ARGV[16] ~= '' and redis.call('XDEL', KEYS[8], ARGV[16]) == 0 then
  return {0, now}  -- another worker took it
end

local function send()
  if ARGV[5] ~= '' then
    redis.call('LPUSH', KEYS[7], ARGV[5] .. string.format('%.0f', now) .. ARGV[6])
  end
  return {1, now}
end

if ARGV[17] then
  redis.call('SET', KEYS[4], ARGV[17])
end
redis.call('DEL', KEYS[3], KEYS[6])
if redis.call('PERSIST', KEYS[4]) == 1 or redis.call('EXISTS', KEYS[4]) == 1 then
  redis.call('SADD', KEYS[5], ARGV[1])
end

-- Who wants it: the last one that gives up ends it. Beyond some they are counted only, and then it is not ended any more.
if ARGV[14] == '' or tonumber(redis.call('HGET', KEYS[1], 'waiters') or 0) >= tonumber(ARGV[15]) then
  redis.call('HINCRBY', KEYS[1], 'waiters', 1)
elseif redis.call('HSETNX', KEYS[1], 'waiter:' .. ARGV[14], 1) == 1 then
  redis.call('HINCRBY', KEYS[1], 'waiters', 1)
end
redis.call('HDEL', KEYS[1], 'cancelled')

-- The latest deadline counts, and none is later than any.
local look_at = now + ARGV[4]
local expires_at = tonumber(redis.call('HGET', KEYS[1], 'expires_at') or 0)
if wanted_for > 0 and (is_new or expires_at > 0) then
  expires_at = math.max(expires_at, now + wanted_for)
  redis.call('HSET', KEYS[1], 'expires_at', expires_at)
  look_at = math.min(look_at, expires_at)
else
  redis.call('HDEL', KEYS[1], 'expires_at')
end

if is_new then
  redis.call('HSET', KEYS[1], 'job', ARGV[2], 'sent_at', now, 'starts', 0, 'crashes', 0)
  enter(root, ARGV[1], ARGV[3], now, bytes, ARGV[11])
  redis.call('ZADD', KEYS[2], look_at, ARGV[1])
  return send()
end
local record = redis.call('HMGET', KEYS[1], 'queue', 'lease_until', 'created_at')
if ARGV[3] ~= 'interactive' or record[1] == 'interactive' then
  return {0, now}
end
-- Somebody waits now for what a batch asked for: it is sent to the faster queue as well, the first claim wins.
redis.call('HSET', KEYS[1], 'queue', ARGV[3])
redis.call('ZREM', root .. 'line:' .. record[1], ARGV[1])
redis.call('ZADD', line, record[3], ARGV[1])
if record[2] and tonumber(record[2]) > now then
  return {0, now}
end
redis.call('HSET', KEYS[1], 'sent_at', now)
redis.call('ZADD', KEYS[2], look_at, ARGV[1])
return send()
