-- Takes away a mark that is still ours.
--   KEYS 1 mark
--   ARGV 1 what we wrote into it
-- Returns 1 when it was ours.
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
return 0
