-- Takes back one counted call of an image in a conversation, where there is one.
--   KEYS 1 calls
--   ARGV 1 SHA-256 of the image
-- Returns the count.
local count = tonumber(redis.call('HGET', KEYS[1], ARGV[1]) or '0')
if count > 0 then
  return redis.call('HINCRBY', KEYS[1], ARGV[1], -1)
end
return count
