import { expect, setDefaultTimeout, test } from 'bun:test'
import { connect, type Socket } from 'node:net'
import { EventFollower } from '../../../test/harness/catalog/follower.ts'
import { client } from '../../../test/harness/client.ts'
import { sqlite } from '../../../test/harness/engines.ts'
import { scrape, WITH_METRICS } from '../../../test/harness/metrics.ts'
import { sample } from '../../../test/harness/samples.ts'
import { startService, WITH_FAST_CLOCK } from '../../../test/harness/service.ts'
import { until } from '../../../test/harness/until.ts'

setDefaultTimeout(120_000)

/** Events of 450 bytes, more than the kernel holds for a connection that nobody reads. */
const EVENTS = 12_000
/** A character that takes six bytes in JSON. */
const LONG_NAME = '\u0001'.repeat(50)

// On one engine: the clock is too fast for PostgreSQL, and what sends events is the same.
test('a follower that stops reading is cut off after a while, and resumes; others are not', async () => {
  await using database = await sqlite.freshDatabase()
  await using service = await startService(database.url, { flags: WITH_METRICS, program: WITH_FAST_CLOCK })
  const api = client(() => service.address)
  const streams = async () => (await scrape(service)).value('stockroom_event_streams')
  await using reading = await EventFollower.at(service.address)
  const silent = await silentFollower(service.address)
  await until(async () => (await streams()) === 2)
  await api.create('/categories/', { ...sample.category, name: LONG_NAME })
  // Its creation is logged again and again: to create so many takes ten times as long.
  await sqlite.write(
    database.url,
    `INSERT INTO change_log (commit_number, changes, logged_at, tag, events)
    WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${EVENTS - 1})
    SELECT commit_number + n, changes, logged_at, tag, events + n
    FROM numbers, (SELECT * FROM change_log ORDER BY place DESC LIMIT 1)`,
  )
  await reading.count(EVENTS)
  await until(async () => (await streams()) === 1)

  const sent = await rest(silent)
  // The connection is cut wherever the kernel had no more room, perhaps within an event.
  const text = sent.slice(0, sent.lastIndexOf('\n\n') + 1)
  const ids = [...text.matchAll(/^id: (\S+)$/gm)].map(([, id]) => id ?? '')
  expect(ids.length).toBeLessThan(EVENTS)
  expect(ids).toEqual(reading.frames.slice(0, ids.length).map(({ id }) => id ?? ''))
  await using resumed = await EventFollower.at(service.address, `/events?since=${ids.at(-1)}`)
  await resumed.count(EVENTS + 1 - ids.length)
  expect(resumed.frames[0]).toMatchObject({ event: 'ready', data: { data: { resumed: true } } })
  expect([...ids, ...resumed.events.map(({ id }) => id)]).toEqual(reading.frames.map(({ id }) => id ?? ''))
  expect(reading.isEnded).toBe(false)
})

/** A connection that follows the feed and reads nothing. */
async function silentFollower(address: string): Promise<Socket> {
  const { host, hostname, port } = new URL(address)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => {})
  socket.pause()
  socket.write(`GET /events HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
  return socket
}

/** Everything that was sent until the connection was closed. */
async function rest(socket: Socket): Promise<string> {
  socket.setEncoding('utf8')
  let text = ''
  socket.on('data', piece => {
    text += piece
  })
  const closed = Promise.withResolvers<void>()
  socket.on('close', () => closed.resolve())
  socket.resume()
  await closed.promise
  return text
}
