-- Ends every job of a source that is to be forgotten; a run that is under way finds the mark and takes back what it stored.
--   KEYS 1 refs  2 src  3 forgotten  4 kept
--   ARGV 1 root of the keys  2 life of the mark in s  3 ... job keys that are known besides those in refs
-- Returns the number of jobs that were open.
local keys = redis.call('SMEMBERS', KEYS[1])
for i = 3, #ARGV do
  keys[#keys + 1] = ARGV[i]
end
local ended = 0
for _, key in ipairs(keys) do
  ended = ended + drop(ARGV[1], key)
  redis.call('DEL', ARGV[1] .. 'dead:' .. key)
  redis.call('ZREM', ARGV[1] .. 'dead', key)
end
redis.call('DEL', KEYS[1], KEYS[2], KEYS[4])
redis.call('SET', KEYS[3], 1, 'EX', ARGV[2])
return ended
