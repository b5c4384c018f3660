-- Opens a job, or joins the one that is open already.
--   KEYS 1 job  2 open  3 outcome  4 src  5 refs  6 forgotten  7 the broker's list of waiting messages
--        8, 9, 10 url, meta and err, where they are on this server: nothing is done when the answer is there; or none of them
--   ARGV 1 job key  2 job as JSON  3 queue  4 ms until an unclaimed job is looked at again
--        5, 6 the message before and after the time at which it is sent; empty: the caller sends it
--        7 bytes of the source, to be stored first; or absent
-- Returns {1 when a message must be sent, or was, server time in ms}.
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
if KEYS[8] and (redis.call('EXISTS', KEYS[8], KEYS[9]) == 2 or redis.call('EXISTS', KEYS[10]) == 1) then
  return {0, now}
end
local function send()
  if ARGV[5] ~= '' then
    redis.call('LPUSH', KEYS[7], ARGV[5] .. string.format('%.0f', now) .. ARGV[6])
  end
  return {1, now}
end

if ARGV[7] then
  redis.call('SET', KEYS[4], ARGV[7])
end
redis.call('DEL', KEYS[3], KEYS[6])
if redis.call('PERSIST', KEYS[4]) == 1 or redis.call('EXISTS', KEYS[4]) == 1 then
  redis.call('SADD', KEYS[5], ARGV[1])
end
if redis.call('HSETNX', KEYS[1], 'job', ARGV[2]) == 1 then
  redis.call('HSET', KEYS[1], 'queue', ARGV[3], 'created_at', now, 'sent_at', now, 'starts', 0, 'crashes', 0)
  redis.call('ZADD', KEYS[2], now + ARGV[4], ARGV[1])
  return send()
end
if ARGV[3] ~= 'interactive' or redis.call('HGET', KEYS[1], 'queue') == 'interactive' then
  return {0, now}
end
-- Somebody waits now for what a batch asked for: it is sent to the faster queue as well, the first claim wins.
redis.call('HSET', KEYS[1], 'queue', ARGV[3])
local lease_until = redis.call('HGET', KEYS[1], 'lease_until')
if lease_until and tonumber(lease_until) > now then
  return {0, now}
end
redis.call('HSET', KEYS[1], 'sent_at', now)
redis.call('ZADD', KEYS[2], now + ARGV[4], ARGV[1])
return send()
