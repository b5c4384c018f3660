-- Stands before the scripts that open and end records: a record, its places in the indexes and what it weighs go together.
-- `root` is the first part of every key, with its colon. All of it is on one server, so that names may be made here.
local function weigh(root, what, change)
  if change ~= 0 and redis.call('HINCRBY', root .. 'loads', what, change) <= 0 then
    redis.call('HDEL', root .. 'loads', what)
  end
end

-- Puts a new record into the indexes. `bytes`: of its source.
local function enter(root, key, queue, now, bytes, tenant)
  redis.call('HSET', root .. 'job:' .. key, 'queue', queue, 'bytes', bytes, 'tenant', tenant, 'created_at', now)
  redis.call('ZADD', root .. 'line:' .. queue, now, key)
  weigh(root, 'bytes', bytes)
  if tenant ~= '' then
    weigh(root, 'tenant:' .. tenant, 1)
  end
end

-- Takes a record out of everything; 1 when there was one.
local function drop(root, key)
  local record = redis.call('HMGET', root .. 'job:' .. key, 'queue', 'bytes', 'tenant')
  redis.call('ZREM', root .. 'open', key)
  if redis.call('DEL', root .. 'job:' .. key) == 0 then
    return 0
  end
  redis.call('ZREM', root .. 'line:' .. (record[1] or ''), key)
  weigh(root, 'bytes', -(tonumber(record[2] or 0)))
  if record[3] and record[3] ~= '' then
    weigh(root, 'tenant:' .. record[3], -1)
  end
  return 1
end

-- Ends a job: its source lives on for `life` s once no job refers to it, longer where a dead letter wants it, and whoever waits is
-- woken. `outcome`: JSON for those who wait now, for `outcome_life` s; or empty.
local function finish(root, key, life, outcome, outcome_life)
  local source = root .. '{' .. string.sub(key, 1, 64) .. '}:'
  local was_open = drop(root, key)
  redis.call('SREM', source .. 'refs', key)
  if redis.call('SCARD', source .. 'refs') == 0 and redis.call('TTL', source .. 'src') == -1 then
    redis.call('EXPIRE', source .. 'src', math.max(life, redis.call('TTL', source .. 'kept')))
  end
  if outcome ~= '' then
    redis.call('SET', root .. 'outcome:' .. key, outcome, 'EX', outcome_life)
  end
  redis.call('PUBLISH', root .. 'done:' .. key, key)
  return was_open
end
