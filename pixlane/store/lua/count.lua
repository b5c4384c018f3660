-- Counts one more call of an image in a conversation, unless the limit is reached.
--   KEYS 1 calls
--   ARGV 1 SHA-256 of the image  2 limit  3 life of the conversation's counts in s
-- Returns {1 when it was counted, the count}.
local count = tonumber(redis.call('HGET', KEYS[1], ARGV[1]) or '0')
if count >= tonumber(ARGV[2]) then
  return {0, count}
end
redis.call('HINCRBY', KEYS[1], ARGV[1], 1)
redis.call('EXPIRE', KEYS[1], ARGV[3])
return {1, count + 1}
