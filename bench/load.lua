-- The requests that wrk sends. Arguments: method, a file with one path per line, a file with one body per line (may be empty), a seed.
-- Each request combines a random path with a random body.

local heads, bodies = {}, {}

function init(args)
  local method, paths_file, bodies_file, seed = args[1], args[2], args[3], tonumber(args[4])
  math.randomseed(seed)
  for body in io.lines(bodies_file) do
    bodies[#bodies + 1] = body
  end
  -- Bodies of the same length share their headers, so a request is one concatenation and wrk is not the bottleneck.
  for _, body in ipairs(bodies) do
    assert(#body == #bodies[1], 'all bodies must be of one length')
  end
  if #bodies == 0 then
    bodies[1] = ''
  else
    wrk.headers['Content-Type'] = 'application/json'
  end
  for path in io.lines(paths_file) do
    local body = bodies[1]
    local request = wrk.format(method, path, wrk.headers, body ~= '' and body or nil)
    heads[#heads + 1] = request:sub(1, #request - #body)
  end
end

function request()
  return heads[math.random(#heads)] .. bodies[math.random(#bodies)]
end

-- Prints one line for the harness. wrk counts every status above 399 as an error.
function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    'FIGURES {"requests":%d,"microseconds":%d,"p99Microseconds":%d,"refused":%d,"broken":%d}\n',
    summary.requests, summary.duration, latency:percentile(99),
    errors.status, errors.connect + errors.read + errors.write + errors.timeout))
end
