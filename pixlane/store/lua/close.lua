-- Ends a job: its result or error is stored by now. The source lives on for a while once no job refers to it.
--   KEYS 1 job  2 open  3 forgotten
--   ARGV 1 job key  2 root of the keys  3 life of the source in s  4 error for those who wait now, JSON, or empty
--        5 life of that error in s  6 verdict on a job that is put aside, JSON, or empty
-- Returns {1 when the job was open, 1 when the source was forgotten meanwhile: what was stored must go}.
local root, key = ARGV[2], ARGV[1]
local letter = root .. 'dead:' .. key
if ARGV[6] == '' then
  redis.call('DEL', letter)  -- a late success wins, and so does every other end
  redis.call('ZREM', root .. 'dead', key)
else
  local record = redis.call('HMGET', KEYS[1], 'job', 'queue', 'starts', 'crashes', 'created_at', 'tenant')
  if record[1] then
    local t = redis.call('TIME')
    local now = t[1] * 1000 + math.floor(t[2] / 1000)
    redis.call('HSET', letter, 'job', record[1], 'queue', record[2], 'starts', record[3], 'crashes', record[4],
      'created_at', record[5] or now, 'tenant', record[6] or '', 'put_aside_at', now, 'error', ARGV[6])
    redis.call('EXPIRE', letter, ARGV[3])
    redis.call('ZADD', root .. 'dead', now, key)
    redis.call('ZREMRANGEBYSCORE', root .. 'dead', '-inf', now - ARGV[3] * 1000)
    redis.call('SET', root .. '{' .. string.sub(key, 1, 64) .. '}:kept', 1, 'EX', ARGV[3])
  end
end
return {finish(root, key, tonumber(ARGV[3]), ARGV[4], ARGV[5]), redis.call('EXISTS', KEYS[3])}
