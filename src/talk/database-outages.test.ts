import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { createDatabase } from '../../test/harness/postgres/database.ts'
import { PostgresServer } from '../../test/harness/postgres/server.ts'
import { CTRL_C, logIn, register, talkPlaceOn } from '../../test/harness/terminal/talk.ts'
import { until } from '../../test/harness/until.ts'

/** The terminal chat while its database fails. */

setDefaultTimeout(120_000)

const AT_ONCE = 4

const open = new AsyncDisposableStack()
let server: PostgresServer

beforeAll(async () => {
  server = open.use(await PostgresServer.start())
})
afterAll(() => open.disposeAsync())

test('talk says that it waits for a missing database, and begins once it is there', async () => {
  await using database = await createDatabase(server.url())
  await using place = await talkPlaceOn(database.url)
  await server.stop()
  const session = place.sit({ columns: 200 })
  await session.shows(/^Waiting for the database 127\.0\.0\.1:\d+\/test_\w+, for up to 30 s; Ctrl-C leaves\.$/m)
  expect(session.screen()).not.toContain('egister')
  await server.start()
  await session.shows('[L]og in or [R]egister?')
  session.type('R\rada\rsesame\r')
  await session.shows('Welcome, ada.')
})

test('Ctrl-C leaves like quit while talk waits for its database, however often it arrives', async () => {
  await using database = await createDatabase(server.url())
  await using place = await talkPlaceOn(database.url)
  await server.stop()
  const [session, reading] = [place.sit(), place.sit({ flags: ['--last', '1'] })]
  for (const waiting of [session, reading]) {
    await waiting.shows('Ctrl-C leaves.')
    waiting.type(CTRL_C + CTRL_C)
  }
  const statuses = await Promise.all([session.ended, reading.ended])
  await server.start()
  expect(statuses).toEqual([0, 1])
  expect(reading.screen()).toEndWith('nobody has logged in')
})

test('many sessions that start at the same moment on an empty database all work', async () => {
  await using database = await createDatabase(server.url())
  await using place = await talkPlaceOn(database.url)
  const users = Array.from({ length: AT_ONCE }, (_, index) => `user-${index}`)
  const runs = await Promise.all(users.map(user => place.pipe([...register(user), 'quit'])))
  for (const { status, errors } of runs) {
    expect(status).toBe(0)
    expect(errors).toContain('Welcome, user-')
  }
})

test('a database that goes away during a session is reported in one line each time, and the session goes on', async () => {
  await using database = await createDatabase(server.url())
  await using place = await talkPlaceOn(database.url)
  const session = await place.enter('ada', { columns: 200 })
  await server.stop('immediate')
  session.type('Lost\r')
  await session.shows(/^ada> Lost\nThe database cannot be used: .+ This may not be stored: .+ try again\.\n\nada>$/m)
  session.type('Lost again\r')
  await session.shows(/^ada> Lost again\nThe database cannot be used: .+ try again\.\n\nada>$/m)
  expect(place.model.calls).toHaveLength(0)
  await server.start()
  session.type('Kept\r')
  const call = await place.model.nextCall()
  expect(call.prompt).toBe('Kept')
  await call.answer('Yes.')
  await session.shows(/Yes\.\n\nada>$/)
  expect(await place.texts('ada')).toEqual(['Kept', 'Yes.'])
})

test('an answer is stored even if the database restarts while it arrives', async () => {
  await using database = await createDatabase(server.url())
  await using place = await talkPlaceOn(database.url)
  const session = await place.enter('ada')
  session.type('Go\r')
  const call = await place.model.nextCall()
  await call.send('one ')
  await session.shows('one')
  await server.restart('immediate')
  await call.answer('two')
  await session.shows(/one two\n\nada>$/)
  await until(async () => (await place.pipe(logIn('ada'), ['--last', '1'])).output.includes('one two'))
})
