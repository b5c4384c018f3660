-- Ends a job: its result or error is stored by now. The source lives on for a while once no job refers to it.
--   KEYS 1 job  2 open  3 src  4 refs  5 outcome  6 forgotten
--   ARGV 1 job key  2 life of the source in s  3 channel to wake waiters  4 error for those who wait now, JSON, or empty
--        5 life of that error in s
-- Returns {1 when the job was open, 1 when the source was forgotten meanwhile: what was stored must go}.
local was_open = redis.call('DEL', KEYS[1])
redis.call('ZREM', KEYS[2], ARGV[1])
redis.call('SREM', KEYS[4], ARGV[1])
if redis.call('SCARD', KEYS[4]) == 0 and redis.call('TTL', KEYS[3]) == -1 then
  redis.call('EXPIRE', KEYS[3], ARGV[2])
end
if ARGV[4] ~= '' then
  redis.call('SET', KEYS[5], ARGV[4], 'EX', ARGV[5])
end
redis.call('PUBLISH', ARGV[3], ARGV[1])
return {was_open, redis.call('EXISTS', KEYS[6])}
