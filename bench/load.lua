-- The requests that wrk sends. Arguments: a seed; "random" or "once"; how many requests to skip; then for each kind of request its
-- method, its share in percent, a file with one path per line, a file with one body per line (may be empty), and "keyed" if each
-- request has an Idempotency-Key of its own.
-- A random request combines a random path with a random body. With "once", the paths of the only kind come in their order.

local kinds, once, position = {}, false, 0

-- Keys begin with random digits, so that they are new in each run, and end with a number.
local KEY_PLACE = ('?'):rep(36)
local key_start, keys = '', 0

function init(args)
  math.randomseed(tonumber(args[1]))
  once, position = args[2] == 'once', tonumber(args[3])
  local limit = 0
  local random = assert(io.open('/dev/urandom', 'rb'))
  key_start = random:read(9):gsub('.', function(byte) return ('%02x'):format(byte:byte()) end)
  random:close()
  for first = 4, #args, 5 do
    limit = limit + tonumber(args[first + 1])
    kinds[#kinds + 1] = requests_of(args[first], args[first + 2], args[first + 3], args[first + 4] == 'keyed')
    kinds[#kinds].limit = limit
  end
end

function requests_of(method, paths_file, bodies_file, keyed)
  local heads, bodies = {}, {}
  for body in io.lines(bodies_file) do
    bodies[#bodies + 1] = body
  end
  -- Bodies of the same length share their headers, so a request is one concatenation and wrk is not the bottleneck.
  for _, body in ipairs(bodies) do
    assert(#body == #bodies[1], 'all bodies must be of one length')
  end
  local headers = {}
  for name, value in pairs(wrk.headers) do
    headers[name] = value
  end
  if #bodies == 0 then
    bodies[1] = ''
  else
    headers['Content-Type'] = 'application/json'
  end
  if keyed then
    headers['Idempotency-Key'] = KEY_PLACE
  end
  for path in io.lines(paths_file) do
    local body = bodies[1]
    local request = wrk.format(method, path, headers, body ~= '' and body or nil)
    heads[#heads + 1] = request:sub(1, #request - #body)
  end
  return { heads = heads, bodies = bodies, keyed = keyed }
end

function request()
  if once then
    position = position + 1
    return kinds[1].heads[(position - 1) % #kinds[1].heads + 1]
  end
  local kind = kinds[1]
  if #kinds > 1 then
    local drawn, index = math.random(100), 1
    while drawn > kinds[index].limit do
      index = index + 1
    end
    kind = kinds[index]
  end
  local head = kind.heads[math.random(#kind.heads)]
  if kind.keyed then
    keys = keys + 1
    local place = head:find(KEY_PLACE, 1, true)
    head = head:sub(1, place - 1) .. key_start .. ('%018d'):format(keys) .. head:sub(place + #KEY_PLACE)
  end
  return head .. kind.bodies[math.random(#kind.bodies)]
end

-- Prints one line for the harness. wrk counts every status above 399 as an error.
function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    'FIGURES {"requests":%d,"microseconds":%d,"p50Microseconds":%d,"p99Microseconds":%d,"refused":%d,"broken":%d}\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
    errors.status, errors.connect + errors.read + errors.write + errors.timeout))
end
